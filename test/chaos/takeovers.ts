import type { LedgerRecord } from '../../src/ledger/records.ts';

/**
 * Milliseconds from the end of an owner to the first record of the next one, of each session whose turn was under way.
 * `ends` are the times at which owners ended, in milliseconds since the epoch.
 */
export function takeoversAfter(records: readonly LedgerRecord[], ends: readonly number[]): readonly number[] {
  return [...Map.groupBy(records, ({ session }) => session).values()].flatMap((own) =>
    own.flatMap((heir, at) => {
      const last = own[at - 1];
      if (last === undefined || heir.epoch === last.epoch || GIVEN_UP.has(last.type)) return [];
      const end = ends.findLast((time) => time >= last.at && time <= heir.at);
      return end === undefined ? [] : [heir.at - end];
    }),
  );
}

/** Whoever wrote these had nothing more to do. */
const GIVEN_UP: ReadonlySet<string> = new Set(['turn.paused', 'run.settled', 'permission.decided']);
