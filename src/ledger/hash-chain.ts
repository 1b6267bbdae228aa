import { hash } from 'node:crypto';
import { SwarmError } from '../errors.ts';
import { canonicalJson } from './canonical-json.ts';
import { GENESIS_HASH, type LedgerRecord } from './records.ts';

/** Hash of a record: of the hash before it and the canonical text of all else. About 1 us for 500 bytes. */
export function chainHash(prev: string, text: string): string {
  return hash('sha256', prev + text, 'hex');
}

/** Where and how a chain is broken. `seq` is the place at which the record should be. */
export interface ChainBreak {
  readonly seq: number;
  readonly found: string;
}

/** What a chain is checked against: the place after which the records begin. The default is the very start. */
export interface ChainStart {
  readonly seq: number;
  readonly hash: string;
}

/**
 * First break in the records of one session, or `undefined` when order, links and contents all hold. For
 * records of another store, an import or an export, as they were written: an older version of data that was
 * brought up to date on read no longer has the text its hash was taken of.
 */
export function findChainBreak(
  records: readonly LedgerRecord[],
  start: ChainStart = { seq: 0, hash: GENESIS_HASH },
): ChainBreak | undefined {
  let { seq, hash: prev } = start;
  let epoch = 0;
  for (const record of records) {
    seq += 1;
    if (record.seq !== seq) return { seq, found: `sequence ${record.seq}` };
    if (record.prev !== prev) return { seq, found: 'a link to another record than the one before' };
    if (record.epoch < epoch) return { seq, found: `epoch ${record.epoch} after ${epoch}` };
    if (recordHash(record) !== record.hash) return { seq, found: 'contents that do not match the hash' };
    prev = record.hash;
    epoch = record.epoch;
  }
  return undefined;
}

/** @throws SwarmError 'ledger-corrupt' naming the session, the place and what was found there */
export function verifyChain(records: readonly LedgerRecord[], start?: ChainStart): void {
  const fault = findChainBreak(records, start);
  if (fault === undefined) return;
  const session = records[0]?.session ?? 'unknown';
  throw new SwarmError('ledger-corrupt', `session ${session}, record ${fault.seq}: ${fault.found}`);
}

function recordHash(record: LedgerRecord): string {
  const { hash: _, prev, ...rest } = record;
  return chainHash(prev, canonicalJson(rest));
}
