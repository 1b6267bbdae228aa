import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRecordCache } from '../../src/ledger/record-cache.ts';
import { recordCodec } from '../../src/ledger/record-codec.ts';
import { GENESIS_HASH, type LedgerRecord } from '../../src/ledger/records.ts';
import { note, rootSession } from '../../src/testing/ledger-samples.ts';

test('a record is found by its own hash and no other', () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 50 }), (texts) => {
      const cache = createRecordCache();
      for (const record of recordsOf(texts)) {
        expect(cache.find(record.hash)).toBeUndefined();
        cache.note(record, 100);
        expect(cache.find(record.hash)).toBe(record);
        const near = record.hash.slice(0, -1) + (record.hash.endsWith('0') ? '1' : '0');
        expect(cache.find(near)).toBeUndefined();
      }
    }),
  );
});

test('few records are kept where they are long, the newest among them', () => {
  const cache = createRecordCache();
  const records = recordsOf(Array.from({ length: 400 }, (_, index) => String(index)));
  for (const record of records) cache.note(record, 64 * 1024);
  const kept = records.filter(({ hash }) => cache.find(hash) !== undefined);
  expect(kept.length).toBeLessThanOrEqual(70);
  expect(records.slice(-20).filter((record) => kept.includes(record)).length).toBeGreaterThan(15);
});

test('most of the newest records are kept, and their number is bounded', () => {
  const cache = createRecordCache();
  const records = recordsOf(Array.from({ length: 20_000 }, (_, index) => String(index)));
  for (const record of records) cache.note(record, 100);
  const kept = (some: readonly LedgerRecord[]) =>
    some.filter(({ hash }) => cache.find(hash) !== undefined).length;
  expect(kept(records.slice(-200))).toBeGreaterThan(180);
  expect(kept(records)).toBeLessThanOrEqual(2 * 4_096);
});

function recordsOf(texts: readonly string[]): readonly LedgerRecord[] {
  const place = { identity: rootSession('s-1'), epoch: 1, at: 1_000, seq: 0, hash: GENESIS_HASH };
  return recordCodec.seal(texts.map(note), place).map(({ record }) => record);
}
