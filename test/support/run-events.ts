import type { Run, RunEventOptions } from '../../src/agent/run.ts';
import type { RunEvent } from '../../src/events/event-schemas.ts';
import type { LedgerRecord, RecordOf, RecordType } from '../../src/ledger/records.ts';

/** All events of a run, once it is over. */
export async function eventsOf(run: Run<unknown>, options?: RunEventOptions): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of run.events(options)) events.push(event);
  return events;
}

/** The first event of a type; never resolves to one of a run that ends without it. */
export async function eventSeen<T extends RunEvent['type']>(
  run: Run<unknown>,
  type: T,
  nth = 1,
): Promise<Extract<RunEvent, { type: T }>> {
  let seen = 0;
  for await (const event of run.events()) {
    if (event.type !== type) continue;
    seen += 1;
    // The type of the event was just compared.
    if (seen === nth) return event as Extract<RunEvent, { type: T }>;
  }
  throw new Error(`the run ended with ${seen} of ${nth} events ${type}`);
}

/** Records of one type, in order. */
export function ofType<T extends RecordType>(
  records: readonly LedgerRecord[],
  type: T,
): readonly RecordOf<T>[] {
  return records.filter((record): record is RecordOf<T> => record.type === type);
}
