import { findChainBreak } from '../../src/ledger/hash-chain.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import type { ToldFact } from './witness.ts';

/** I1: sequences from 1 without gap or repetition, links and hashes hold. */
export function chain(records: readonly LedgerRecord[]): readonly string[] {
  const fault = findChainBreak(records);
  return fault === undefined || isOfEpochs(fault.found) ? [] : [`I1 at ${fault.seq}: ${fault.found}`];
}

const isOfEpochs = (found: string) => found.startsWith('epoch ');

/** I3: epochs never fall. */
export function epochs(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  let last = 0;
  for (const { epoch, seq } of records) {
    if (epoch < last) broken.push(`I3 at ${seq}: epoch ${epoch} after ${last}`);
    last = Math.max(last, epoch);
  }
  return broken;
}

/** I2: what somebody was told is durable is there at the end, and is the same. */
export function acknowledged(
  sessions: ReadonlyMap<string, readonly LedgerRecord[]>,
  told: readonly ToldFact[],
): readonly string[] {
  return told.flatMap(({ session, seq, hash }) => {
    const found = sessions.get(session)?.[seq - 1];
    if (found === undefined) return [`I2 ${session}:${seq} was told of and is gone`];
    return hash === undefined || found.hash === hash ? [] : [`I2 ${session}:${seq} is another record now`];
  });
}
