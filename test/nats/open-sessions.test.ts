import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { SwarmError } from '../../src/errors.ts';
import type { LedgerWriter } from '../../src/ledger/ledger.ts';
import { NATS_LIMITS } from '../../src/limits.ts';
import { connectNats } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { LEDGER_STREAM } from '../../src/nats/ledger-streams.ts';
import { createLedgerSubjects } from '../../src/nats/ledger-subjects.ts';
import { OpenSessions, type OpenSessionsOptions } from '../../src/nats/open-sessions.ts';
import { provision } from '../../src/nats/provision.ts';
import { createStreamReader } from '../../src/nats/stream-reader.ts';
import { commit, note, rootSession, turnClosed, turnOpened } from '../../src/testing/ledger-samples.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

describe.skipIf(isNatsMissing())('the open sessions of a JetStream ledger', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** A listing, with where it began to read each page. */
  async function watched(ns: string, bounds: Pick<OpenSessionsOptions, 'maxBehind' | 'maxBytes'> = {}) {
    const client = connectNats(server.url);
    onTestFinished(() => client.close());
    await client.connected(AbortSignal.timeout(10_000));
    const reader = createStreamReader(client, LEDGER_STREAM);
    const pages: number[] = [];
    const open = new OpenSessions({
      client,
      subjects: createLedgerSubjects({ ns }),
      reader: {
        ...reader,
        page(filter, sequence) {
          pages.push(sequence);
          return reader.page(filter, sequence);
        },
      },
      ...bounds,
    });
    const ids = async () => (await open.list()).map(({ summary }) => summary.sessionId);
    return { pages, ids };
  }

  test('a look reads what was written since the one before', async () => {
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    const closed = await Promise.all(
      Array.from({ length: 60 }, (_, at) => ledger.acquire(rootSession(`s-${at}`), { isNew: true })),
    );
    await Promise.all(closed.map((writer) => commit(writer, turnOpened('t'), turnClosed('t'))));
    const asked = await ledger.acquire(rootSession('s-asked'), { isNew: true });
    await commit(asked, turnOpened('t'));
    const { pages, ids } = await watched(ns);
    expect(await ids()).toEqual(['s-asked']);
    expect(await ids()).toEqual(['s-asked']);
    expect(pages).toEqual([]);
    const [again] = closed;
    await commit(again as LedgerWriter, turnOpened('t2'));
    expect(await ids()).toEqual(['s-0', 's-asked']);
    await commit(asked, turnClosed('t'));
    expect(await ids()).toEqual(['s-0']);
    // One message each, behind all of those before.
    expect(pages).toHaveLength(2);
    const [first = 0, second] = pages;
    expect(second).toBe(first + 1);
  });

  test('looks at the same time go on one from another', async () => {
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    const writer = await ledger.acquire(rootSession('s-1'));
    const { pages, ids } = await watched(ns);
    expect(await ids()).toEqual([]);
    await commit(writer, turnOpened('t'));
    const looks = await Promise.all([ids(), ids(), ids(), ids()]);
    expect(looks).toEqual(Array.from({ length: 4 }, () => ['s-1']));
    expect(pages).toHaveLength(1);
  });

  test('one that is far behind lists all of them anew', async () => {
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, turnOpened('t'));
    const { pages, ids } = await watched(ns, { maxBehind: 5 });
    expect(await ids()).toEqual(['s-1']);
    for (let at = 0; at < 6; at += 1) await commit(writer, note(`${at}`));
    await commit(writer, turnClosed('t'));
    expect(await ids()).toEqual([]);
    expect(pages).toEqual([]);
  });

  test('one that has very much to read lists all of them anew', async () => {
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, turnOpened('t'));
    const { pages, ids } = await watched(ns, { maxBytes: 1_000_000 });
    expect(await ids()).toEqual(['s-1']);
    // Two pages.
    for (let at = 0; at < 40; at += 1) await commit(writer, note('x'.repeat(60_000)));
    await commit(writer, turnClosed('t'));
    expect(await ids()).toEqual([]);
    expect(pages).toHaveLength(1);
  });

  test('looks under way when a ledger closes end with it, also where others use its connection', async () => {
    const ns = freshNamespace();
    const writing = await openLedgerOn(server, { ns });
    const writer = await writing.acquire(rootSession('s-1'));
    await commit(writer, turnOpened('t'));
    await using connection = connectNats(server.url);
    const ledger = await jetstreamLedger({ connection, ns });
    // The first lists all, the second reads on.
    expect(await ledger.listOpen()).toHaveLength(1);
    await commit(writer, note('a'));
    expect(await ledger.listOpen()).toHaveLength(1);
    for (let at = 0; at < 40; at += 1) await commit(writer, note('x'.repeat(60_000)));
    const codeOf = (look: Promise<unknown>) => look.catch((error: unknown) => (error as SwarmError).code);
    const looks = [codeOf(ledger.listOpen()), codeOf(ledger.listOpen())];
    const began = performance.now();
    await ledger.close();
    expect(await Promise.all(looks)).toEqual(['ledger-closed', 'ledger-closed']);
    // None of them waited for an answer that nobody takes.
    expect(performance.now() - began).toBeLessThan(NATS_LIMITS.requestMs);
  });

  test('a stream that was made anew is listed anew', async () => {
    await using own = await startLedgerServer();
    await using admin = connectNats(own.url);
    const ns = freshNamespace();
    const ledger = await openLedgerOn(own, { ns });
    const writer = await ledger.acquire(rootSession('s-1'));
    for (const turn of ['t1', 't2', 't3']) await commit(writer, turnOpened(turn));
    const other = await openLedgerOn(own, { ns });
    const open = async () => (await other.listOpen()).map(({ sessionId }) => sessionId);
    expect(await open()).toEqual(['s-1']);
    await askJetStream(admin, `STREAM.DELETE.${LEDGER_STREAM}`);
    await provision(admin, { ledger: true });
    const fresh = await openLedgerOn(own, { ns });
    await commit(await fresh.acquire(rootSession('s-2'), { isNew: true }), turnOpened('t'));
    expect(await open()).toEqual(['s-2']);
  });

  test('a stream that was made anew and has more messages by now is listed anew', async () => {
    await using own = await startLedgerServer();
    await using admin = connectNats(own.url);
    const ns = freshNamespace();
    await using ledger = await openLedgerOn(own, { ns });
    await commit(await ledger.acquire(rootSession('s-1'), { isNew: true }), turnOpened('t'));
    await using other = await openLedgerOn(own, { ns });
    const open = async () => (await other.listOpen()).map(({ sessionId }) => sessionId);
    expect(await open()).toEqual(['s-1']);
    for (const sessions of [['s-2'], ['s-3', 's-4', 's-5']]) {
      await askJetStream(admin, `STREAM.DELETE.${LEDGER_STREAM}`);
      await provision(admin, { ledger: true });
      await using fresh = await openLedgerOn(own, { ns });
      for (const id of sessions) {
        await commit(await fresh.acquire(rootSession(id), { isNew: true }), turnOpened('t'));
      }
      expect(await open()).toEqual(sessions);
    }
  });

  test('a namespace that was purged is listed anew', async () => {
    await using admin = connectNats(server.url);
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    await commit(await ledger.acquire(rootSession('s-1')), turnOpened('t'));
    const { ids } = await watched(ns);
    expect(await ids()).toEqual(['s-1']);
    const filter = createLedgerSubjects({ ns }).sessions();
    await askJetStream(admin, `STREAM.PURGE.${LEDGER_STREAM}`, { filter });
    await commit(await ledger.acquire(rootSession('s-2'), { isNew: true }), turnOpened('t'));
    expect(await ids()).toEqual(['s-2']);
  });

  test('a session whose last message nobody can read is left out, as in the list of all', async () => {
    await using admin = connectNats(server.url);
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    for (const id of ['s-1', 's-2', 's-3']) {
      await commit(await ledger.acquire(rootSession(id)), turnOpened('t'));
    }
    const { ids } = await watched(ns);
    expect(await ids()).toEqual(['s-1', 's-2', 's-3']);
    const subjects = createLedgerSubjects({ ns });
    const text = new TextEncoder().encode('no record');
    await admin.request(subjects.session('s-1'), text);
    const headers = { 'Swm-Seq': '2', 'Swm-Place': '{"v":2}' };
    await admin.request(subjects.session('s-2'), text, { headers });
    expect(await ids()).toEqual(['s-3']);
    expect(await ids()).toEqual((await ledger.sessions()).map(({ sessionId }) => sessionId));
  });

  test('whatever is written between the looks, they have what the list of all sessions has', async () => {
    const step = fc.record({
      session: fc.integer({ min: 0, max: 4 }),
      what: fc.constantFrom('open', 'close', 'note', 'leave', 'look'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const ns = freshNamespace();
        await using writing = await openLedgerOn(server, { ns });
        await using looking = await openLedgerOn(server, { ns });
        const writers = new Map<number, LedgerWriter>();
        const turns = new Map<number, number>();
        for (const { session, what } of steps) {
          if (what === 'look') await looking.listOpen();
          else if (what === 'leave') {
            await writers.get(session)?.release();
            writers.delete(session);
          } else {
            const identity = rootSession(`s-${session}`);
            const writer = writers.get(session) ?? (await writing.acquire(identity));
            writers.set(session, writer);
            const turn = turns.get(session) ?? 0;
            const isOpen = turn % 2 === 1;
            const moves = what === (isOpen ? 'close' : 'open');
            if (moves) turns.set(session, turn + 1);
            const name = `t${turn >> 1}`;
            await commit(writer, moves ? (isOpen ? turnClosed(name) : turnOpened(name)) : note('a'));
          }
        }
        const open = (await looking.listOpen()).map(({ treeVersion: _, ...summary }) => summary);
        expect(open).toEqual((await looking.sessions()).filter(({ openTurn }) => openTurn !== undefined));
      }),
      { numRuns: 25 },
    );
  });
});
