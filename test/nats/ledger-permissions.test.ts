import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { connectNats } from '../../src/nats/client.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { provision } from '../../src/nats/provision.ts';
import { startWorker } from '../../src/nats/worker.ts';
import { createRuntime } from '../../src/runtime.ts';
import { commit, note, notesOf, rootSession, take } from '../../src/testing/ledger-samples.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { enqueueTurn } from '../support/enqueue.ts';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';

describe.skipIf(isNatsMissing())('a ledger under the users of nats.conf', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startNatsServer({ conf: 'project' });
    await using provisioner = connectNats(server.urlOf('provisioner'));
    expect((await provision(provisioner, { ledger: true })).verdict).toBe('ready');
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('NB-10 a worker can do all that a ledger does', async () => {
    const connection = server.urlOf('worker');
    await using ledger = await jetstreamLedger({ connection });
    await using other = await jetstreamLedger({ connection });
    const writer = await ledger.acquire(rootSession('s-1'));
    const tailed = take(other.tail(0, AbortSignal.timeout(20_000)), 3);
    await commit(writer, note('a'));
    await commit(writer, note('b'), note('c'));
    expect(notesOf((await tailed).map(({ record }) => record))).toEqual(['a', 'b', 'c']);
    expect(notesOf(await other.read('s-1'))).toEqual(['a', 'b', 'c']);
    expect(await other.sessions()).toMatchObject([{ sessionId: 's-1', owned: true }]);
    expect(await other.position()).toBe((await tailed).at(-1)?.pos);
    await ledger.moveCursor('bus', 3);
    expect(await other.cursor('bus')).toBe(3);
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
    const ref = await ledger.putArtifact(bytes, 'application/octet-stream');
    expect(await other.getArtifact(ref)).toEqual(bytes);
    const item = { id: 'm-1', session: 's-1', kind: 'steer', body: null };
    const sent = other.post(item, AbortSignal.timeout(20_000));
    await take(ledger.inbox('s-1', AbortSignal.timeout(20_000)), 1);
    await ledger.reply(item, { type: 'accepted', body: null });
    expect(await sent).toEqual({ type: 'accepted', body: null });
    await writer.release();
    expect((await other.acquire(rootSession('s-1'))).epoch).toBe(2);
  });

  it('NB-10 a worker can queue turns and work on them', async () => {
    const provider = await scriptedServer({ script: [reply().text('Done.')] });
    onTestFinished(() => provider.close());
    const clerk = defineAgent({
      name: 'clerk',
      instructions: 'Answer.',
      model: openaiCompatible({ baseURL: provider.baseURL, model: 'scripted' }),
    });
    const connection = server.urlOf('worker');
    await using client = connectNats(connection);
    await client.connected(AbortSignal.timeout(10_000));
    const ledger = await jetstreamLedger({ connection: client });
    const agents = { clerk };
    await using runtime = createRuntime({ ledger, agents });
    await using worker = await startWorker({ connection: client, runtime });
    const turn = { run: 'r-1', session: 's-q', target: 'clerk', input: 'Go.' };
    expect(await enqueueTurn(client, turn)).toEqual({ type: 'queued', isRepeated: false });
    await expect.poll(() => worker.counts(), { timeout: 20_000 }).toMatchObject({ worked: 1 });
    expect(
      await enqueueTurn(client, { ...turn, run: 'r-2', session: 's-q2', target: 'nobody' }),
    ).toMatchObject({
      type: 'queued',
    });
    await expect.poll(() => worker.counts(), { timeout: 20_000 }).toMatchObject({ dead: 1 });
  });

  it('NB-10 a worker hears what is passed on of a session, and can pass nothing on itself', async () => {
    const connection = connectNats(server.urlOf('worker'));
    onTestFinished(() => connection.close());
    const ledger = await jetstreamLedger({ connection });
    onTestFinished(() => ledger.close());
    const passed = Promise.withResolvers<string>();
    connection.subscribe('swm.v1.default.rec.s-rec', ({ header }) =>
      passed.resolve(header('Nats-Subject') ?? ''),
    );
    await ledger.acquire(rootSession('s-rec'));
    expect(await passed.promise).toBe('swm.v1.default.led.s-rec');
    expect(connection.state.message).toBeUndefined();
    connection.publish('swm.v1.default.rec.s-rec', new Uint8Array());
    await connection.flush();
    await expect.poll(() => connection.state.message).toContain('Permissions Violation');
  });

  it.each(['observer', 'operator', 'approver'])('NB-10 an %s cannot open a ledger', async (user) => {
    const opening = jetstreamLedger({ connection: server.urlOf(user) });
    await expect(opening).rejects.toMatchObject({ code: expect.stringMatching(/^nats-/) });
  });

  it.each([
    ['STREAM.PURGE.SWM_LED'],
    ['STREAM.DELETE.SWM_LED'],
    ['STREAM.MSG.DELETE.SWM_LED'],
    ['STREAM.UPDATE.SWM_LED'],
    ['CONSUMER.CREATE.SWM_LED.c1.swm.v1.other.led.*'],
  ])('NB-10 a worker is refused %s', async (api) => {
    await using worker = connectNats(server.urlOf('worker'));
    await worker.connected(AbortSignal.timeout(10_000));
    worker.publish(`$JS.API.${api}`, new Uint8Array());
    await worker.flush();
    await expect.poll(() => worker.state.message).toContain('Permissions Violation');
  });
});
