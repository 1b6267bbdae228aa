import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';

/** Where a command finds sessions: a file of this machine, or a server that all machines share. */
export type LedgerPlace =
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'server'; readonly servers: string };

/** Where `--ledger`, or a FILE that is a ledger, points to. */
export function ledgerPlace(ledger: string): LedgerPlace {
  return isServer(ledger) ? { type: 'server', servers: ledger } : { type: 'file', path: resolve(ledger) };
}

/** Whether a text is the address of a NATS server. */
export function isServer(text: string): boolean {
  return /^(nats|tls):\/\//i.test(text);
}

/**
 * Reads `--ledger` as it is typed.
 * @throws InvalidArgumentError for an address of something else, which would be taken for a path
 */
export function readLedger(text: string): string {
  if (isServer(text) || !/^[a-z][a-z+.-]+:\/\//i.test(text)) return text;
  throw new InvalidArgumentError('It is a SQLite file, or a NATS server at nats://... or tls://...');
}

/** A place as it may be shown: an address without who signs in there. */
export function shownPlace(ledger: string): string {
  return isServer(ledger) ? ledger.replaceAll(/:\/\/[^,]*@/g, '://***@') : ledger;
}
