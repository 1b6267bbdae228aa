import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type AnyAgent, defineAgent } from '../../src/agent/define-agent.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { startWorker, type Worker } from '../../src/nats/worker.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { type Reply, reply } from '../../src/testing/reply.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { ofType } from '../support/run-events.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

const WITHIN = { timeout: 20_000, interval: 25 };

type Request = { readonly toolNames: readonly string[]; readonly messages: readonly { role: string }[] };

describe.skipIf(isNatsMissing())('children on other workers', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function world(
    script: (request: Request) => Reply,
    agentsOf: (baseURL: string) => readonly AnyAgent[],
    workers = 1,
  ) {
    const provider = await scriptedServer({ script });
    onTestFinished(() => provider.close());
    const agents = Object.fromEntries(agentsOf(provider.baseURL).map((one) => [one.name, one]));
    const ns = freshNamespace();
    const connection = server.url;
    const runtimeOf = (): Runtime => {
      const pool = natsPool({ connection, ns });
      const runtime = createRuntime({ ledger: openLedgerOn(server, { ns }), agents, pool });
      onTestFinished(() => runtime.close());
      return runtime;
    };
    const work = async (): Promise<Worker> => {
      const worker = await startWorker({ connection, ns, runtime: runtimeOf(), concurrency: 1 });
      onTestFinished(() => worker.close());
      return worker;
    };
    for (let at = 0; at < workers; at += 1) await work();
    return { provider, ns, agents, runtimeOf, work, runtime: runtimeOf() };
  }

  async function treeOf(runtime: Runtime, root: string): Promise<readonly (readonly LedgerRecord[])[]> {
    const sessions = await runtime.sessions.list({ root });
    return Promise.all(sessions.map(({ sessionId }) => runtime.sessions.read(sessionId)));
  }

  async function expectSound(runtime: Runtime, root: string): Promise<void> {
    for (const records of await treeOf(runtime, root)) expect(violationsOf({ records })).toEqual([]);
  }

  test('NB-14 a parent and its child share a pool of one: the parent leaves its place meanwhile', async () => {
    const { runtime } = await world(asksThenTells('payer'), (baseURL) => chain(baseURL, ['lead', 'payer']));
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
    expect(ofType(records, 'child.finished')[0]?.data).toMatchObject({ status: 'completed', steps: 1 });
    await expectSound(runtime, 's-root');
  });

  test('NB-14 three levels end in a pool of one', async () => {
    const { runtime } = await world(asksThenTells('middle', 'payer'), (baseURL) =>
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
    const { runtime } = await world(
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

  test('T27 a person decides on a call of a child from a third process, and all of it goes on', async () => {
    const { runtime, runtimeOf } = await world(
      ({ toolNames, messages }) => {
        const isDone = messages.some(({ role }) => role === 'tool');
        if (toolNames.includes('ask_payer')) {
          return isDone ? reply().text('lead done') : reply().call('ask_payer', { task: 'Pay.' });
        }
        return isDone ? reply().text('paid') : reply().call('pay', { id: 'a' });
      },
      (baseURL) => chain(baseURL, ['lead', 'payer'], { needsApproval: true }),
    );
    const third = runtimeOf();
    const run = runtime.run('lead', 'Go.');
    await expect.poll(() => third.approvals.pending({ sessionId: run.sessionId }), WITHIN).toHaveLength(1);
    const [request] = await third.approvals.pending({ sessionId: run.sessionId });
    expect(request?.agentPath).toEqual(['lead', 'payer']);
    await third.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'lead done' });
    await expectSound(runtime, run.sessionId);
  });

  test('a run that pauses for people says so once only a person can let it go on', async () => {
    const { runtime } = await world(
      ({ toolNames, messages }) => {
        const isDone = messages.some(({ role }) => role === 'tool');
        if (toolNames.includes('ask_payer')) {
          return isDone ? reply().text('lead done') : reply().call('ask_payer', { task: 'Pay.' });
        }
        return isDone ? reply().text('paid') : reply().call('pay', { id: 'a' });
      },
      (baseURL) => chain(baseURL, ['lead', 'payer'], { needsApproval: true }),
    );
    const run = runtime.run('lead', 'Go.', { onApproval: 'pause' });
    const result = await run.result;
    expect(result).toMatchObject({ status: 'paused', reason: 'approval', approvals: [{ toolName: 'pay' }] });
    const [request] = result.status === 'paused' ? result.approvals : [];
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    const resumed = runtime.resume('lead', run.sessionId);
    expect(await resumed.result).toMatchObject({ status: 'completed', text: 'lead done' });
  });

  test('T27 a cancelled run ends its child wherever it is', async () => {
    const entered = createGate();
    const { runtime } = await world(
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
    const { runtime, work } = await world(
      asksThenTells('payer'),
      (baseURL) => chain(baseURL, ['lead', 'payer']),
      0,
    );
    const first = await work();
    const run = runtime.run('lead', 'Go.');
    // The only worker takes nothing more once the parent has paused.
    await expect
      .poll(async () => ofType(await runtime.sessions.read(run.sessionId), 'child.intended').length, WITHIN)
      .toBe(1);
    await first.close();
    run.cancel('enough');
    await work();
    expect(await run.result).toMatchObject({ status: expect.stringMatching(/cancelled|completed/) });
    await expectSound(runtime, run.sessionId);
  });

  test('a request for approval that nobody decides runs out of time also where its turn sleeps', async () => {
    const { runtime, ns } = await world(
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

  test('wakes that are repeated, late or for nothing change nothing', async () => {
    const { runtime, ns } = await world(asksThenTells('middle', 'payer'), (baseURL) =>
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
    const { runtime } = await world(
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

  test('a child whose definition is another one where it is to run fails, named', async () => {
    const { runtime, provider, ns } = await world(
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

/** The first of `names` asks the second, and so on; each has a word when it is done. */
function asksThenTells(...names: readonly string[]) {
  return ({ toolNames, messages }: Request): Reply => {
    const isDone = messages.some(({ role }) => role === 'tool');
    const asks = names.find((name) => toolNames.includes(`ask_${name}`));
    const self = asks === undefined ? names.at(-1) : ['lead', ...names][names.indexOf(asks)];
    if (asks === undefined || isDone) return reply().text(`${self} done`).usage(10, 1);
    return reply().call(`ask_${asks}`, { task: 'Do it.' }).usage(10, 1);
  };
}

interface ChainOptions {
  readonly needsApproval?: boolean;
  readonly instructions?: string;
  readonly expiryMs?: number;
  readonly act?: (signal: AbortSignal) => Promise<void>;
}

/** Agents each of which may ask the next; the last one has a tool. */
function chain(baseURL: string, names: readonly string[], options: ChainOptions = {}): readonly AnyAgent[] {
  const { needsApproval = false, instructions = 'Do.', act = async () => {}, expiryMs } = options;
  const limits = expiryMs === undefined ? {} : { limits: { approvals: { expiryMs } } };
  const model = openaiCompatible({ baseURL, model: 'scripted' });
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    inputSchema: z.object({ id: z.string() }),
    needsApproval,
    async execute({ id }, { signal }) {
      await act(signal);
      return `paid ${id}`;
    },
  });
  const agents: AnyAgent[] = [];
  for (const name of [...names].reverse()) {
    const below = agents[0];
    const ways = below === undefined ? { tools: [pay] } : { agents: [below] };
    agents.unshift(defineAgent({ name, instructions, model, ...ways, ...limits }));
  }
  return agents;
}
