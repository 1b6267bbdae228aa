import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findSleepers } from '../../src/agent/find-sleepers.ts';
import type { QueuedWake, WorkPool } from '../../src/agent/work-pool.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { ofType } from '../support/run-events.ts';
import { openLedgerOn, startLedgerServer } from './ledger-server.ts';
import { asksThenTells, chain, expectSound, poolWorld, queueOf, type Request, treeOf } from './pool-world.ts';

const WITHIN = { timeout: 20_000, interval: 25 };

/** A lead that has a payer pay, and says so. */
function leadAsksPayer({ toolNames, messages }: Request) {
  const isDone = messages.some(({ role }) => role === 'tool');
  if (toolNames.includes('ask_payer')) {
    return isDone ? reply().text('lead done') : reply().call('ask_payer', { task: 'Pay.' });
  }
  return isDone ? reply().text('paid') : reply().call('pay', { id: 'a' });
}

describe.skipIf(isNatsMissing())('people and children on other workers', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('T27 a person decides on a call of a child from a third process, and all of it goes on', async () => {
    const { runtime, runtimeOf } = await poolWorld(server, leadAsksPayer, (baseURL) =>
      chain(baseURL, ['lead', 'payer'], { needsApproval: true }),
    );
    const third = runtimeOf();
    const run = runtime.run('lead', 'Go.');
    await expect.poll(() => third.approvals.pending({ sessionId: run.sessionId }), WITHIN).toHaveLength(1);
    const [request] = await third.approvals.pending({ sessionId: run.sessionId });
    expect(request?.agentPath).toEqual(['lead', 'payer']);
    await third.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'lead done' });
    await expectSound(runtime, run.sessionId);
    // What it took to ask is the time of the child, not that of who took up its answer.
    const [lead = [], child = []] = await treeOf(runtime, run.sessionId);
    const [asked] = ofType(lead, 'tool.dispatched');
    const [ended] = ofType(child, 'turn.closed');
    const atLeastMs = (ended?.at ?? 0) - (asked?.at ?? 0);
    expect(ofType(lead, 'tool.settled')[0]?.data.durationMs).toBeGreaterThanOrEqual(atLeastMs);
  });

  test('a run that pauses for people says so once only a person can let it go on', async () => {
    const { runtime } = await poolWorld(server, leadAsksPayer, (baseURL) =>
      chain(baseURL, ['lead', 'payer'], { needsApproval: true }),
    );
    const run = runtime.run('lead', 'Go.', { onApproval: 'pause' });
    const result = await run.result;
    expect(result).toMatchObject({ status: 'paused', reason: 'approval', approvals: [{ toolName: 'pay' }] });
    const [request] = result.status === 'paused' ? result.approvals : [];
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    const resumed = runtime.resume('lead', run.sessionId);
    expect(await resumed.result).toMatchObject({ status: 'completed', text: 'lead done' });
  });

  test('T27 a text for a turn that sleeps waits for its calls, and wakes nobody again and again', async () => {
    const { runtime, ns } = await poolWorld(server, leadAsksPayer, (baseURL) =>
      chain(baseURL, ['lead', 'payer'], { needsApproval: true }),
    );
    const run = runtime.run('lead', 'Go.');
    const pending = () => runtime.approvals.pending({ sessionId: run.sessionId });
    await expect.poll(pending, WITHIN).toHaveLength(1);
    // Whether it sleeps behind a place in its records, and knows that its child waits for a person.
    const sleepsBehind = async (seq: number) => {
      const last = (await runtime.sessions.read(run.sessionId)).at(-1);
      const summary = (await runtime.sessions.list()).find(({ sessionId }) => sessionId === run.sessionId);
      const isAsleep = last?.type === 'run.settled' && last.data.pause === 'approval';
      return isAsleep && last.seq > seq && summary?.owned === false;
    };
    await expect.poll(() => sleepsBehind(0), WITHIN).toBe(true);
    const steering = run.steer('Be brief.');
    const texts = async () => ofType(await runtime.sessions.read(run.sessionId), 'steering.accepted');
    await expect.poll(texts, WITHIN).toHaveLength(1);
    // It was woken once for the text.
    const [text] = await texts();
    await expect.poll(() => sleepsBehind(text?.seq ?? 0), WITHIN).toBe(true);
    await using ledger = await openLedgerOn(server, { ns });
    expect(await findSleepers(ledger, 'default', Date.now())).toEqual([]);
    const [request] = await pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'lead done' });
    const [, carrying] = ofType(await runtime.sessions.read(run.sessionId), 'step.opened');
    expect(await steering).toEqual({ delivered: true, stepId: carrying?.step });
  });

  test('a decision reaches the workers that have the turn, whichever pool its runtime gives runs to', async () => {
    const { runtime, ns, agents } = await poolWorld(
      server,
      ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? reply().text('paid')
          : reply().call('pay', { id: 'a' }),
      (baseURL) => chain(baseURL, ['payer'], { needsApproval: true }),
    );
    const elsewhere = natsPool({ connection: server.url, ns, pool: 'elsewhere' });
    onTestFinished(() => elsewhere.close());
    const wakes: (string | undefined)[] = [];
    const pool: WorkPool = {
      name: elsewhere.name,
      submit: (run) => elsewhere.submit(run),
      async wake(wake) {
        wakes.push(wake.pool);
        await elsewhere.wake(wake);
      },
      close: () => elsewhere.close(),
    };
    await using third = createRuntime({ ledger: openLedgerOn(server, { ns }), agents, pool });
    const run = runtime.run('payer', 'Go.');
    await expect.poll(() => third.approvals.pending({ sessionId: run.sessionId }), WITHIN).toHaveLength(1);
    await third.approvals.decide(`${run.sessionId}.1.1.0.ask`, { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'paid' });
    expect(wakes.filter((name) => name !== 'default')).toEqual([]);
    expect(await queueOf(server, ns)).toEqual([]);
  });

  test('a runtime without a pool says which workers have a turn that sleeps', async () => {
    const { runtime, ns } = await poolWorld(
      server,
      () => reply().call('pay', { id: 'a' }),
      (baseURL) => chain(baseURL, ['payer'], { needsApproval: true }),
    );
    await using third = createRuntime({ ledger: openLedgerOn(server, { ns }) });
    const run = runtime.run('payer', 'Go.', { onApproval: 'pause' });
    await run.result;
    const isOwned = async () => (await runtime.sessions.list())[0]?.owned;
    await expect.poll(isOwned, WITHIN).toBe(false);
    const cancelled = third.sessions.cancel(run.sessionId, 'enough');
    await expect(cancelled).rejects.toMatchObject({
      code: 'turn-not-open',
      message: expect.stringContaining('workers of the pool default'),
    });
  });

  test('T27 a cancelled run ends its child wherever it is', async () => {
    const entered = createGate();
    const { runtime } = await poolWorld(
      server,
      ({ toolNames }) =>
        toolNames.includes('ask_payer')
          ? reply().call('ask_payer', { task: 'Pay.' })
          : reply().call('pay', { id: 'a' }),
      (baseURL) =>
        chain(baseURL, ['lead', 'payer'], {
          act: (signal) => {
            entered.open();
            return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
          },
        }),
      2,
    );
    const run = runtime.run('lead', 'Go.');
    await entered.pass();
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    const sessions = await runtime.sessions.list({ root: run.sessionId });
    expect(sessions.map(({ openTurn }) => openTurn)).toEqual([undefined, undefined]);
    await expectSound(runtime, run.sessionId);
  });

  test('T27 a child that has not begun when its run is cancelled never begins', async () => {
    const { runtime, ns, provider, agents, runWorker } = await poolWorld(
      server,
      asksThenTells('payer'),
      (baseURL) => chain(baseURL, ['lead', 'payer']),
      0,
    );
    const queue = natsPool({ connection: server.url, ns });
    // The entry of the child is held back, as if its worker were slow.
    const held: QueuedWake[] = [];
    await runWorker(
      createRuntime({
        ledger: openLedgerOn(server, { ns }),
        agents,
        pool: {
          name: queue.name,
          submit: (run) => queue.submit(run),
          async wake(wake) {
            if (wake.cause === 'intended') held.push(wake);
            else await queue.wake(wake);
          },
          close: () => queue.close(),
        },
      }),
    );
    const run = runtime.run('lead', 'Go.');
    await expect
      .poll(async () => ofType(await runtime.sessions.read(run.sessionId), 'turn.paused').length, WITHIN)
      .toBe(1);
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    const late = natsPool({ connection: server.url, ns });
    onTestFinished(() => late.close());
    for (const wake of held) await late.wake(wake);
    await expect.poll(() => queueOf(server, ns), WITHIN).toEqual([]);
    const [, child = []] = await treeOf(runtime, run.sessionId);
    expect(child.map(({ type }) => type)).toEqual(['run.settled']);
    expect(provider.requests).toHaveLength(1);
    await expectSound(runtime, run.sessionId);
  });

  test('T27 a text and a cancellation from a third process reach a child where it is', async () => {
    const entered = createGate();
    const leave = createGate();
    const { runtime, runtimeOf, provider } = await poolWorld(
      server,
      ({ toolNames, messages }) => {
        const isDone = messages.some(({ role }) => role === 'tool');
        if (toolNames.includes('ask_payer')) {
          return isDone ? reply().text('lead done') : reply().call('ask_payer', { task: 'Pay.' });
        }
        return isDone ? reply().text('Pa').stall() : reply().call('pay', { id: 'a' });
      },
      (baseURL) =>
        chain(baseURL, ['lead', 'payer'], {
          act: async () => {
            entered.open();
            await leave.pass();
          },
        }),
      2,
    );
    const third = runtimeOf();
    const run = runtime.run('lead', 'Go.');
    await entered.pass();
    const child = (await third.sessions.list({ root: run.sessionId }))[1]?.sessionId ?? '';
    await third.sessions.steer(child, 'Turn left.');
    leave.open();
    await expect.poll(() => JSON.stringify(provider.requests.at(-1)?.body), WITHIN).toContain('Turn left.');
    await third.sessions.cancel(child, 'that is enough');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'lead done' });
    const finished = ofType(await runtime.sessions.read(run.sessionId), 'child.finished')[0]?.data;
    expect(finished).toMatchObject({ status: 'cancelled' });
    await expectSound(runtime, run.sessionId);
  });

  test('a request for approval that nobody decides runs out of time also where its turn sleeps', async () => {
    const { runtime, ns } = await poolWorld(
      server,
      ({ toolNames, messages }) => {
        const isDone = messages.some(({ role }) => role === 'tool');
        if (toolNames.includes('ask_payer')) {
          return isDone ? reply().text('lead done') : reply().call('ask_payer', { task: 'Pay.' });
        }
        return isDone ? reply().text('nobody said') : reply().call('pay', { id: 'a' });
      },
      (baseURL) => chain(baseURL, ['lead', 'payer'], { needsApproval: true, expiryMs: 500 }),
    );
    expect(ns).not.toBe('');
    const run = runtime.run('lead', 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'lead done' });
    const [, child = []] = await treeOf(runtime, run.sessionId);
    expect(ofType(child, 'permission.expired')).toHaveLength(1);
    await expectSound(runtime, run.sessionId);
  });

  test('a text for a run that was paused on request waits until it is resumed', async () => {
    const entered = createGate();
    const leave = createGate();
    const { runtime, provider } = await poolWorld(
      server,
      ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? reply().text('paid')
          : reply().call('pay', { id: 'a' }),
      (baseURL) =>
        chain(baseURL, ['payer'], {
          act: async () => {
            entered.open();
            await leave.pass();
          },
        }),
    );
    const run = runtime.run('payer', 'Go.');
    await entered.pass();
    await runtime.sessions.pause(run.sessionId);
    leave.open();
    expect(await run.result).toMatchObject({ status: 'paused', reason: 'requested' });
    await runtime.sessions.steer(run.sessionId, 'Turn left.');
    expect(provider.requests).toHaveLength(1);
    const resumed = runtime.resume('payer', run.sessionId);
    expect(await resumed.result).toMatchObject({ status: 'completed', text: 'paid' });
    expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain('Turn left.');
    await expectSound(runtime, run.sessionId);
  });

  test('a run that is given up by somebody else ends for who waits for it', async () => {
    const { runtime, runtimeOf } = await poolWorld(
      server,
      () => reply().call('pay', { id: 'a' }),
      (baseURL) => chain(baseURL, ['payer'], { needsApproval: true }),
    );
    const run = runtime.run('payer', 'Go.');
    await expect.poll(() => runtime.approvals.pending(), WITHIN).toHaveLength(1);
    await runtimeOf().abandon(run.sessionId, 'nobody needs it');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'nobody needs it' });
    await expectSound(runtime, run.sessionId);
  });

  test('a text for a run that waits for a person is in the request after the decision', async () => {
    const { runtime, provider } = await poolWorld(
      server,
      ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? reply().text('paid')
          : reply().call('pay', { id: 'a' }),
      (baseURL) => chain(baseURL, ['payer'], { needsApproval: true }),
    );
    const run = runtime.run('payer', 'Go.');
    await expect.poll(() => runtime.approvals.pending(), WITHIN).toHaveLength(1);
    const steered = run.steer('Turn left.');
    await expect
      .poll(
        async () => ofType(await runtime.sessions.read(run.sessionId), 'steering.accepted').length,
        WITHIN,
      )
      .toBe(1);
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect(await steered).toMatchObject({ delivered: true });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'paid' });
    expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain('Turn left.');
    await expectSound(runtime, run.sessionId);
  });
});
