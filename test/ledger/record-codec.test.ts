import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { chainHash } from '../../src/ledger/hash-chain.ts';
import { createRecordCodec, recordCodec, type StoredRow } from '../../src/ledger/record-codec.ts';
import { GENESIS_HASH, type NewRecord } from '../../src/ledger/records.ts';
import { called, note, rootSession } from '../../src/testing/ledger-samples.ts';

const PLACE = { identity: rootSession('s-1'), epoch: 1, at: 1_000, seq: 0, hash: GENESIS_HASH };
const FIRST = { session: 's-1', seq: 1 };

/** A codec whose one type has had three shapes: `{ n }`, `{ count }`, `{ counts }`. */
const grown = createRecordCodec({
  schemas: { 'thing.counted': z.strictObject({ counts: z.array(z.number()) }) },
  upcasters: {
    'thing.counted': [
      (data) => ({ count: z.object({ n: z.number() }).parse(data).n }),
      (data) => ({ counts: [z.object({ count: z.number() }).parse(data).count] }),
    ],
  },
});

describe('a stored row', () => {
  test('is read as the record that was sealed', () => {
    const batch: readonly NewRecord[] = [note('a'), { ...called({ z: [1, { a: null }] }), turn: 't' }];
    for (const { text, prev, hash, record } of recordCodec.seal(batch, PLACE)) {
      expect(recordCodec.open({ text, prev, hash }, { session: 's-1', seq: record.seq })).toStrictEqual(
        record,
      );
    }
  });

  test('has the canonical text of all but its hashes', () => {
    const [sealed] = recordCodec.seal([called({ '10': 1, '9': 2 })], PLACE);
    const { prev, hash, ...rest } = sealed?.record ?? expect.unreachable();
    expect(sealed?.text).toBe(canonicalJson(rest));
    expect(hash).toBe(chainHash(prev, canonicalJson(rest)));
  });

  test.each([
    [
      'a changed text',
      (row: StoredRow) => ({ ...row, text: row.text.replace('"a"', '"b"') }),
      /match the hash/,
    ],
    ['another link', (row: StoredRow) => ({ ...row, prev: 'f'.repeat(64) }), /match the hash/],
    ['no JSON', () => rowOf('{"v":1'), /not JSON/],
    ['no object', () => rowOf('null'), /another envelope/],
    ['no envelope', () => rowOf('{"v":1}'), /breaks the schema/],
    [
      'data of another shape',
      () => rowOf(textOf({ data: { from: 1, reason: 'secret' } })),
      /from invalid_type/,
    ],
    [
      'a key too many',
      () => rowOf(textOf({ data: { from: 'x', reason: 'y', more: 1 } })),
      /unrecognized_keys/,
    ],
    ['the place of another', () => rowOf(textOf({ seq: 2, id: 's-1:2' })), /the record s-1:2/],
    ['the session of another', () => rowOf(textOf({ session: 's-2', id: 's-2:1' })), /the record s-2:1/],
  ])('with %s is corrupt', (_, spoil, message) => {
    const row = spoil(rowOf(textOf({})));
    expect(() => recordCodec.open(row, FIRST)).toThrow(
      expect.objectContaining({ code: 'ledger-corrupt', message: expect.stringMatching(message) }),
    );
  });

  test('that is corrupt is named without what it says', () => {
    const row = rowOf(textOf({ data: { from: 'x', reason: ['secret'] } }));
    expect(() => recordCodec.open(row, FIRST)).toThrow(/^session s-1, record 1: found (?!.*secret)/);
  });

  test('of an unknown type is passed on as it stands', () => {
    const row = rowOf(textOf({ type: 'moon.landed', data: { crew: ['a'] }, tv: 7 }));
    expect(recordCodec.open(row, FIRST)).toMatchObject({ type: 'moon.landed', data: { crew: ['a'] }, tv: 7 });
  });

  test('of an unknown type that is critical is not passed over', () => {
    const row = rowOf(textOf({ type: 'moon.landed', data: {}, critical: true }));
    expect(() => recordCodec.open(row, FIRST)).toThrow(
      expect.objectContaining({ code: 'ledger-newer-schema' }),
    );
  });

  test.each([
    ['version of a known type', { tv: 2 }],
    ['envelope', { v: 2 }],
  ])('of a newer %s is left to a newer release', (_, change) => {
    const row = rowOf(textOf(change));
    expect(() => recordCodec.open(row, FIRST)).toThrow(
      expect.objectContaining({ code: 'ledger-newer-schema' }),
    );
  });

  test('may say more in its envelope than this version knows', () => {
    expect(recordCodec.open(rowOf(textOf({ corr: 'swarm-1' })), FIRST)).toMatchObject({ corr: 'swarm-1' });
  });
});

describe('data of an older version', () => {
  test.each([
    [1, { n: 3 }],
    [2, { count: 3 }],
    [3, { counts: [3] }],
  ])('%i is brought up to date on read', (tv, data) => {
    const row = rowOf(textOf({ type: 'thing.counted', tv, data }));
    const record = grown.open(row, FIRST);
    expect(record).toMatchObject({ tv: 3, data: { counts: [3] }, hash: row.hash });
  });

  test('is checked after that', () => {
    const row = rowOf(textOf({ type: 'thing.counted', tv: 3, data: { n: 3 } }));
    expect(() => grown.open(row, FIRST)).toThrow(expect.objectContaining({ code: 'ledger-corrupt' }));
  });

  test('is written in the newest version only', () => {
    // The cast names a type that only this codec has.
    const record = { type: 'thing.counted', data: { counts: [1] } } as unknown as NewRecord;
    expect(grown.seal([record], PLACE)[0]?.record).toMatchObject({ tv: 3 });
  });
});

/** The text of a plain record, with some of it changed. */
function textOf(change: object): string {
  const plain = {
    agent: 'main',
    at: 1_000,
    data: { from: 'x', reason: 'a' },
    epoch: 1,
    id: 's-1:1',
    root: 's-1',
  };
  const rest = { seq: 1, session: 's-1', tv: 1, type: 'message.refused', v: 1 };
  return canonicalJson({ ...plain, ...rest, ...change });
}

function rowOf(text: string): StoredRow {
  return { text, prev: GENESIS_HASH, hash: chainHash(GENESIS_HASH, text) };
}
