import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connectNats } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { assertLedgerServer, provisionLedger } from '../../src/nats/ledger-fit.ts';
import { commit, expectError, note, notesOf, rootSession, take } from '../../src/testing/ledger-samples.ts';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

describe('the server of a ledger', () => {
  test.each([
    ['2.12.0', 2],
    ['2.10.21', 0],
    ['2.9.10', 0],
    ['2.12.5', 1],
  ])('NB-17 version %s with level %i is refused, naming both', (version, apiLevel) => {
    expect(() => assertLedgerServer({ version, apiLevel })).toThrow(
      expect.objectContaining({
        code: 'nats-unsuitable',
        message: expect.stringContaining(`${version} with level ${apiLevel}`),
      }),
    );
  });

  test.each(['2.12.1', '2.15.1', '3.0.0', 'devel'])('NB-17 version %s is taken', (version) => {
    expect(() => assertLedgerServer({ version, apiLevel: 2 })).not.toThrow();
  });

  test.skipIf(isNatsMissing('distribution'))('NB-17 an old server is refused before anything', async () => {
    const old = await startNatsServer({ version: 'distribution' });
    onTestFinished(() => old[Symbol.asyncDispose]());
    await expect(jetstreamLedger({ connection: old.url })).rejects.toMatchObject({
      code: 'nats-unsuitable',
      message: expect.stringContaining('2.9.10'),
    });
    await using admin = connectNats(old.url);
    await expectError(provisionLedger(admin), 'nats-unsuitable');
  });
});

describe.skipIf(isNatsMissing())('the streams of a ledger', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('NB-17 opening a ledger makes no stream, and names those that are missing', async () => {
    const empty = await startNatsServer();
    onTestFinished(() => empty[Symbol.asyncDispose]());
    const opening = jetstreamLedger({ connection: empty.url });
    await expect(opening).rejects.toMatchObject({
      code: 'nats-unsuitable',
      message: expect.stringContaining('the stream SWM_LED is missing'),
    });
    await using admin = connectNats(empty.url);
    const reports = await provisionLedger(admin);
    expect(reports.map(({ state }) => state)).toEqual(['created', 'created', 'created', 'created']);
    expect(reports.flatMap(({ differences }) => differences)).toEqual([]);
  });

  test('NB-17 a stream that cannot store a batch whole is refused, naming the setting', async () => {
    const other = await startNatsServer();
    onTestFinished(() => other[Symbol.asyncDispose]());
    await using admin = connectNats(other.url);
    await admin.connected(AbortSignal.timeout(10_000));
    const config = { name: 'SWM_LED', subjects: ['swm.v1.*.led.*'], discard: 'new', allow_direct: true };
    await askJetStream(admin, 'STREAM.CREATE.SWM_LED', { ...config, deny_delete: true });
    await provisionLedger(admin);
    await expect(jetstreamLedger({ connection: other.url })).rejects.toMatchObject({
      code: 'nats-unsuitable',
      message: expect.stringContaining('allow_atomic of the stream SWM_LED'),
    });
  });

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
    await expectError(ledger.sessions(), 'ledger-corrupt');
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
