import assert from 'node:assert/strict';
import { verifyChain } from '../ledger/hash-chain.ts';
import { GENESIS_HASH } from '../ledger/records.ts';
import { onLedger, onSession } from './ledger-case.ts';
import type { LedgerCase } from './ledger-contract.ts';
import { called, commit, expectError, note, notesOf, rootSession } from './ledger-samples.ts';

const KIB = 1024;

/** What a batch becomes. */
export const appendCases: readonly LedgerCase[] = [
  onSession('sequences count from 1 without gaps', async ({ ledger, writer }) => {
    await commit(writer, note('a'), note('b'));
    await commit(writer, note('c'));
    const records = await ledger.read('s-1');
    assert.deepEqual(
      records.map(({ seq, id }) => [seq, id]),
      [
        [1, 's-1:1'],
        [2, 's-1:2'],
        [3, 's-1:3'],
      ],
    );
  }),
  onSession('each record is linked to the one before by its hash', async ({ ledger, writer }) => {
    await commit(writer, note('a'), note('b'));
    await commit(writer, note('c'));
    const records = await ledger.read('s-1');
    assert.equal(records[0]?.prev, GENESIS_HASH);
    assert.equal(records[2]?.prev, records[1]?.hash);
    verifyChain(records);
  }),
  onLedger('a record carries who wrote it, when and under which epoch', async (ledger) => {
    const identity = { session: 's-2', root: 's-1', parent: 's-1', agent: 'child' };
    const writer = await ledger.acquire(identity);
    const before = Date.now();
    const { records } = await commit(writer, note('a'));
    const { v, tv, at, epoch, session, root, parent, agent } = records[0] ?? assert.fail('no record');
    assert.deepEqual({ session, root, parent, agent }, identity);
    assert.deepEqual({ v, tv, epoch }, { v: 1, tv: 1, epoch: 1 });
    assert.ok(Math.abs(at - before) < 60_000, `stored at ${at}`);
  }),
  onSession('turn, step, call and cause of a record are kept', async ({ ledger, writer }) => {
    const place = { turn: 's-1.1', step: 's-1.1.1', call: 's-1.1.1.0', cause: 's-1:1' };
    await commit(writer, { ...note('a'), ...place });
    const { turn, step, call, cause } = (await ledger.read('s-1'))[0] ?? assert.fail('no record');
    assert.deepEqual({ turn, step, call, cause }, place);
  }),
  onSession('an append tells the head it made', async ({ ledger, writer }) => {
    const { head, records } = await commit(writer, note('a'), note('b'));
    assert.deepEqual(head, { seq: 2, hash: records[1]?.hash, epoch: 1 });
    assert.deepEqual(writer.head, head);
    assert.deepEqual(await ledger.head('s-1'), head);
  }),
  onSession('an append gives the records that are read back', async ({ ledger, writer }) => {
    const { records } = await commit(writer, note('a'), { ...called({ b: 1, a: [{}] }), turn: 't' });
    assert.deepEqual(await ledger.read('s-1'), records);
  }),
  onSession('a stored record changes with no object of its writer', async ({ ledger, writer }) => {
    const args = { list: [1] };
    const { records } = await commit(writer, called(args));
    args.list.push(2);
    const stored = await ledger.read('s-1');
    assert.deepEqual(stored, records);
    assert.deepEqual(stored[0]?.data, { ...called({ list: [1] }).data });
  }),
  onSession('a key without a value is left out', async ({ ledger, writer }) => {
    await commit(writer, called({ kept: null, dropped: undefined }));
    assert.deepEqual((await ledger.read('s-1'))[0]?.data, called({ kept: null }).data);
  }),
  onSession('an empty batch stores nothing', async ({ ledger, writer }) => {
    await commit(writer, note('a'));
    const { head, records } = await commit(writer);
    assert.deepEqual([head.seq, records], [1, []]);
    assert.equal((await ledger.read('s-1')).length, 1);
  }),
  onSession('appends sent together are stored in their order', async ({ ledger, writer }) => {
    const sent = [writer.append(0, [note('a')]), writer.append(1, [note('b'), note('c')])];
    sent.push(writer.append(3, [note('d')]));
    const results = await Promise.all(sent);
    assert.deepEqual(
      results.map(({ type }) => type),
      ['committed', 'committed', 'committed'],
    );
    assert.deepEqual(notesOf(await ledger.read('s-1')), ['a', 'b', 'c', 'd']);
    verifyChain(await ledger.read('s-1'));
  }),
  ...[
    ['text of any script', { text: 'Grüße, 世界, 👩‍👩‍👧, \u{10ffff}' }],
    ['lone surrogates', { 'key \udc00': 'value \ud800' }],
    ['control characters', { text: '\u0000\u0007\u001b[31m\r\n\u2028\u2029\u007f' }],
    ['keys that look like places of an array', { '10': 'x', '9': 'y', a: 'z', '-1': 'w', '01': 'v' }],
    ['numbers at their limits', { n: [Number.MAX_SAFE_INTEGER, 5e-324, 1e308, -1.5, 0.1] }],
    ['empty texts, lists and objects', { '': '', list: [], object: {}, nothing: null }],
    ['nesting of 100 levels', JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`)],
  ].map(([what, args]) =>
    onSession(`${String(what)} are kept as they are`, async ({ ledger, writer }) => {
      await commit(writer, called(args), note('next'));
      const records = await ledger.read('s-1');
      assert.deepEqual(records[0]?.data, called(args).data);
      verifyChain(records);
    }),
  ),
  onSession('a key named __proto__ is a key like any other', async ({ ledger, writer }) => {
    await commit(writer, called(JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":1}}')));
    const [record] = await ledger.read('s-1');
    assert.equal(record?.type, 'tool.called');
    assert.deepEqual(Object.keys(record.data.args).sort(), ['__proto__', 'constructor']);
    assert.equal(Object.getPrototypeOf(record.data.args), Object.prototype);
    assert.equal(Object.hasOwn(Object.prototype, 'admin'), false);
  }),
  onSession('a record of nearly 1 MiB is stored', async ({ ledger, writer }) => {
    const text = 'ä'.repeat(500 * KIB);
    await commit(writer, note(text));
    assert.deepEqual(notesOf(await ledger.read('s-1')), [text]);
  }),
  ...[
    ['a number that is not finite', called({ n: Number.NaN })],
    ['a function', called({ f: () => 1 })],
    ['a bigint', called({ n: 1n })],
    ['a hole in a list', called({ list: [undefined] })],
    ['an object of a class', called({ when: new Date(0) })],
    ['a cycle', called(cycle())],
    ['data of another type', { type: 'turn.resumed', data: { run: 1 } }],
    ['a type of no version', { type: 'turn.imagined', data: {} }],
    ['a turn that is no text', { ...note('a'), turn: 7 }],
  ].map(([what, record]) =>
    onSession(`${String(what)} is refused, and the writer goes on`, async ({ ledger, writer }) => {
      // The cast passes what the types forbid.
      await expectError(writer.append(0, [note('a'), record as never]), 'invalid-record');
      await commit(writer, note('b'));
      assert.deepEqual(notesOf(await ledger.read('s-1')), ['b']);
    }),
  ),
  onLedger('sessions do not see each other', async (ledger) => {
    const writers = await Promise.all(['s-1', 's-2'].map((session) => ledger.acquire(rootSession(session))));
    await Promise.all(writers.map((writer) => commit(writer, note(writer.identity.session))));
    assert.deepEqual(notesOf(await ledger.read('s-1')), ['s-1']);
    assert.deepEqual(notesOf(await ledger.read('s-2')), ['s-2']);
  }),
];

function cycle(): object {
  const self: { self?: object } = {};
  self.self = self;
  return self;
}
