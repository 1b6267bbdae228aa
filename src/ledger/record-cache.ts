import type { LedgerRecord } from './records.ts';

/** Places for records; a record is at most some 100 KiB, and mostly below 1 KiB. */
const SLOTS = 4_096;
/** Digits of a hash that choose one of as many places. */
const SLOT_DIGITS = 3;

/** Records by hash, mostly the newest. A hash names exactly one text, so an entry can never be stale. */
export interface RecordCache {
  find(hash: string): LedgerRecord | undefined;
  note(record: LedgerRecord): void;
}

/**
 * Each record has one place, told by its hash, and gives way to the next that falls on it. A map that drops its
 * oldest entry cost as much for each record as all else that is done to write one.
 */
export function createRecordCache(): RecordCache {
  const slots = new Array<LedgerRecord | undefined>(SLOTS).fill(undefined);
  return {
    find(hash) {
      const record = slots[slotOf(hash)];
      return record?.hash === hash ? record : undefined;
    },
    note(record) {
      slots[slotOf(record.hash)] = record;
    },
  };
}

function slotOf(hash: string): number {
  return Number.parseInt(hash.slice(0, SLOT_DIGITS), 16);
}
