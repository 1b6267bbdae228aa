import assert from 'node:assert/strict';
import { onLedger, onSession, overReopen } from './ledger-case.ts';
import type { LedgerCase } from './ledger-contract.ts';
import { commit, expectError, note, notesOf, rootSession, turnClosed, turnOpened } from './ledger-samples.ts';

/** Who may write. */
export const writerCases: readonly LedgerCase[] = [
  onSession('each acquire begins a new epoch', async ({ ledger, writer }) => {
    assert.equal(writer.epoch, 1);
    await commit(writer, note('a'));
    await writer.release();
    const second = await ledger.acquire(rootSession('s-1'));
    assert.equal(second.epoch, 2);
    await commit(second, note('b'));
    await second.release();
    // Without a record in between, too: the one before may have sent some.
    await (await ledger.acquire(rootSession('s-1'))).release();
    assert.equal((await ledger.acquire(rootSession('s-1'))).epoch, 4);
    assert.deepEqual(
      (await ledger.read('s-1')).map(({ epoch }) => epoch),
      [1, 2],
    );
  }),
  onSession('a session is handed out once', async ({ ledger, writer }) => {
    await expectError(ledger.acquire(rootSession('s-1')), 'session-owned-elsewhere');
    await commit(writer, note('still mine'));
    await writer.release();
    await ledger.acquire(rootSession('s-1'));
  }),
  onLedger('of two acquires at once one wins', async (ledger) => {
    const all = await Promise.allSettled([
      ledger.acquire(rootSession('s-1')),
      ledger.acquire(rootSession('s-1')),
    ]);
    assert.deepEqual(all.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  }),
  onSession('a next writer begins at the head', async ({ ledger, writer }) => {
    const { head } = await commit(writer, note('a'), note('b'));
    await writer.release();
    const next = await ledger.acquire(rootSession('s-1'));
    assert.deepEqual(next.head, { ...head, epoch: 2 });
    await commit(next, note('c'));
    assert.deepEqual(notesOf(await ledger.read('s-1')), ['a', 'b', 'c']);
  }),
  onSession('a released writer is fenced', async ({ ledger, writer }) => {
    await commit(writer, note('a'));
    await writer.release();
    assert.equal(writer.lost.aborted, true);
    const result = await writer.append(1, [note('b')]);
    assert.equal(result.type, 'rejected');
    assert.equal(result.reason, 'fenced');
    const next = await ledger.acquire(rootSession('s-1'));
    await commit(next, note('c'));
    assert.equal((await writer.append(2, [note('d')])).type, 'rejected');
    assert.deepEqual(notesOf(await ledger.read('s-1')), ['a', 'c']);
  }),
  onSession('a writer is released once', async ({ ledger, writer }) => {
    await Promise.all([writer.release(), writer.release()]);
    const next = await ledger.acquire(rootSession('s-1'));
    await writer.release();
    await writer[Symbol.asyncDispose]();
    assert.equal(next.lost.aborted, false);
    await commit(next, note('a'));
  }),
  onSession('leaving the scope of a writer releases it', async ({ ledger, writer }) => {
    await writer[Symbol.asyncDispose]();
    assert.equal((await ledger.acquire(rootSession('s-1'))).epoch, 2);
  }),
  onSession('appends on the way are stored before a release', async ({ ledger, writer }) => {
    const sent = writer.append(0, [note('a')]);
    await writer.release();
    assert.equal((await sent).type, 'committed');
    assert.equal((await ledger.acquire(rootSession('s-1'))).head.seq, 1);
  }),
  onSession('a last append gives the session up with it', async ({ ledger, writer }) => {
    await commit(writer, note('a'));
    const last = await writer.appendLast(1, [note('b')]);
    assert.equal(last.type, 'committed');
    assert.equal(writer.lost.aborted, true);
    assert.equal((await ledger.sessions())[0]?.owned, false);
    await writer.release();
    const next = await ledger.acquire(rootSession('s-1'));
    assert.deepEqual([next.epoch, next.head.seq], [2, 2]);
    assert.equal((await writer.append(2, [note('c')])).type, 'rejected');
    await commit(next, note('d'));
    assert.deepEqual(notesOf(await ledger.read('s-1')), ['a', 'b', 'd']);
  }),
  onSession('a last append that is refused leaves the session to its writer', async ({ ledger, writer }) => {
    await commit(writer, turnOpened('t'), turnClosed('t'));
    const late = await writer.appendLast(2, [{ ...note('late'), turn: 't' }]);
    assert.equal(late.type === 'rejected' && late.reason, 'sealed');
    assert.equal(writer.lost.aborted, false);
    await expectError(ledger.acquire(rootSession('s-1')), 'session-owned-elsewhere');
    await commit(writer, note('a'));
  }),
  onSession('a last append of nothing gives the session up', async ({ ledger, writer }) => {
    assert.equal((await writer.appendLast(0, [])).type, 'committed');
    assert.equal(writer.lost.aborted, true);
    await ledger.acquire(rootSession('s-1'));
  }),
  onSession('nothing is appended behind a last append', async ({ ledger, writer }) => {
    const sent = [writer.appendLast(0, [note('a')]), writer.append(1, [note('b')])];
    const types = (await Promise.all(sent)).map(({ type }) => type);
    assert.deepEqual(types, ['committed', 'rejected']);
    await ledger.acquire(rootSession('s-1'));
    assert.deepEqual(notesOf(await ledger.read('s-1')), ['a']);
  }),
  onSession(
    'nothing is appended behind a last append that others went before',
    async ({ ledger, writer }) => {
      const first = writer.append(0, [note('a')]);
      const last = writer.appendLast(1, [note('b')]);
      await first;
      assert.equal((await writer.append(2, [note('c')])).type, 'rejected');
      assert.equal((await last).type, 'committed');
      await ledger.acquire(rootSession('s-1'));
      assert.deepEqual(notesOf(await ledger.read('s-1')), ['a', 'b']);
    },
  ),
  onLedger('a session that is held to be new begins with its first append', async (ledger) => {
    const writer = await ledger.acquire(rootSession('s-1'), { isNew: true });
    assert.deepEqual([writer.epoch, writer.head.seq], [1, 0]);
    assert.deepEqual(await ledger.read('s-1'), []);
    await expectError(ledger.acquire(rootSession('s-1'), { isNew: true }), 'session-owned-elsewhere');
    await commit(writer, note('a'));
    assert.equal((await ledger.sessions())[0]?.owned, true);
    await commit(writer, note('b'));
    await writer.release();
    assert.deepEqual((await ledger.acquire(rootSession('s-1'))).head.seq, 2);
  }),
  onLedger(
    'a session that is held to be new and never written to is as good as never taken',
    async (ledger) => {
      await (await ledger.acquire(rootSession('s-1'), { isNew: true })).release();
      assert.deepEqual(await ledger.sessions(), []);
      await commit(await ledger.acquire(rootSession('s-1')), note('a'));
    },
  ),
  onSession('a session that is wrongly held to be new loses nothing', async ({ ledger, writer }) => {
    await commit(writer, note('a'));
    await writer.release();
    const wrong = await ledger.acquire(rootSession('s-1'), { isNew: true });
    const result = await wrong.append(wrong.head.seq, [note('b')]);
    const isRefused = result.type === 'rejected' && result.reason === 'fenced';
    assert.ok(isRefused || result.type === 'committed', result.type);
    await wrong.release();
    await commit(await ledger.acquire(rootSession('s-1')), note('c'));
    const notes = notesOf(await ledger.read('s-1'));
    assert.deepEqual(notes, isRefused ? ['a', 'c'] : ['a', 'b', 'c']);
  }),
  onLedger('the first append fixes who a session is', async (ledger) => {
    const first = await ledger.acquire({ session: 's-1', root: 's-0', parent: 's-0', agent: 'child' });
    await commit(first, note('a'));
    await first.release();
    const second = await ledger.acquire({ session: 's-1', root: 's-1', agent: 'other' });
    assert.deepEqual(second.identity, first.identity);
    await commit(second, note('b'));
    const agents = (await ledger.read('s-1')).map(({ agent, root }) => [agent, root]);
    assert.deepEqual(agents, [
      ['child', 's-0'],
      ['child', 's-0'],
    ]);
  }),
  onLedger('a session without a record may still become another', async (ledger) => {
    await (await ledger.acquire({ session: 's-1', root: 's-0', agent: 'first' })).release();
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    assert.equal((await ledger.sessions('s-0')).length, 0);
    assert.equal((await ledger.read('s-1'))[0]?.agent, 'main');
  }),
  onSession('a session is there with its first record', async ({ ledger, writer }) => {
    assert.equal(await ledger.head('s-1'), undefined);
    assert.deepEqual(await ledger.sessions(), []);
    assert.deepEqual(writer.head, { ...writer.head, seq: 0, epoch: 1 });
    await commit(writer, note('a'));
    assert.equal((await ledger.sessions()).length, 1);
  }),
  ...['', 'a.b', 'a b', '../x', 'a*', 'a>', 'ä', 'x'.repeat(65)].map((session) =>
    onLedger(`${JSON.stringify(session.slice(0, 8))} is no id of a session`, async (ledger) => {
      await expectError(ledger.acquire(rootSession(session)), 'invalid-record');
    }),
  ),
  overReopen(
    'a restart goes on where it was, with a new epoch',
    async ({ writer }) => {
      await commit(writer, note('a'), note('b'));
    },
    async (ledger) => {
      const writer = await ledger.acquire(rootSession('s-1'));
      assert.deepEqual([writer.epoch, writer.head.seq], [2, 2]);
      await commit(writer, note('c'));
      assert.deepEqual(notesOf(await ledger.read('s-1')), ['a', 'b', 'c']);
    },
  ),
];
