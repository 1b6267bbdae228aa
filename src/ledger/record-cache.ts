import type { LedgerRecord } from './records.ts';

/** Records kept; a record is at most some 100 KiB, and mostly below 1 KiB. */
const MAX_RECORDS = 2_048;

/** The newest records by hash. A hash names exactly one text, so an entry can never be stale. */
export interface RecordCache {
  find(hash: string): LedgerRecord | undefined;
  note(record: LedgerRecord): void;
}

export function createRecordCache(): RecordCache {
  const records = new Map<string, LedgerRecord>();
  return {
    find: (hash) => records.get(hash),
    note(record) {
      records.set(record.hash, record);
      if (records.size <= MAX_RECORDS) return;
      const [oldest] = records.keys();
      if (oldest !== undefined) records.delete(oldest);
    },
  };
}
