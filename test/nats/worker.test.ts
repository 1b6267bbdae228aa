import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { connectNats, type NatsClient } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { violationsOf } from '../invariants/session.ts';
import { startProgram } from '../support/child-process.ts';
import { enqueueTurn } from '../support/enqueue.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { ofType } from '../support/run-events.ts';
import { faultsIn } from './bus.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';
import { storedEvents } from './stored-events.ts';

const WITHIN = { timeout: 40_000, interval: 50 };

describe.skipIf(isNatsMissing())('workers', () => {
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

  async function providerOf(...script: ReturnType<typeof reply>[]) {
    const provider = await scriptedServer({ script });
    onTestFinished(() => provider.close());
    return provider;
  }

  const start = (ns: string, baseURL: string, manner = '') =>
    startProgram('programs/queue-worker.ts', [`${server.url}#${ns}`, baseURL, manner]);

  const enqueue = (ns: string, session: string, run: string, input = 'Go.') =>
    enqueueTurn(client, { ns, session, run, target: 'payer', input });

  async function closedTurns(ledger: Ledger, session: string): Promise<readonly LedgerRecord[]> {
    return ofType(await ledger.read(session), 'turn.closed');
  }

  async function waiting(ns: string): Promise<unknown> {
    const question = { subjects_filter: `swm.v1.${ns}.q.turn.>` };
    const answer = await askJetStream(client, 'STREAM.INFO.SWM_Q', question);
    return answer.type === 'answer' ? Object.keys(stateIn(answer.body)) : answer;
  }

  test('a turn is queued over a connection that is not up yet', async () => {
    await using fresh = connectNats(server.url);
    expect(fresh.state.type).toBe('connecting');
    const turn = { ns: freshNamespace(), session: 's-1', run: 'r-1', target: 'payer', input: 'Go.' };
    expect(await enqueueTurn(fresh, turn)).toEqual({ type: 'queued', isRepeated: false });
  });

  test('a queued turn is run once, however often it is queued', async () => {
    const ns = freshNamespace();
    const provider = await providerOf(reply().call('pay', { id: 'a' }), reply().text('Paid.'));
    const ledger = await openLedgerOn(server, { ns });
    expect(await enqueue(ns, 's-1', 'r-1')).toEqual({ type: 'queued', isRepeated: false });
    expect(await enqueue(ns, 's-1', 'r-1')).toEqual({ type: 'queued', isRepeated: true });
    expect(await enqueue(ns, 's-1', 'r-2')).toEqual({ type: 'busy' });
    const worker = start(ns, provider.baseURL);
    await worker.said('entered pay a');
    await expect.poll(async () => (await closedTurns(ledger, 's-1')).length, WITHIN).toBe(1);
    await expect.poll(() => waiting(ns), WITHIN).toEqual([]);
    // Beyond the memory of the queue: the ledger knows it.
    await askJetStream(client, 'STREAM.PURGE.SWM_Q');
    await enqueueTurn(client, { ns, session: 's-1', run: 'r-1', target: 'payer', input: 'again' });
    worker.process.kill('SIGTERM');
    await worker.said('drained');
    const records = await ledger.read('s-1');
    expect(ofType(records, 'turn.opened').map(({ data }) => data.run)).toEqual(['r-1']);
    expect(violationsOf({ records })).toEqual([]);
  });

  test('NB-12 the turn of a killed worker is finished by another, no tool entered twice', async () => {
    const ns = freshNamespace();
    const step = reply().call('pay', { id: 'a' });
    const provider = await providerOf(step, reply().text('Pa').stall(), reply().text('Paid.'));
    const ledger = await openLedgerOn(server, { ns });
    await enqueue(ns, 's-1', 'r-1');
    const first = start(ns, provider.baseURL);
    await first.said('entered pay a');
    await expect.poll(() => provider.requests.length, WITHIN).toBe(2);
    const second = start(ns, provider.baseURL);
    await second.said('ready');
    await first.kill();
    const killedAt = performance.now();
    await expect.poll(async () => (await closedTurns(ledger, 's-1')).length, WITHIN).toBe(1);
    // The lease of these workers is 3 s.
    expect(performance.now() - killedAt).toBeLessThan(5_000);
    await expect.poll(() => waiting(ns), WITHIN).toEqual([]);
    await second.kill();
    await expect(second.said('entered')).rejects.toThrow('ended without');
    const records = await ledger.read('s-1');
    expect(ofType(records, 'turn.closed')[0]?.data.status).toBe('completed');
    expect(ofType(records, 'tool.dispatched')).toHaveLength(1);
    expect(violationsOf({ records })).toEqual([]);
  });

  test('NB-01 the events of a killed worker are published by another, in order and each once', async () => {
    const ns = freshNamespace();
    // The bus knows a repeated event by its session, whatever the namespace.
    const session = `s-${ns}`;
    const provider = await providerOf(
      reply().call('pay', { id: 'a' }),
      reply().text('Pa').stall(),
      reply().text('Paid.'),
    );
    const ledger = await openLedgerOn(server, { ns });
    await enqueue(ns, session, 'r-1');
    const first = start(ns, provider.baseURL);
    await expect.poll(() => provider.requests.length, WITHIN).toBe(2);
    await first.kill();
    const second = start(ns, provider.baseURL);
    await expect.poll(async () => (await closedTurns(ledger, session)).length, WITHIN).toBe(1);
    const published = () => storedEvents(server.url, `swm.v1.${ns}.evt.>`);
    await expect.poll(async () => (await published()).at(-1)?.type, WITHIN).toBe('turn.closed');
    await second.kill();
    const events = await published();
    expect(faultsIn(events)).toEqual({ repeated: 0, missing: 0, inverted: 0 });
    const types = new Set(events.map(({ type }) => type));
    expect([...types]).toEqual(expect.arrayContaining(['turn.opened', 'tool.settled', 'turn.resumed']));
  });

  test('NB-14 a parent that asks a child ends in a pool of one', async () => {
    const ns = freshNamespace();
    const provider = await scriptedServer({
      script: ({ messages, toolNames }) => {
        const isDone = messages.some(({ role }) => role === 'tool');
        if (toolNames.includes('ask_payer')) {
          return isDone ? reply().text('All paid.') : reply().call('ask_payer', { task: 'Pay.' });
        }
        return isDone ? reply().text('Paid.') : reply().call('pay', { id: 'a' });
      },
    });
    onTestFinished(() => provider.close());
    const ledger = await openLedgerOn(server, { ns });
    await enqueueTurn(client, { ns, session: 's-1', run: 'r-1', target: 'lead', input: 'Go.' });
    const worker = start(ns, provider.baseURL);
    await worker.said('entered pay a');
    await expect.poll(async () => (await closedTurns(ledger, 's-1')).length, WITHIN).toBe(1);
    const sessions = await ledger.sessions('s-1');
    expect(sessions.map(({ agent, openTurn }) => [agent, openTurn])).toEqual([
      ['lead', undefined],
      ['payer', undefined],
    ]);
  });

  test('NB-14 a parent is woken although the worker died between the end of its child and the wake', async () => {
    const ns = freshNamespace();
    const provider = await scriptedServer({
      script: ({ messages, toolNames }) => {
        const isDone = messages.some(({ role }) => role === 'tool');
        if (!toolNames.includes('ask_payer')) return reply().text('Paid.');
        return isDone ? reply().text('All paid.') : reply().call('ask_payer', { task: 'Pay.' });
      },
    });
    onTestFinished(() => provider.close());
    const ledger = await openLedgerOn(server, { ns });
    await enqueueTurn(client, { ns, session: 's-1', run: 'r-1', target: 'lead', input: 'Go.' });
    const first = start(ns, provider.baseURL, 'die-at-wake');
    await first.ended;
    expect(first.process.signalCode).toBe('SIGKILL');
    expect(await closedTurns(ledger, 's-1')).toEqual([]);
    const second = start(ns, provider.baseURL);
    await expect.poll(async () => (await closedTurns(ledger, 's-1')).length, WITHIN).toBe(1);
    await second.kill();
    // The child was asked once, and nobody asked its model again.
    expect(provider.requests).toHaveLength(3);
    for (const { sessionId } of await ledger.sessions('s-1')) {
      expect(violationsOf({ records: await ledger.read(sessionId) })).toEqual([]);
    }
  });

  test('NB-14 a child is asked for although the worker of its parent died before it was queued', async () => {
    const ns = freshNamespace();
    const provider = await scriptedServer({
      script: ({ messages, toolNames }) => {
        if (!toolNames.includes('ask_payer')) return reply().text('Paid.');
        const asked = messages.filter(({ role }) => role === 'tool').length;
        return asked === 2 ? reply().text('All paid.') : reply().call('ask_payer', { task: `${asked}` });
      },
    });
    onTestFinished(() => provider.close());
    const ledger = await openLedgerOn(server, { ns });
    await enqueueTurn(client, { ns, session: 's-1', run: 'r-1', target: 'lead', input: 'Go.' });
    const first = start(ns, provider.baseURL, 'die-at-second-ask');
    await first.ended;
    expect(ofType(await ledger.read('s-1'), 'child.intended')).toHaveLength(2);
    const second = start(ns, provider.baseURL);
    await expect.poll(async () => (await closedTurns(ledger, 's-1')).length, WITHIN).toBe(1);
    await second.kill();
    expect(ofType(await ledger.read('s-1'), 'child.finished')).toHaveLength(2);
    expect(provider.requests).toHaveLength(5);
    expect(violationsOf({ records: await ledger.read('s-1') })).toEqual([]);
  });

  test('NB-16 a worker that may not drain hands its turns over at once', async () => {
    const ns = freshNamespace();
    const provider = await providerOf(reply().text('Pa').stall(), reply().text('Paid.'));
    const ledger = await openLedgerOn(server, { ns });
    await enqueue(ns, 's-1', 'r-1');
    const first = start(ns, provider.baseURL, 'leave');
    await expect.poll(() => provider.requests.length, WITHIN).toBe(1);
    const second = start(ns, provider.baseURL);
    await second.said('ready');
    first.process.kill('SIGTERM');
    const leftAt = performance.now();
    expect(JSON.parse(await first.said('drained'))).toMatchObject({ worked: 0, returned: 1 });
    await expect.poll(async () => (await closedTurns(ledger, 's-1')).length, WITHIN).toBe(1);
    // The lease is 3 s: nobody waited for it.
    expect(performance.now() - leftAt).toBeLessThan(2_500);
    expect(violationsOf({ records: await ledger.read('s-1') })).toEqual([]);
    await second.kill();
  });

  test('NB-12 a call whose outcome a killed worker took with it is left in doubt', async () => {
    const ns = freshNamespace();
    const provider = await providerOf(reply().call('stall', { id: 'a' }));
    const ledger = await openLedgerOn(server, { ns });
    await enqueue(ns, 's-1', 'r-1');
    const first = start(ns, provider.baseURL);
    await first.said('entered stall a');
    await first.kill();
    const second = start(ns, provider.baseURL);
    const indeterminate = async () => ofType(await ledger.read('s-1'), 'tool.indeterminate').length;
    await expect.poll(indeterminate, WITHIN).toBe(1);
    await expect.poll(() => waiting(ns), WITHIN).toEqual([]);
    await second.kill();
    await expect(second.said('entered')).rejects.toThrow('ended without');
    expect(provider.requests).toHaveLength(1);
  });

  test('NB-13 a worker that stood still past its lease is refused when it wakes, and disturbs nobody', async () => {
    const ns = freshNamespace();
    const late = createGate();
    const provider = await providerOf(
      reply().call('pay', { id: 'a' }),
      reply().wait(late).call('pay', { id: 'zombie' }),
      reply().text('Pa').wait(late).text('id.'),
    );
    const ledger = await openLedgerOn(server, { ns });
    await enqueue(ns, 's-1', 'r-1');
    const zombie = start(ns, provider.baseURL);
    await zombie.said('entered pay a');
    await expect.poll(() => provider.requests.length, WITHIN).toBe(2);
    const heir = start(ns, provider.baseURL);
    await heir.said('ready');
    zombie.process.kill('SIGSTOP');
    // The heir has taken the turn up and waits for its answer, which comes with that of the zombie.
    await expect.poll(() => provider.requests.length, WITHIN).toBe(3);
    zombie.process.kill('SIGCONT');
    late.open();
    await expect.poll(async () => (await closedTurns(ledger, 's-1')).length, WITHIN).toBe(1);
    await expect.poll(() => waiting(ns), WITHIN).toEqual([]);
    zombie.process.kill('SIGTERM');
    expect(JSON.parse(await zombie.said('drained'))).toMatchObject({ worked: 0 });
    await zombie.ended;
    await expect(zombie.said('entered pay zombie')).rejects.toThrow('ended without');
    const records = await ledger.read('s-1');
    expect(ofType(records, 'turn.closed')[0]?.data.status).toBe('completed');
    expect(records.map(({ epoch }) => epoch)).toEqual(records.map(({ epoch }) => epoch).sort());
    expect(violationsOf({ records })).toEqual([]);
  });

  test('NB-15 a turn that kills its workers is given up and is a dead letter', async () => {
    const ns = freshNamespace();
    const provider = await providerOf(reply().text('never'));
    const ledger = await openLedgerOn(server, { ns });
    await enqueue(ns, 's-1', 'r-1', 'poison');
    let deaths = 0;
    const letters = async () => (await ledgerOf(ns)).length;
    while ((await letters()) === 0) {
      const worker = start(ns, provider.baseURL);
      await worker.said('ready');
      await Promise.race([worker.ended, expect.poll(letters, WITHIN).toBe(1)]);
      deaths += worker.process.signalCode === 'SIGKILL' ? 1 : 0;
      expect(deaths).toBeLessThanOrEqual(4);
    }
    expect(deaths).toBeGreaterThan(1);
    const [closed] = ofType(await ledger.read('s-1'), 'turn.closed');
    expect(closed?.data).toMatchObject({ status: 'interrupted', reason: expect.stringContaining('poison') });
    await expect.poll(() => waiting(ns), WITHIN).toEqual([]);
    expect(provider.requests).toHaveLength(0);
  });

  test('NB-15 a child that kills its workers is given up, and its parent goes on without it', async () => {
    const ns = freshNamespace();
    const provider = await scriptedServer({
      script: ({ messages, toolNames }) => {
        if (!toolNames.includes('ask_payer')) return reply().text('never');
        return messages.some(({ role }) => role === 'tool')
          ? reply().text('Nobody paid.')
          : reply().call('ask_payer', { task: 'poison' });
      },
    });
    onTestFinished(() => provider.close());
    const ledger = await openLedgerOn(server, { ns });
    await enqueueTurn(client, { ns, session: 's-1', run: 'r-1', target: 'lead', input: 'Go.' });
    const ended = async () => (await closedTurns(ledger, 's-1')).length;
    let deaths = 0;
    while ((await ended()) === 0) {
      const worker = start(ns, provider.baseURL);
      await worker.said('ready');
      await Promise.race([worker.ended, expect.poll(ended, WITHIN).toBe(1)]);
      deaths += worker.process.signalCode === 'SIGKILL' ? 1 : 0;
      expect(deaths).toBeLessThanOrEqual(4);
    }
    const records = await ledger.read('s-1');
    expect(ofType(records, 'child.finished')[0]?.data).toMatchObject({
      status: 'failed',
      error: { kind: 'poison' },
    });
    expect(ofType(records, 'turn.closed')[0]?.data.status).toBe('completed');
    expect(await ledgerOf(ns)).toHaveLength(1);
    expect(violationsOf({ records })).toEqual([]);
  });

  test('NB-15 a turn that nobody could take up yet is not given up, however often it was handed out', async () => {
    const ns = freshNamespace();
    const provider = await providerOf(reply().text('Paid.'));
    const ledger = await openLedgerOn(server, { ns });
    const holder = await ledger.acquire({ session: 's-1', root: 's-1', agent: 'payer' });
    await enqueue(ns, 's-1', 'r-1');
    const worker = start(ns, provider.baseURL);
    const handedOut = async () => {
      const answer = await askJetStream(client, `CONSUMER.INFO.SWM_Q.pool-${ns}=pdefault`);
      const info = answer.type === 'answer' ? (answer.body as { readonly delivered?: object }) : {};
      return Number(Object(info.delivered).consumer_seq ?? 0);
    };
    await expect.poll(handedOut, WITHIN).toBeGreaterThan(4);
    await holder.release();
    await expect.poll(async () => (await closedTurns(ledger, 's-1')).length, WITHIN).toBe(1);
    expect((await closedTurns(ledger, 's-1'))[0]?.data).toMatchObject({ status: 'completed' });
    await worker.kill();
  });

  test('NB-16 SIGTERM lets the turn under way end and claims nothing new', async () => {
    const ns = freshNamespace();
    const provider = await providerOf(reply().call('slow', { id: 'a' }), reply().text('Paid.'));
    const ledger = await openLedgerOn(server, { ns });
    await enqueue(ns, 's-1', 'r-1');
    const worker = start(ns, provider.baseURL);
    await worker.said('entered slow a');
    worker.process.kill('SIGTERM');
    await enqueue(ns, 's-2', 'r-2');
    expect(JSON.parse(await worker.said('drained'))).toMatchObject({ worked: 1 });
    expect(await worker.ended).toBe(0);
    expect(ofType(await ledger.read('s-1'), 'turn.closed')[0]?.data.status).toBe('completed');
    expect(await waiting(ns)).toHaveLength(1);
    expect(await ledger.read('s-2')).toEqual([]);
    // Given up at once, not after the lease.
    expect((await ledger.acquire({ session: 's-1', root: 's-1', agent: 'payer' })).epoch).toBe(2);
  });

  async function ledgerOf(ns: string): Promise<readonly string[]> {
    const question = { subjects_filter: `swm.v1.${ns}.dlq.>` };
    const answer = await askJetStream(client, 'STREAM.INFO.SWM_DLQ', question);
    return answer.type === 'answer' ? Object.keys(stateIn(answer.body)) : [];
  }
});

/** Subjects of a stream with messages, in an answer to a question for them. */
function stateIn(body: object): object {
  const { state } = body as { readonly state: { readonly subjects?: object } };
  return state.subjects ?? {};
}
