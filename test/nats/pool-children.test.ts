import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { AnyAgent } from '../../src/agent/define-agent.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { startWorker } from '../../src/nats/worker.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { ofType } from '../support/run-events.ts';
import { messagesOf, openLedgerOn, startLedgerServer } from './ledger-server.ts';
import { asksThenTells, chain, expectSound, poolWorld, treeOf } from './pool-world.ts';

const WITHIN = { timeout: 20_000, interval: 25 };

describe.skipIf(isNatsMissing())('children on other workers', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('NB-14 a parent and its child share a pool of one: the parent leaves its place meanwhile', async () => {
    const { runtime, ns } = await poolWorld(server, asksThenTells('payer'), (baseURL) =>
      chain(baseURL, ['lead', 'payer']),
    );
    const result = await runtime.run('lead', 'Go.', { sessionId: 's-root' }).result;
    expect(result).toMatchObject({
      status: 'completed',
      text: 'lead done',
      steps: 2,
      toolCalls: 1,
      usage: {
        byAgent: { lead: { inputTokens: 20 }, payer: { inputTokens: 10 } },
        total: { inputTokens: 30 },
      },
    });
    const records = await runtime.sessions.read('s-root');
    expect(ofType(records, 'turn.paused').map(({ data }) => data.reason)).toEqual(['children']);
    expect(ofType(records, 'tool.settled')[0]?.data.output).toEqual({ type: 'text', text: 'payer done' });
    const finished = ofType(records, 'child.finished')[0];
    expect(finished?.data).toMatchObject({ status: 'completed', steps: 1 });
    // One more than a run of one step: it may have been begun before, so its session is claimed.
    expect(await messagesOf(server, ns, finished?.data.child ?? '')).toBe(5);
    await expectSound(runtime, 's-root');
  });

  test('a run of one step is four messages: the end of its turn tells what became of it', async () => {
    const { runtime, ns } = await poolWorld(server, asksThenTells('payer'), (baseURL) =>
      chain(baseURL, ['payer']),
    );
    const run = runtime.run('payer', 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'payer done' });
    expect(await messagesOf(server, ns, run.sessionId)).toBe(4);
    await expectSound(runtime, run.sessionId);
  });

  test('NB-14 three levels end in a pool of one', async () => {
    const { runtime } = await poolWorld(server, asksThenTells('middle', 'payer'), (baseURL) =>
      chain(baseURL, ['lead', 'middle', 'payer']),
    );
    const run = runtime.run('lead', 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'lead done' });
    const sessions = await runtime.sessions.list({ root: run.sessionId });
    expect(sessions.map(({ agent, openTurn }) => [agent, openTurn])).toEqual([
      ['lead', undefined],
      ['middle', undefined],
      ['payer', undefined],
    ]);
    await expectSound(runtime, run.sessionId);
  });

  test('several children of a step are at work at once, each once', async () => {
    const gates = [createGate(), createGate()];
    let asked = 0;
    const { runtime } = await poolWorld(
      server,
      ({ toolNames, messages }) => {
        if (!toolNames.includes('ask_payer')) {
          const gate = gates[asked];
          asked += 1;
          return gate === undefined ? reply().text('late') : reply().wait(gate).text('paid');
        }
        const isDone = messages.some(({ role }) => role === 'tool');
        return isDone
          ? reply().text('lead done')
          : reply().call('ask_payer', { task: 'One.' }).call('ask_payer', { task: 'Two.' });
      },
      (baseURL) => chain(baseURL, ['lead', 'payer']),
      2,
    );
    const run = runtime.run('lead', 'Go.');
    await Promise.all(gates.map(({ reached }) => reached));
    for (const gate of gates) gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'lead done', toolCalls: 2 });
    expect(asked).toBe(2);
    await expectSound(runtime, run.sessionId);
  });

  test('what holds for a child above holds on its worker: policies, tools and levels', async () => {
    const { runtime } = await poolWorld(
      server,
      ({ toolNames, messages }) => {
        const isDone = messages.some(({ role }) => role === 'tool');
        const asks = ['middle', 'payer'].find((name) => toolNames.includes(`ask_${name}`));
        if (isDone) return reply().text('done');
        return asks === undefined
          ? reply().call('pay', { id: 'a' })
          : reply().call(`ask_${asks}`, { task: 'x' });
      },
      (baseURL) => chain(baseURL, ['lead', 'middle', 'payer'], { deny: 'pay' }),
      2,
    );
    const denied = runtime.run('lead', 'Go.');
    expect(await denied.result).toMatchObject({ status: 'completed' });
    const [, , payer = []] = await treeOf(runtime, denied.sessionId);
    expect(ofType(payer, 'tool.refused').map(({ data }) => data.code)).toEqual(['denied']);
    expect(ofType(payer, 'session.opened')[0]?.data).toMatchObject({
      agentPath: ['lead', 'middle', 'payer'],
      depth: 2,
    });
    const shallow = runtime.run('lead', 'Go.', { budget: { depth: 1 } });
    expect(await shallow.result).toMatchObject({ status: 'completed' });
    const [, middle = [], nobody] = await treeOf(runtime, shallow.sessionId);
    expect(nobody).toBeUndefined();
    expect(JSON.stringify(ofType(middle, 'tool.settled')[0]?.data.output)).toContain('depth-limit');
  });

  test('wakes that are repeated, late or for nothing change nothing', async () => {
    const { runtime, ns } = await poolWorld(server, asksThenTells('middle', 'payer'), (baseURL) =>
      chain(baseURL, ['lead', 'middle', 'payer']),
    );
    const pool = natsPool({ connection: server.url, ns });
    onTestFinished(() => pool.close());
    const run = runtime.run('lead', 'Go.');
    let isOver = false;
    const result = run.result.finally(() => {
      isOver = true;
    });
    for (let at = 0; !isOver; at += 1) {
      for (const { sessionId: session } of await runtime.sessions.list()) {
        await pool.wake({ session, cause: `noise ${at}` });
        await pool.wake({ session, child: 's-nobody', cause: `noise child ${at}` });
      }
    }
    expect(await result).toMatchObject({ status: 'completed', text: 'lead done' });
    const tree = await treeOf(runtime, run.sessionId);
    expect(tree.flatMap((records) => ofType(records, 'turn.closed'))).toHaveLength(3);
    expect(tree.flatMap((records) => ofType(records, 'child.finished'))).toHaveLength(2);
    await expectSound(runtime, run.sessionId);
  });

  test('a hard budget is split: children at once cannot spend it twice', async () => {
    let steps = 0;
    const { runtime } = await poolWorld(
      server,
      ({ toolNames, messages }) => {
        if (toolNames.includes('ask_payer')) {
          const isDone = messages.some(({ role }) => role === 'tool');
          const asks = reply().call('ask_payer', { task: '1' }).call('ask_payer', { task: '2' });
          return isDone ? reply().text('lead done') : asks;
        }
        steps += 1;
        return reply().call('pay', { id: `${steps}` });
      },
      (baseURL) => chain(baseURL, ['lead', 'payer']),
      2,
    );
    const run = runtime.run('lead', 'Go.', { budget: { steps: 8 } });
    const result = await run.result;
    expect(result).toMatchObject({ status: 'completed', text: 'lead done' });
    // One for the first step of the parent; a third of the other seven each for its children and itself.
    expect(steps).toBe(4);
    await expectSound(runtime, run.sessionId);
  });

  test("what a child did not use of its share is the run's again", async () => {
    let own = 0;
    const { runtime } = await poolWorld(
      server,
      ({ toolNames }) => {
        if (!toolNames.includes('ask_payer')) return reply().text('paid');
        own += 1;
        return reply().call('ask_payer', { task: `${own}` });
      },
      (baseURL) => chain(baseURL, ['lead', 'payer']),
    );
    const run = runtime.run('lead', 'Go.', { budget: { steps: 9 } });
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'step-limit' } });
    // Each time half of what is left is the child's, which takes one step of it: nothing is lost but the last.
    const tree = await treeOf(runtime, run.sessionId);
    const steps = tree.flatMap((records) => ofType(records, 'step.opened')).length;
    expect(steps).toBe(9);
    await expectSound(runtime, run.sessionId);
  });

  test('a child whose definition is another one where it is to run fails, named', async () => {
    const { runtime, provider, ns } = await poolWorld(
      server,
      asksThenTells('payer'),
      (baseURL) => chain(baseURL, ['lead', 'payer']),
      0,
    );
    const [lead, payer] = chain(provider.baseURL, ['lead', 'payer'], { instructions: 'Other.' });
    const agents = { lead: lead as AnyAgent, payer: payer as AnyAgent };
    const pool = natsPool({ connection: server.url, ns });
    const other = createRuntime({ ledger: openLedgerOn(server, { ns }), agents, pool });
    const worker = await startWorker({ connection: server.url, ns, runtime: other });
    onTestFinished(async () => {
      await worker.close();
      await other.close();
    });
    const result = await runtime.run('lead', 'Go.').result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'definition-mismatch' } });
    await expect.poll(() => worker.counts(), WITHIN).toMatchObject({ dead: 1, worked: 0 });
    expect(provider.requests).toHaveLength(0);
  });
});
