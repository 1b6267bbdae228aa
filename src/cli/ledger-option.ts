import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { SwarmError } from '../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Inspector } from '../lifecycle/inspector.ts';
import type { Runtime } from '../runtime.ts';
import { type BusOptions, busSinks } from './bus-option.ts';
import type { Runnable } from './load-target.ts';

const DEFAULT_PATH = './swarmwright.db';

/** Options of every command that looks into a ledger. */
export interface LedgerOptions {
  readonly ledger: string;
}

/** `--ledger PATH`, said the same way in every command. */
export function ledgerOption(): Option {
  return new Option('--ledger <path>', 'SQLite file that holds the sessions')
    .env('SWARMWRIGHT_LEDGER')
    .default(DEFAULT_PATH);
}

/** ` --ledger PATH` for a command that a person is to type next, empty where the default serves. */
export function ledgerHint({ ledger }: LedgerOptions): string {
  return ledger === DEFAULT_PATH ? '' : ` --ledger ${quoteWord(ledger)}`;
}

/** A word as a POSIX shell takes it. */
export function quoteWord(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** What is done with a runtime on the ledger of a command. */
export interface RuntimeUse {
  readonly runtime: Runtime;
  readonly ledger: Ledger;
}

/**
 * Opens the ledger of a command, a runtime on it, and closes both.
 * @throws SwarmError 'ledger-unavailable' where `isNew` is not set and there is no file
 */
export async function withRuntime<T>(
  options: LedgerOptions & {
    readonly isNew?: boolean;
    readonly agents?: Readonly<Record<string, Runnable>>;
    readonly inspect?: Inspector | undefined;
  } & BusOptions,
  use: (parts: RuntimeUse) => Promise<T>,
): Promise<T> {
  const path = resolve(options.ledger);
  if (options.isNew !== true && !existsSync(path)) {
    throw new SwarmError('ledger-unavailable', `there is no ledger at ${path}`);
  }
  // Loaded when it is needed: help and completion answer at once.
  const { sqliteLedger } = await import('../ledger/sqlite-ledger.ts');
  const { createRuntime } = await import('../runtime.ts');
  const sinks = await busSinks(options);
  const ledger = await sqliteLedger({ path });
  await using runtime = createRuntime({
    ledger,
    sinks,
    ...(options.agents === undefined ? {} : { agents: options.agents }),
    ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
  });
  return await use({ runtime, ledger });
}
