import assert from 'node:assert/strict';
import { DEFAULT_LIMITS } from '../limits.ts';
import { onSession, overReopen } from './ledger-case.ts';
import type { LedgerCase } from './ledger-contract.ts';
import {
  commit,
  dispatched,
  expectRejected,
  note,
  notesOf,
  rootSession,
  settled,
  turnClosed,
  turnOpened,
} from './ledger-samples.ts';

const { maxBatchRecords, maxBatchBytes } = DEFAULT_LIMITS.ledger;

/** What an append may not do. */
export const ruleCases: readonly LedgerCase[] = [
  ...[
    ['behind', 0],
    ['beyond', 2],
    ['no place near', -1],
  ].map(([where, expected]) =>
    onSession(`an append that expects the head ${where} is a conflict`, async ({ ledger, writer }) => {
      await commit(writer, note('a'));
      const result = await writer.append(Number(expected), [note('b')]);
      assert.equal(result.type, 'rejected');
      assert.equal(result.reason, 'conflict');
      await commit(writer, note('c'));
      assert.deepEqual(notesOf(await ledger.read('s-1')), ['a', 'c']);
    }),
  ),
  onSession('an append built on one that is rejected falls with it', async ({ ledger, writer }) => {
    await commit(writer, turnOpened('t'), turnClosed('t'));
    const results = await Promise.all([
      writer.append(2, [{ ...note('sealed'), turn: 't' }]),
      writer.append(3, [note('on top')]),
    ]);
    assert.deepEqual(
      results.map((result) => (result.type === 'rejected' ? result.reason : result.type)),
      ['sealed', 'conflict'],
    );
    await commit(writer, note('next'));
    assert.deepEqual(notesOf(await ledger.read('s-1')), ['next']);
  }),
  onSession('W10 nothing of a turn follows its end', async ({ ledger, writer }) => {
    await commit(writer, turnOpened('t'), turnClosed('t'));
    await expectRejected(ledger, writer, 'sealed', { ...note('late'), turn: 't' });
    await expectRejected(ledger, writer, 'sealed', turnClosed('t'));
    await expectRejected(ledger, writer, 'sealed', turnOpened('t'));
  }),
  onSession('W10 nothing of a turn follows its end in one batch', async ({ ledger, writer }) => {
    await commit(writer, turnOpened('t'));
    await expectRejected(ledger, writer, 'sealed', turnClosed('t'), { ...note('late'), turn: 't' });
  }),
  onSession('the end of a turn seals no other', async ({ writer }) => {
    await commit(writer, turnOpened('t1'), turnOpened('t2'));
    await commit(writer, turnClosed('t1'), { ...note('b'), turn: 't2' }, note('c'));
    await commit(writer, turnClosed('t2'), turnOpened('t3'), note('d'));
  }),
  onSession('W12 a batch is stored whole or not at all', async ({ ledger, writer }) => {
    await commit(writer, turnOpened('t'), turnClosed('t'));
    await expectRejected(ledger, writer, 'sealed', note('a'), note('b'), { ...note('c'), turn: 't' });
    assert.deepEqual(writer.head, await ledger.head('s-1'));
  }),
  onSession('W12 a batch has a bound of records', async ({ ledger, writer }) => {
    const batch = Array.from({ length: maxBatchRecords + 1 }, (_, index) => note(String(index)));
    await expectRejected(ledger, writer, 'limit', ...batch);
    await commit(writer, ...batch.slice(1));
  }),
  onSession('W12 a batch has a bound of bytes', async ({ ledger, writer }) => {
    const half = note('ä'.repeat(maxBatchBytes / 4));
    await expectRejected(ledger, writer, 'limit', half, half);
    await commit(writer, half);
    await commit(writer, half);
  }),
  onSession('W5 an operation is dispatched once', async ({ ledger, writer }) => {
    await commit(writer, dispatched('op-1'));
    await expectRejected(ledger, writer, 'duplicate', dispatched('op-1'));
    await expectRejected(ledger, writer, 'duplicate', note('a'), dispatched('op-2'), dispatched('op-1'));
    await commit(writer, dispatched('op-2'));
  }),
  onSession('W5 an operation is dispatched once in one batch', async ({ ledger, writer }) => {
    await expectRejected(ledger, writer, 'duplicate', dispatched('op-1'), dispatched('op-1'));
    await commit(writer, dispatched('op-1'));
  }),
  onSession('W5 of two dispatches sent together one is stored', async ({ ledger, writer }) => {
    const results = await Promise.all([
      writer.append(0, [dispatched('op-1')]),
      writer.append(1, [dispatched('op-1')]),
    ]);
    assert.deepEqual(
      results.map((result) => (result.type === 'rejected' ? result.reason : result.type)),
      ['committed', 'duplicate'],
    );
    assert.equal((await ledger.read('s-1')).length, 1);
  }),
  onSession('an operation settles once', async ({ ledger, writer }) => {
    await commit(writer, dispatched('op-1'), settled('op-1'));
    await expectRejected(ledger, writer, 'duplicate', settled('op-1'));
    await expectRejected(ledger, writer, 'duplicate', settled('op-2'), settled('op-2'));
    await commit(writer, settled('op-2'));
  }),
  onSession('an operation stays known after its turn', async ({ ledger, writer }) => {
    await commit(writer, turnOpened('t'), dispatched('op-1', 't'), settled('op-1', 't'), turnClosed('t'));
    await expectRejected(ledger, writer, 'duplicate', dispatched('op-1', 'u'));
    await expectRejected(ledger, writer, 'duplicate', settled('op-1', 'u'));
  }),
  onSession('a next owner is held to the same rules', async ({ ledger, writer }) => {
    await commit(writer, turnOpened('t'), dispatched('op-1', 't'), turnClosed('t'));
    await writer.release();
    const next = await ledger.acquire(rootSession('s-1'));
    await expectRejected(ledger, next, 'duplicate', dispatched('op-1', 'u'));
    await expectRejected(ledger, next, 'sealed', { ...note('late'), turn: 't' });
  }),
  overReopen(
    'turns stay sealed and operations known after a restart',
    async ({ writer }) => {
      await commit(writer, turnOpened('t'), dispatched('op-1', 't'), settled('op-1', 't'), turnClosed('t'));
    },
    async (ledger) => {
      const writer = await ledger.acquire(rootSession('s-1'));
      await expectRejected(ledger, writer, 'duplicate', dispatched('op-1', 'u'));
      await expectRejected(ledger, writer, 'duplicate', settled('op-1', 'u'));
      await expectRejected(ledger, writer, 'sealed', { ...note('late'), turn: 't' });
    },
  ),
];
