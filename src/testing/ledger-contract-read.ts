import assert from 'node:assert/strict';
import { verifyChain } from '../ledger/hash-chain.ts';
import { onLedger, onSession, overReopen } from './ledger-case.ts';
import type { LedgerCase } from './ledger-contract.ts';
import { called, commit, note, notesOf, rootSession, turnClosed, turnOpened } from './ledger-samples.ts';

/** What can be read of sessions. */
export const readCases: readonly LedgerCase[] = [
  onLedger('an unknown session has no records and no head', async (ledger) => {
    assert.deepEqual(await ledger.read('s-9'), []);
    assert.equal(await ledger.head('s-9'), undefined);
    assert.deepEqual(await ledger.sessions('s-9'), []);
  }),
  onSession('a session is read from any sequence on', async ({ ledger, writer }) => {
    await commit(writer, ...['a', 'b', 'c', 'd'].map(note));
    assert.deepEqual(notesOf(await ledger.read('s-1', 1)), ['a', 'b', 'c', 'd']);
    assert.deepEqual(notesOf(await ledger.read('s-1', 3)), ['c', 'd']);
    assert.deepEqual(notesOf(await ledger.read('s-1', 4)), ['d']);
    assert.deepEqual(await ledger.read('s-1', 5), []);
  }),
  onSession('a long session is read whole', async ({ ledger, writer }) => {
    for (let batch = 0; batch < 8; batch += 1) {
      await commit(writer, ...Array.from({ length: 150 }, (_, index) => note(`${batch}.${index}`)));
    }
    const records = await ledger.read('s-1');
    assert.equal(records.length, 1_200);
    verifyChain(records);
  }),
  onSession('a reader cannot change what other readers get', async ({ ledger, writer }) => {
    await commit(writer, called({ list: [1] }));
    const [record] = await ledger.read('s-1');
    assert.ok(record);
    try {
      Object.assign(record.data, { args: 'changed' });
    } catch (error) {
      // A store may hand out frozen records, or a copy to each reader.
      assert.ok(error instanceof TypeError);
    }
    assert.deepEqual((await ledger.read('s-1'))[0]?.data, called({ list: [1] }).data);
  }),
  onLedger('sessions are listed oldest first, with what is known of them', async (ledger) => {
    const root = await ledger.acquire(rootSession('s-1'));
    const child = await ledger.acquire({ session: 's-0', root: 's-1', parent: 's-1', agent: 'child' });
    const { head, records } = await commit(root, turnOpened('t'));
    await commit(child, note('a'));
    const [first, second] = await ledger.sessions();
    assert.deepEqual(first, {
      sessionId: 's-1',
      rootId: 's-1',
      agent: 'main',
      head,
      openedAt: records[0]?.at,
      updatedAt: records[0]?.at,
      openTurn: 't',
      owned: true,
    });
    assert.deepEqual(
      [second?.sessionId, second?.rootId, second?.parentId, second?.agent],
      ['s-0', 's-1', 's-1', 'child'],
    );
    assert.equal('openTurn' in (second ?? {}), false);
  }),
  onLedger('a session is summed up as a listing shows it', async (ledger) => {
    const writers = await Promise.all(['s-1', 's-2'].map((session) => ledger.acquire(rootSession(session))));
    for (const writer of writers) await commit(writer, turnOpened(`${writer.identity.session}.1`));
    await writers[1]?.release();
    for (const listed of await ledger.sessions()) {
      assert.deepEqual(await ledger.summary(listed.sessionId), listed);
    }
    assert.equal((await ledger.summary('s-1'))?.owned, true);
    assert.equal((await ledger.summary('s-2'))?.owned, false);
  }),
  onLedger('a session without a record has no summary, whatever it is called', async (ledger) => {
    await ledger.acquire(rootSession('s-1'));
    await commit(await ledger.acquire(rootSession('s-2')), note('a'));
    for (const name of ['s-1', 's-9', '*', '>', 's-2.x', '']) {
      assert.equal(await ledger.summary(name), undefined);
    }
  }),
  onLedger('sessions of one root are listed apart', async (ledger) => {
    for (const [session, root] of [
      ['s-1', 's-1'],
      ['s-2', 's-1'],
      ['s-3', 's-3'],
    ] as const) {
      await commit(await ledger.acquire({ session, root, agent: 'main' }), note('a'));
    }
    const ids = async (root?: string) => (await ledger.sessions(root)).map(({ sessionId }) => sessionId);
    assert.deepEqual(await ids('s-1'), ['s-1', 's-2']);
    assert.deepEqual(await ids('s-3'), ['s-3']);
    assert.deepEqual(await ids(), ['s-1', 's-2', 's-3']);
  }),
  onSession('a session is owned until it is released', async ({ ledger, writer }) => {
    await commit(writer, note('a'));
    assert.equal((await ledger.sessions())[0]?.owned, true);
    await writer.release();
    assert.equal((await ledger.sessions())[0]?.owned, false);
  }),
  onLedger('sessions with an open turn are listed', async (ledger) => {
    const writers = await Promise.all(['s-1', 's-2'].map((session) => ledger.acquire(rootSession(session))));
    for (const writer of writers) await commit(writer, turnOpened(`${writer.identity.session}.1`));
    const open = async () =>
      (await ledger.listOpen()).map(({ sessionId, openTurn }) => [sessionId, openTurn]);
    assert.deepEqual(await open(), [
      ['s-1', 's-1.1'],
      ['s-2', 's-2.1'],
    ]);
    const [first] = writers;
    assert.ok(first);
    await commit(first, turnClosed('s-1.1'), note('after'));
    assert.deepEqual(await open(), [['s-2', 's-2.1']]);
    await commit(first, turnOpened('s-1.2'));
    assert.deepEqual(await open(), [
      ['s-1', 's-1.2'],
      ['s-2', 's-2.1'],
    ]);
  }),
  onLedger('an open session tells of every new fact in its tree, and of none in another', async (ledger) => {
    const child = { session: 's-2', root: 's-1', parent: 's-1', agent: 'child' };
    const [root, below, other] = [
      await ledger.acquire(rootSession('s-1')),
      await ledger.acquire(child),
      await ledger.acquire(rootSession('s-3')),
    ];
    await commit(root, turnOpened('s-1.1'));
    await commit(other, turnOpened('s-3.1'));
    const versions = async () => {
      const open = await ledger.listOpen();
      return ['s-1', 's-3'].map((id) => open.find(({ sessionId }) => sessionId === id)?.treeVersion ?? 0);
    };
    const [first = 0, ofOther = 0] = await versions();
    assert.deepEqual(await versions(), [first, ofOther]);
    await commit(below, note('a'));
    const [second = 0, sameOther] = await versions();
    assert.ok(second > first);
    assert.equal(sameOther, ofOther);
    // Of a session without an open turn too.
    await commit(below, turnOpened('s-2.1'), turnClosed('s-2.1'));
    const [third = 0] = await versions();
    assert.ok(third > second);
  }),
  onSession('of several open turns the last one opened is shown', async ({ ledger, writer }) => {
    await commit(writer, turnOpened('t1'), turnOpened('t2'), turnOpened('t3'));
    assert.equal((await ledger.sessions())[0]?.openTurn, 't3');
    await commit(writer, turnClosed('t3'));
    assert.equal((await ledger.sessions())[0]?.openTurn, 't2');
  }),
  overReopen(
    'everything that was stored is read after a restart',
    async ({ ledger, writer }) => {
      const child = await ledger.acquire({ session: 's-2', root: 's-1', parent: 's-1', agent: 'child' });
      await commit(writer, turnOpened('t'), called({ a: 1 }));
      await commit(child, note('a'));
    },
    async (ledger) => {
      verifyChain(await ledger.read('s-1'));
      assert.deepEqual(
        (await ledger.sessions()).map(({ sessionId, openTurn, owned }) => [sessionId, openTurn, owned]),
        [
          ['s-1', 't', false],
          ['s-2', undefined, false],
        ],
      );
      assert.deepEqual(
        (await ledger.listOpen()).map(({ sessionId }) => sessionId),
        ['s-1'],
      );
      assert.ok((await ledger.position()) >= 3);
    },
  ),
];
