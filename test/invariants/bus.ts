import type { RunEvent } from '../../src/events/event-schemas.ts';
import { rowFor } from '../../src/events/event-table.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';

type Sessions = ReadonlyMap<string, readonly LedgerRecord[]>;

/**
 * I13: every event has its fact, every fact that is to be seen its event, once and in the order of its session, each
 * naming the one before. `where` says whose events they are.
 */
export function events(
  sessions: Sessions,
  seen: readonly RunEvent[],
  where: 'stored' | 'delivered',
): readonly string[] {
  const broken: string[] = [];
  const last = new Map<string, number>();
  for (const { id, session, seq, prev, type } of seen) {
    const say = (what: string) => broken.push(`I13 ${where} ${id}: ${what}`);
    const record = sessions.get(session)?.[seq - 1];
    const before = last.get(session) ?? 0;
    if (record === undefined) say('an event without a fact');
    else if (typeOf(record) !== type) say(`${type} of a fact ${record.type}`);
    if (seq <= before) say(seq === before ? 'twice' : `after ${before}`);
    else if (prev !== before) say(`names ${prev} as the one before, which is ${before}`);
    last.set(session, Math.max(before, seq));
  }
  for (const [session, records] of sessions) {
    const owed = records.findLast((record) => typeOf(record) !== undefined);
    if (owed !== undefined && (last.get(session) ?? 0) < owed.seq) {
      broken.push(`I13 ${where}: the events of ${session} end at ${last.get(session) ?? 0}, not ${owed.seq}`);
    }
  }
  return broken;
}

function typeOf(record: LedgerRecord): string | undefined {
  // A record's data is that of its type, so it fits the row of the type.
  return rowFor(record.type, record.data as never)?.type;
}
