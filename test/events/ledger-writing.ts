import type { Ledger, LedgerWriter, PositionedRecord } from '../../src/ledger/ledger.ts';
import type { LedgerRecord, NewRecord, RecordType, SessionIdentity } from '../../src/ledger/records.ts';
import { SAMPLES } from './sample-records.ts';

export const ROOT: SessionIdentity = { session: 's-root', root: 's-root', agent: 'boss' };
export const CHILD: SessionIdentity = {
  session: 's-child',
  root: 's-root',
  parent: 's-root',
  agent: 'scout',
};

/** Appends to one session, one call a batch. */
export async function writerOf(ledger: Ledger, identity: SessionIdentity) {
  const writer = await ledger.acquire(identity);
  return {
    writer,
    append: (...batch: readonly NewRecord[]) => appendTo(writer, batch),
    release: () => writer.release(),
  };
}

async function appendTo(writer: LedgerWriter, batch: readonly NewRecord[]): Promise<readonly LedgerRecord[]> {
  const result = await writer.append(writer.head.seq, batch);
  if (result.type !== 'committed') throw new Error(`append: ${JSON.stringify(result)}`);
  return result.records;
}

type NewRecordOf<T extends RecordType> = Extract<NewRecord, { readonly type: T }>;
type Place = Partial<Pick<NewRecord, 'turn' | 'step' | 'call' | 'cause'>>;

/** A record of the runtime's own making with data from the samples. */
export function sampleRecord<T extends RecordType>(type: T, index = 0, place: Place = {}): NewRecordOf<T> {
  const data = SAMPLES[type]?.[index];
  if (data === undefined) throw new Error(`no sample for ${type}`);
  // Type and data are of one entry of the table.
  return { type, data, ...place } as unknown as NewRecordOf<T>;
}

/** Every record of a ledger by now, with positions. */
export async function allRecords(ledger: Ledger): Promise<readonly PositionedRecord[]> {
  const last = await ledger.position();
  const records: PositionedRecord[] = [];
  if (last === 0) return records;
  for await (const positioned of ledger.tail(0, new AbortController().signal)) {
    records.push(positioned);
    if (positioned.pos >= last) break;
  }
  return records;
}
