import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { sleep, systemClock } from '../../src/clock.ts';
import { connectNats } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { commit, expectError, note, notesOf, rootSession, take } from '../../src/testing/ledger-samples.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

describe.skipIf(isNatsMissing())('a server with several ledgers', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('a record larger than a message of the server is refused, and the writer goes on', async () => {
    const ledger = await openLedgerOn(server, { ns: freshNamespace() });
    const writer = await ledger.acquire(rootSession('s-1'));
    const result = await writer.append(0, [note('x'.repeat(1024 * 1024 - 400))]);
    expect(result).toMatchObject({ type: 'rejected', reason: 'limit' });
    await commit(writer, note('small'));
  });

  test('a record that was put in from outside shows as damage, to readers and to the next owner', async () => {
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    await writer.release();
    const [stored] = await take(ledger.tail(0, new AbortController().signal), 1);
    await using rogue = connectNats(server.url);
    await rogue.connected(AbortSignal.timeout(10_000));
    const forged = { ...stored?.record, seq: 2, id: 's-1:2', data: { from: 'rogue', reason: 'b' } };
    await rogue.request(`swm.v1.${ns}.led.s-1`, Buffer.from(JSON.stringify(forged)));
    await expectError(ledger.read('s-1'), 'ledger-corrupt');
    await expectError(ledger.acquire(rootSession('s-1')), 'ledger-corrupt');
  });

  test('what was put in from outside keeps nobody from other sessions, nor an owner from its messages', async () => {
    const ns = freshNamespace();
    const ledger = await openLedgerOn(server, { ns });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    const before = await ledger.position();
    await using rogue = connectNats(server.url);
    await rogue.connected(AbortSignal.timeout(10_000));
    const row = `{"v":1,"prev":"${'0'.repeat(64)}","hash":"${'1'.repeat(64)}"}`;
    await rogue.request(`swm.v1.${ns}.led.s-2`, Buffer.from(row));
    await rogue.request(`swm.v1.${ns}.led.s-3`, Buffer.from('noise'));
    await rogue.request(`swm.v1.${ns}.mbx.s-1.m-0`, Buffer.from('noise'));
    await expectError(ledger.read('s-2'), 'ledger-corrupt');
    await expectError(ledger.read('s-3'), 'ledger-corrupt');
    expect((await ledger.sessions()).map(({ sessionId }) => sessionId)).toEqual(['s-1']);
    expect(await ledger.position()).toBeGreaterThanOrEqual(before);
    await commit(writer, note('b'));
    const all = await take(ledger.tail(0, new AbortController().signal), 2);
    expect(notesOf(all.map(({ record }) => record))).toEqual(['a', 'b']);
    const sender = await openLedgerOn(server, { ns });
    for (const id of ['m-0', 'm-1']) {
      const item = { id, session: 's-1', kind: 'steer', body: {} };
      const sent = sender.post(item, AbortSignal.timeout(20_000));
      expect(await take(ledger.inbox('s-1', AbortSignal.timeout(20_000)), 1)).toEqual([item]);
      await ledger.reply(item, { type: 'accepted', body: 1 });
      expect(await sent).toEqual({ type: 'accepted', body: 1 });
    }
  });

  test('an append to a stream that is full waits until there is room', async () => {
    const own = await startLedgerServer();
    onTestFinished(() => own[Symbol.asyncDispose]());
    const ledger = await openLedgerOn(own, { ns: freshNamespace() });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    await using admin = connectNats(own.url);
    await admin.connected(AbortSignal.timeout(10_000));
    const info = await askJetStream(admin, 'STREAM.INFO.SWM_LED');
    const { config, state } = (info.type === 'answer' ? info.body : {}) as {
      readonly config: object;
      readonly state: { readonly bytes: number };
    };
    await askJetStream(admin, 'STREAM.UPDATE.SWM_LED', { ...config, max_bytes: state.bytes });
    const append = writer.append(1, [note('b')]);
    const look = new AbortController();
    expect(await Promise.race([append, sleep(systemClock, 500, look.signal)])).toBe(true);
    await askJetStream(admin, 'STREAM.UPDATE.SWM_LED', config);
    expect(await append).toMatchObject({ type: 'committed' });
    expect(notesOf(await ledger.read('s-1'))).toEqual(['a', 'b']);
  });

  test('claims and releases are no records: the position and a tail pass them over', async () => {
    const ledger = await openLedgerOn(server, { ns: freshNamespace() });
    const writer = await ledger.acquire(rootSession('s-1'));
    await commit(writer, note('a'));
    const before = await ledger.position();
    await writer.release();
    for (let round = 0; round < 100; round += 1) {
      await (await ledger.acquire(rootSession(`s-${round}`))).release();
    }
    expect(await ledger.position()).toBe(before);
    const again = await ledger.acquire(rootSession('s-1'));
    await commit(again, note('b'));
    const all = await take(ledger.tail(0, new AbortController().signal), 2);
    expect(notesOf(all.map(({ record }) => record))).toEqual(['a', 'b']);
    expect(all.at(-1)?.pos).toBe(await ledger.position());
  });

  test('namespaces of one server do not see each other', async () => {
    const [one, two] = [freshNamespace(), freshNamespace()];
    const mine = await openLedgerOn(server, { ns: one });
    const theirs = await openLedgerOn(server, { ns: two });
    await commit(await mine.acquire(rootSession('s-1')), note('a'));
    const ref = await mine.putArtifact(Buffer.from('bytes'), 'text/plain');
    expect(await theirs.sessions()).toEqual([]);
    expect(await theirs.position()).toBe(0);
    await expectError(theirs.getArtifact(ref), 'artifact-missing');
    await commit(await theirs.acquire(rootSession('s-1')), note('b'));
    expect(notesOf(await mine.read('s-1'))).toEqual(['a']);
  });

  test('messages of two processes reach the owner and come back, also to who asks again', async () => {
    const ns = freshNamespace();
    const [owner, sender] = [await openLedgerOn(server, { ns }), await openLedgerOn(server, { ns })];
    await commit(await owner.acquire(rootSession('s-1')), note('a'));
    const item = { id: 'm 1', session: 's-1', kind: 'steer', body: { text: 'left' } };
    const sent = sender.post(item, AbortSignal.timeout(20_000));
    const [got] = await take(owner.inbox('s-1', AbortSignal.timeout(20_000)), 1);
    expect(got).toEqual(item);
    await owner.reply(item, { type: 'accepted', body: 1 });
    expect(await sent).toEqual({ type: 'accepted', body: 1 });
    expect(await sender.post(item, AbortSignal.timeout(20_000))).toEqual({ type: 'accepted', body: 1 });
  });
});
