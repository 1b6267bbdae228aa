import type { LedgerRecord } from '../../src/ledger/records.ts';
import type { SpyLine } from './tasks.ts';

/** What became of what was given to a pool. */
export interface Counts {
  /** Sessions of which it was told how their run ended. */
  readonly settled: number;
  /** Operations entered more than once, and runs whose end was told more than once. */
  readonly doubled: number;
}

/** `records` and `lines` are all there are so far. Nobody decides that anything is to be done again. */
export function countOf(records: readonly LedgerRecord[], lines: readonly SpyLine[]): Counts {
  const ends = records.flatMap((one) =>
    one.type === 'run.settled' && one.data.status !== 'paused' && one.parent === undefined
      ? [{ session: one.session, answer: `${one.data.run} ${one.data.by}` }]
      : [],
  );
  const entered = lines.flatMap((line) => (line.what === 'entered' ? [line.operationId] : []));
  const answers = ends.map(({ answer }) => answer);
  const settled = new Set(ends.map(({ session }) => session)).size;
  return { settled, doubled: repeated(answers) + repeated(entered) };
}

function repeated(ids: readonly string[]): number {
  return ids.length - new Set(ids).size;
}
