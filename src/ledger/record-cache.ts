import type { LedgerRecord } from './records.ts';

/** Places for records, by the first digits of their hash. */
const SLOTS = 4_096;
const SLOT_DIGITS = 3;
/** Characters after which a generation gives way; two are kept. */
const MAX_CHARS = 2 * 1024 * 1024;

/** Records by hash, mostly the newest. A hash names exactly one text, so an entry can never be stale. */
export interface RecordCache {
  find(hash: string): LedgerRecord | undefined;
  /** `chars`: length of its text. */
  note(record: LedgerRecord, chars: number): void;
}

/**
 * Each record has one place, told by its hash, and gives way to the next that falls on it. A map that drops its
 * oldest entry cost as much for each record as all else that is done to write one. Records of long results would fill
 * the memory long before the places, so all of them go, the older half at a time, when their texts are too long.
 */
export function createRecordCache(): RecordCache {
  let young = emptyPlaces();
  let old = young;
  let chars = 0;
  return {
    find(hash) {
      const slot = slotOf(hash);
      const record = young[slot]?.hash === hash ? young[slot] : old[slot];
      return record?.hash === hash ? record : undefined;
    },
    note(record, size) {
      if (chars > MAX_CHARS) {
        old = young;
        young = emptyPlaces();
        chars = 0;
      }
      chars += size;
      young[slotOf(record.hash)] = record;
    },
  };
}

function emptyPlaces(): (LedgerRecord | undefined)[] {
  return new Array<LedgerRecord | undefined>(SLOTS).fill(undefined);
}

function slotOf(hash: string): number {
  return Number.parseInt(hash.slice(0, SLOT_DIGITS), 16);
}
