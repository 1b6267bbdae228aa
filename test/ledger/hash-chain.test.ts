import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findChainBreak, verifyChain } from '../../src/ledger/hash-chain.ts';
import { recordCodec } from '../../src/ledger/record-codec.ts';
import { GENESIS_HASH, type LedgerRecord } from '../../src/ledger/records.ts';
import { called, note, rootSession, turnOpened } from '../../src/testing/ledger-samples.ts';

const records: readonly LedgerRecord[] = sealed([
  note('a'),
  called({ amount: 10, to: ['x', 'y'] }),
  turnOpened('s-1.1'),
  { ...note('d'), turn: 's-1.1' },
  note('e'),
]);

/** Ways to falsify a list of records that a reader must not be taken in by. */
const tampering = fc.oneof(
  fc.record({ type: fc.constant('drop' as const), at: fc.nat(records.length - 2) }),
  fc.record({ type: fc.constant('repeat' as const), at: fc.nat(records.length - 1) }),
  fc.record({ type: fc.constant('swap' as const), at: fc.nat(records.length - 2) }),
  fc.record({
    type: fc.constant('change' as const),
    at: fc.nat(records.length - 1),
    key: fc.constantFrom(
      'data',
      'at',
      'epoch',
      'agent',
      'turn',
      'type',
      'session',
      'seq',
      'prev',
      'hash',
      'extra',
    ),
  }),
);

describe('the hash chain', () => {
  test('holds for what was written', () => {
    expect(findChainBreak(records)).toBeUndefined();
    expect(() => verifyChain([])).not.toThrow();
  });

  test('holds for a part, from where it begins', () => {
    const [, second, ...rest] = records;
    expect(findChainBreak(rest, { seq: 2, hash: second?.hash ?? '' })).toBeUndefined();
    expect(findChainBreak(rest)).toEqual({ seq: 1, found: 'sequence 3' });
    expect(findChainBreak(rest, { seq: 2, hash: GENESIS_HASH })?.seq).toBe(3);
  });

  test('breaks at the first record that was tampered with', () => {
    fc.assert(
      fc.property(tampering, (how) => {
        const seq = findChainBreak(tampered(how))?.seq ?? Number.NaN;
        // Inside a record the break is there; of two that changed places the first one is met first.
        expect(seq).toBe(how.type === 'repeat' ? how.at + 2 : how.at + 1);
      }),
    );
  });

  test('breaks where an older epoch follows a newer', () => {
    const [first] = sealed([note('a')], 2);
    const later = sealed([note('b')], 1, { seq: 1, hash: first?.hash ?? '' });
    expect(findChainBreak([first, ...later].filter((record) => record !== undefined))).toEqual({
      seq: 2,
      found: 'epoch 1 after 2',
    });
  });

  test('names the session and the place of a break', () => {
    expect(() => verifyChain(tampered({ type: 'drop', at: 1 }))).toThrow(
      expect.objectContaining({ code: 'ledger-corrupt', message: 'session s-1, record 2: sequence 3' }),
    );
  });
});

function sealed(
  batch: Parameters<typeof recordCodec.seal>[0],
  epoch = 1,
  head = { seq: 0, hash: GENESIS_HASH },
): readonly LedgerRecord[] {
  const place = { identity: rootSession('s-1'), epoch, at: 1_000, ...head };
  return recordCodec.seal(batch, place).map(({ record }) => record);
}

function tampered(
  how: { type: 'drop' | 'repeat' | 'swap'; at: number } | { type: 'change'; at: number; key: string },
): readonly LedgerRecord[] {
  const list = structuredClone([...records]);
  const record = list[how.at];
  const next = list[how.at + 1];
  if (record === undefined) return list;
  switch (how.type) {
    case 'drop':
      return list.toSpliced(how.at, 1);
    case 'repeat':
      return list.toSpliced(how.at, 0, record);
    case 'swap':
      return next === undefined ? list : list.toSpliced(how.at, 2, next, record);
    case 'change': {
      const value: unknown = Reflect.get(record, how.key);
      Reflect.set(record, how.key, typeof value === 'number' ? value + 1 : `${JSON.stringify(value)}!`);
      return list;
    }
  }
}
