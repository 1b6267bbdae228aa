import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findSleepers, type SleeperMemory } from '../../src/agent/find-sleepers.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { connectNats, type NatsClient } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { enqueueTurn } from '../support/enqueue.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { ofType } from '../support/run-events.ts';
import { startCuttingProxy } from './cutting-proxy.ts';
import { openLedgerOn, startLedgerServer } from './ledger-server.ts';
import { asksThenTells, chain, expectSound, poolWorld, queueOf, type Request } from './pool-world.ts';

const WITHIN = { timeout: 20_000, interval: 25 };

describe.skipIf(isNatsMissing())('runs that come twice, or in between', () => {
  let server: NatsServer;
  let client: NatsClient;
  beforeAll(async () => {
    server = await startLedgerServer();
    client = connectNats(server.url);
    await client.connected(AbortSignal.timeout(10_000));
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  const pays = ({ messages }: Request) =>
    messages.some(({ role }) => role === 'tool') ? reply().text('done') : reply().call('pay', { id: 'a' });

  const told = async (runtime: Runtime, session: string) =>
    ofType(await runtime.sessions.read(session), 'run.settled').map(({ data }) => data.status);

  async function requestOf(runtime: Runtime, session: string) {
    const pending = () => runtime.approvals.pending({ sessionId: session });
    await expect.poll(pending, WITHIN).toHaveLength(1);
    const [request] = await pending();
    await expect.poll(() => told(runtime, request?.sessionId ?? ''), WITHIN).toContain('paused');
    return { id: request?.id ?? '', sessionId: request?.sessionId ?? '' };
  }

  test('T27 whoever gives a run again is told what became of it, also long after', async () => {
    const gate = createGate();
    const { runtime, runtimeOf } = await poolWorld(
      server,
      () => reply().wait(gate).text('once'),
      (baseURL) => chain(baseURL, ['payer']),
    );
    const again = (other: Runtime) => other.run('payer', 'Go.', { sessionId: 's-1', runId: 'r-1' });
    const first = again(runtime);
    await gate.reached;
    const meanwhile = again(runtimeOf());
    gate.open();
    const results = [await first.result, await meanwhile.result, await again(runtimeOf()).result];
    // The server does not know its id any more.
    await askJetStream(client, 'STREAM.PURGE.SWM_Q');
    results.push(await again(runtimeOf()).result);
    for (const result of results) expect(result).toMatchObject({ status: 'completed', text: 'once' });
    expect(await told(runtime, 's-1')).toEqual(['completed']);
  });

  test('T27 a run whose acknowledgement is lost on its way is run, once, and told', async () => {
    const { provider, ns, agents, runtime } = await poolWorld(
      server,
      () => reply().text('once'),
      (baseURL) => chain(baseURL, ['payer']),
    );
    const proxy = await startCuttingProxy(server.port);
    const pool = natsPool({ connection: proxy.url, ns });
    const giver = createRuntime({ ledger: openLedgerOn(server, { ns }), agents, pool });
    onTestFinished(() => giver.close());
    const cut = proxy.loseAnswerTo(`swm.v1.${ns}.q.turn.`);
    const run = giver.run('payer', 'Go.', {});
    await cut.lost;
    expect(await run.result).toMatchObject({ status: 'completed', text: 'once' });
    expect(await told(runtime, run.sessionId)).toEqual(['completed']);
    expect(provider.requests).toHaveLength(1);
  });

  test('T27 whoever gives a run again that waits for a person hears that it does', async () => {
    const { runtime, runtimeOf } = await poolWorld(server, pays, (baseURL) =>
      chain(baseURL, ['payer'], { needsApproval: true }),
    );
    const options = { sessionId: 's-1', runId: 'r-1', onApproval: 'pause' } as const;
    const first = runtime.run('payer', 'Go.', options);
    expect(await first.result).toMatchObject({ status: 'paused', reason: 'approval' });
    const again = runtimeOf().run('payer', 'Go.', options);
    expect(await again.result).toMatchObject({ status: 'paused', approvals: [{ toolName: 'pay' }] });
    const waits = runtimeOf().run('payer', 'Go.', { ...options, onApproval: 'wait' });
    const { id } = await requestOf(runtime, 's-1');
    await runtime.approvals.decide(id, { decision: 'approve' });
    expect(await waits.result).toMatchObject({ status: 'completed', text: 'done' });
    await expectSound(runtime, 's-1');
  });

  test('a run that waits for a person outlives one that comes meanwhile, and its request runs out of time', async () => {
    const { runtime } = await poolWorld(server, pays, (baseURL) =>
      chain(baseURL, ['payer'], { needsApproval: true, expiryMs: 1_500 }),
    );
    const first = runtime.run('payer', 'Go.', { sessionId: 's-1' });
    await requestOf(runtime, 's-1');
    const second = runtime.run('payer', 'And?', { sessionId: 's-1' });
    expect(await second.result).toMatchObject({ status: 'failed', error: { kind: 'turn-open' } });
    expect(await first.result).toMatchObject({ status: 'completed', text: 'done' });
    await expectSound(runtime, 's-1');
  });

  test('a run whose session is wrongly held to be new waits for its turn, and goes on with what is there', async () => {
    const { runtime, ns, provider } = await poolWorld(
      server,
      () => reply().text('done'),
      (baseURL) => chain(baseURL, ['payer']),
    );
    await runtime.run('payer', 'First.', { sessionId: 's-1', runId: 'r-1' }).result;
    const again = { ns, run: 'r-2', session: 's-1', isNew: true, target: 'payer', input: 'Second.' };
    await expect.poll(() => queueOf(server, ns), WITHIN).toEqual([]);
    await enqueueTurn(client, again);
    await expect.poll(() => told(runtime, 's-1'), WITHIN).toEqual(['completed', 'completed']);
    const texts = JSON.stringify(provider.requests.at(-1)?.body);
    expect(texts).toContain('First.');
    expect(texts).toContain('Second.');
    await expectSound(runtime, 's-1');
  });

  test('a run of a new session that was ended before a worker had it never begins', async () => {
    const { runtime, ns, provider, work } = await poolWorld(
      server,
      () => reply().text('done'),
      (baseURL) => chain(baseURL, ['payer']),
      0,
    );
    const { run, session } = { run: 'r-1', session: 's-1' };
    const ledger = await openLedgerOn(server, { ns });
    const writer = await ledger.acquire({ session, root: session, agent: 'payer' });
    const usage = { total: {}, byAgent: {}, reported: {} };
    const data = { run, status: 'cancelled', usage, steps: 0, toolCalls: 0 } as const;
    await writer.appendLast(0, [{ type: 'run.settled', data }]);
    await enqueueTurn(client, { ns, run, session, isNew: true, target: 'payer', input: 'Go.' });
    await work();
    await expect.poll(() => queueOf(server, ns), WITHIN).toEqual([]);
    expect(provider.requests).toHaveLength(0);
    expect(await told(runtime, session)).toEqual(['cancelled']);
  });

  test('who sleeps is read once, and again when there is a new fact or its time is up', async () => {
    const { runtime, ns } = await poolWorld(server, pays, (baseURL) =>
      chain(baseURL, ['payer'], { needsApproval: true, expiryMs: 60_000 }),
    );
    const run = runtime.run('payer', 'Go.', { sessionId: 's-1' });
    const { id } = await requestOf(runtime, 's-1');
    await using ledger = await openLedgerOn(server, { ns });
    let reads = 0;
    const counted: Pick<Ledger, 'read' | 'listOpen' | 'head'> = {
      read(session) {
        reads += 1;
        return ledger.read(session);
      },
      listOpen: () => ledger.listOpen(),
      head: (session) => ledger.head(session),
    };
    const memory: SleeperMemory = new Map();
    const look = (now = Date.now()) => findSleepers(counted as Ledger, 'default', now, memory);
    const owned = async () => (await ledger.sessions())[0]?.owned;
    await expect.poll(owned, WITHIN).toBe(false);
    expect(await look()).toEqual([]);
    const first = reads;
    expect(first).toBeGreaterThan(0);
    expect(await look()).toEqual([]);
    expect(reads).toBe(first);
    const due = Date.now() + 60_000;
    expect(await look(due)).toMatchObject([{ session: 's-1' }]);
    expect(reads).toBeGreaterThan(first);
    await runtime.approvals.decide(id, { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(await look()).toEqual([]);
    expect(memory.size).toBe(0);
  });

  test('who is woken and does not stir is woken again, ever more seldom', async () => {
    const { runtime, ns } = await poolWorld(server, pays, (baseURL) =>
      chain(baseURL, ['payer'], { needsApproval: true, expiryMs: 60_000 }),
    );
    runtime.run('payer', 'Go.', { sessionId: 's-1' });
    await requestOf(runtime, 's-1');
    await using ledger = await openLedgerOn(server, { ns });
    await expect.poll(async () => (await ledger.sessions())[0]?.owned, WITHIN).toBe(false);
    const memory: SleeperMemory = new Map();
    const due = Date.now() + 60_000;
    const wokenAt = [];
    for (let afterMs = 0; afterMs <= 160_000; afterMs += 5_000) {
      const woken = await findSleepers(ledger, 'default', due + afterMs, memory);
      if (woken.length > 0) wokenAt.push(afterMs);
    }
    expect(wokenAt).toEqual([0, 5_000, 15_000, 35_000, 75_000, 155_000]);
    const late = due + 10 * 3_600_000;
    expect(await findSleepers(ledger, 'default', late, memory)).toHaveLength(1);
    expect(await findSleepers(ledger, 'default', late + 600_000, memory)).toHaveLength(1);
  });

  test('a run that somebody gives to the session of a child is refused, and ends no child', async () => {
    const { runtime } = await poolWorld(
      server,
      (request) =>
        request.toolNames.includes('ask_payer') ? asksThenTells('payer')(request) : pays(request),
      (baseURL) => chain(baseURL, ['lead', 'payer'], { needsApproval: true }),
    );
    const run = runtime.run('lead', 'Go.');
    const { id, sessionId } = await requestOf(runtime, run.sessionId);
    const stranger = runtime.run('payer', 'Mine!', { sessionId });
    expect(await stranger.result).toMatchObject({ status: 'failed', error: { kind: 'child-session' } });
    await runtime.approvals.decide(id, { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'lead done' });
    const [finished] = ofType(await runtime.sessions.read(run.sessionId), 'child.finished');
    expect(finished?.data).toMatchObject({ status: 'completed' });
    await expectSound(runtime, run.sessionId);
  });

  test('a run that has begun is not given up for an entry with another definition', async () => {
    const { runtime, ns } = await poolWorld(server, pays, (baseURL) =>
      chain(baseURL, ['payer'], { needsApproval: true }),
    );
    const run = runtime.run('payer', 'Go.', { sessionId: 's-1', runId: 'r-1' });
    const { id } = await requestOf(runtime, 's-1');
    await askJetStream(client, 'STREAM.PURGE.SWM_Q');
    const newer = { run: 'r-1', session: 's-1', target: 'payer', input: 'Go.', definition: 'newer' };
    await enqueueTurn(client, { ns, ...newer });
    await expect.poll(() => queueOf(server, ns), WITHIN).toEqual([]);
    await runtime.approvals.decide(id, { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'done' });
  });

  test('a run that was paused on request is not gone on with because it is handed out again', async () => {
    const gate = createGate();
    const { runtime, ns } = await poolWorld(
      server,
      ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? reply().text('done')
          : reply().wait(gate).call('pay', { id: 'a' }),
      (baseURL) => chain(baseURL, ['payer']),
    );
    const run = runtime.run('payer', 'Go.', { sessionId: 's-1', runId: 'r-1' });
    await gate.reached;
    run.pause();
    const asked = async () => (await runtime.sessions.read('s-1')).length;
    await expect.poll(asked, WITHIN).toBeGreaterThan(4);
    // The word is with the turn before its step can end.
    await expect.poll(() => pausing(ns), WITHIN).toBe(true);
    gate.open();
    expect(await run.result).toMatchObject({ status: 'paused', reason: 'requested' });
    await askJetStream(client, 'STREAM.PURGE.SWM_Q');
    await enqueueTurn(client, { ns, run: 'r-1', session: 's-1', target: 'payer', input: 'Go.' });
    await expect.poll(() => queueOf(server, ns), WITHIN).toEqual([]);
    expect(ofType(await runtime.sessions.read('s-1'), 'turn.resumed')).toEqual([]);
    expect(await runtime.resume('payer', 's-1').result).toMatchObject({ status: 'completed', text: 'done' });
  });

  /** Whether the owner of s-1 has answered a message. */
  async function pausing(ns: string): Promise<boolean> {
    const question = { last_by_subj: `swm.v1.${ns}.mbx.s-1.*` };
    const answer = await askJetStream(client, 'STREAM.MSG.GET.SWM_MBX', question);
    if (answer.type === 'fault') return false;
    const { message } = answer.body as { readonly message: { readonly data: string } };
    return Buffer.from(message.data, 'base64').toString('utf8').includes('answered');
  }
});
