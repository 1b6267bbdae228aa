import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { RuntimeOptions } from '../../src/agent/runtime-options.ts';
import { defineGraph } from '../../src/graph/define-graph.ts';
import { defineSwarm } from '../../src/graph/define-swarm.ts';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { startWorker } from '../../src/nats/worker.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { adds, yields } from '../swarm/team.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

type Agents = NonNullable<RuntimeOptions['agents']>;
type Script = Parameters<typeof scriptedServer>[0]['script'];

interface World {
  readonly runtime: Runtime;
  readonly requests: { readonly length: number };
}

/** One suite, two fittings: what a caller sees does not tell where its run is worked on. */
describe.skipIf(isNatsMissing()).each(['in process', 'over a pool'])('NB-19 runs %s', (fitting) => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function world(script: Script, agentsOf: (baseURL: string) => Agents): Promise<World> {
    const provider = await scriptedServer({ script });
    onTestFinished(() => provider.close());
    const agents = agentsOf(provider.baseURL);
    const ns = freshNamespace();
    if (fitting === 'in process') {
      const runtime = createRuntime({ ledger: openLedgerOn(server, { ns }), agents });
      onTestFinished(() => runtime.close());
      return { runtime, requests: provider.requests };
    }
    await startPoolWorker(ns, agents);
    const pool = natsPool({ connection: server.url, ns });
    const runtime = createRuntime({ ledger: openLedgerOn(server, { ns }), agents, pool });
    onTestFinished(() => runtime.close());
    return { runtime, requests: provider.requests };
  }

  /** In this process, on a ledger of its own: nothing but the server joins it with the runtime that gives the runs. */
  async function startPoolWorker(ns: string, agents: Agents): Promise<void> {
    const pool = natsPool({ connection: server.url, ns });
    const runtime = createRuntime({ ledger: openLedgerOn(server, { ns }), agents, pool });
    const worker = await startWorker({ connection: server.url, ns, runtime, concurrency: 1 });
    onTestFinished(async () => {
      await worker.close();
      await runtime.close();
    });
  }

  test('a run yields its text, counts and events in order', async () => {
    const { runtime } = await world(
      [reply().call('pay', { id: 'a' }).usage(10, 2), reply().text('Paid.').usage(20, 3)],
      payers(),
    );
    const run = runtime.run('payer', 'Go.');
    const types: string[] = [];
    for await (const event of run.events()) types.push(event.type);
    expect(await run.result).toMatchObject({
      status: 'completed',
      output: 'Paid.',
      text: 'Paid.',
      stopReason: 'end-turn',
      steps: 2,
      toolCalls: 1,
      usage: { total: { inputTokens: 30, outputTokens: 5 }, byAgent: { payer: { inputTokens: 30 } } },
    });
    expect(types[0]).toBe('session.opened');
    expect(types.at(-1)).toBe('turn.closed');
    expect(violationsOf({ records: await runtime.sessions.read(run.sessionId) })).toEqual([]);
  });

  test('a second run of a session comes after the first, and knows of it', async () => {
    const { runtime } = await world(({ messages }) => reply().text(`${messages.length}`), payers());
    const first = runtime.run('payer', 'One.', { sessionId: 's-two' });
    await expect.poll(() => runtime.sessions.list(), { timeout: 10_000 }).toHaveLength(1);
    const second = runtime.run('payer', 'Two.', { sessionId: 's-two' });
    expect(await first.result).toMatchObject({ status: 'completed', text: '1' });
    expect(await second.result).toMatchObject({ status: 'completed', text: '3' });
  });

  test('an output is parsed by the schema of its agent', async () => {
    const output = z.object({ at: z.string().transform((text) => new Date(text)) });
    const { runtime } = await world([reply().text('{"at":"2026-01-01T00:00:00.000Z"}')], (baseURL) => ({
      dater: defineAgent({
        name: 'dater',
        instructions: 'Date.',
        output,
        model: openaiCompatible({ baseURL, model: 'm', capabilities: { structuredOutput: true } }),
      }),
    }));
    const result = await runtime.run('dater', 'When?').result;
    expect(result).toMatchObject({ output: { at: new Date('2026-01-01T00:00:00.000Z') } });
  });

  test('a handoff yields what the other agent says', async () => {
    const { runtime } = await world(
      ({ toolNames }) =>
        toolNames.includes('transfer_to_payer')
          ? reply().call('transfer_to_payer', { message: 'Pay.' })
          : reply().text('Paid.'),
      (baseURL) => {
        const { payer } = payers()(baseURL);
        const model = openaiCompatible({ baseURL, model: 'm' });
        return {
          payer,
          clerk: defineAgent({ name: 'clerk', instructions: 'Pass on.', model, handoffs: [payer] }),
        };
      },
    );
    const run = runtime.run('clerk', 'Go.');
    const shown = run.text();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Paid.', steps: 2 });
    let text = '';
    for await (const part of shown) text += part;
    expect(text).toBe('Paid.');
  });

  test('a graph takes an input by its schema and yields its output', async () => {
    const { runtime } = await world([reply().text('ab')], (baseURL) => {
      const { payer } = payers()(baseURL);
      const sum = defineGraph({ name: 'sum', input: z.object({ n: z.number() }) })
        .node('one', payer, { from: 'input', input: ({ n }: { n: number }) => `${n}` })
        .node('out', (text: unknown) => ({ text }), { from: 'one' })
        .build({ output: 'out' });
      return { sum };
    });
    expect(await runtime.run('sum', { n: 3 }).result).toMatchObject({
      status: 'completed',
      output: { text: 'ab' },
      text: '{"text":"ab"}',
    });
    expect(() => runtime.run('sum', { n: 'x' })).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });

  test('a swarm runs its works and yields what its supervisor says at last', async () => {
    const { runtime } = await world(
      ({ toolNames, messages }) => {
        if (!toolNames.includes('update_agent_graph')) return reply().text('Paid.');
        if (messages.some(({ text }) => text?.includes('Paid.'))) return reply().text('All is paid.');
        return messages.some(({ role }) => role === 'tool')
          ? yields()
          : adds({ target: { type: 'new_agent', id: 'payer' }, instruction: 'Pay.' });
      },
      (baseURL) => {
        const { payer } = payers()(baseURL);
        const model = openaiCompatible({ baseURL, model: 'm' });
        const boss = defineAgent({ name: 'boss', instructions: 'Lead.', model });
        return { team: defineSwarm({ name: 'team', supervisor: boss, agents: [payer], mode: 'swarm' }) };
      },
    );
    const run = runtime.run('team', 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'All is paid.' });
  });

  test('a run whose caller gives it up is cancelled', async () => {
    const { runtime } = await world([reply().stall()], payers());
    const caller = new AbortController();
    const run = runtime.run('payer', 'Go.', { signal: caller.signal });
    await expect.poll(() => runtime.sessions.list(), { timeout: 10_000 }).toHaveLength(1);
    caller.abort();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    const again = runtime.run('payer', 'Go.', { signal: AbortSignal.abort() });
    expect(await again.result).toMatchObject({ status: 'cancelled', steps: 0 });
  });

  test('what has nothing open says so when it is resumed', async () => {
    const { runtime } = await world([reply().text('Paid.')], payers());
    const run = runtime.run('payer', 'Go.');
    await run.result;
    const resumed = await runtime.resume('payer', run.sessionId).result;
    expect(resumed).toMatchObject({ status: 'failed', error: { kind: 'nothing-to-resume' } });
    const unknown = await runtime.resume('payer', 's-nobody').result;
    expect(unknown).toMatchObject({ status: 'failed', error: { kind: 'unknown-session' } });
  });

  test('a failure of the provider is the failure of the run', async () => {
    const { runtime } = await world([reply().text('no').withStatus(401)], payers());
    expect(await runtime.run('payer', 'Go.').result).toMatchObject({
      status: 'failed',
      error: { kind: 'auth' },
    });
  });

  test('a budget travels with the run', async () => {
    const { runtime } = await world([reply().call('pay', { id: 'a' })], payers());
    const result = await runtime.run('payer', 'Go.', { budget: { steps: 1 } }).result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'step-limit' } });
  });

  test('a text given on the way stands in the next request', async () => {
    const entered = createGate();
    const leave = createGate();
    const { runtime, requests } = await world(
      [reply().call('pay', { id: 'a' }), reply().text('Left.')],
      payers(async () => {
        entered.open();
        await leave.pass();
      }),
    );
    const run = runtime.run('payer', 'Go.');
    await entered.pass();
    const steered = run.steer('Turn left.');
    await expect
      .poll(async () => JSON.stringify(await runtime.sessions.read(run.sessionId)), { timeout: 5_000 })
      .toContain('steering.accepted');
    leave.open();
    expect(await steered).toMatchObject({ delivered: true });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Left.' });
    expect(await run.steer('Too late.')).toMatchObject({ delivered: false });
    expect(requests).toHaveLength(2);
  });

  test('a cancelled run ends at once and says why', async () => {
    const entered = createGate();
    const { runtime } = await world(
      [reply().call('pay', { id: 'a' })],
      payers((signal) => {
        entered.open();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      }),
    );
    const run = runtime.run('payer', 'Go.');
    await entered.pass();
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
  });

  test('T24 a reason of any length ends a run that is cancelled', async () => {
    const gate = createGate();
    const { runtime } = await world([reply().wait(gate).text('never')], payers());
    const run = runtime.run('payer', 'Go.');
    await gate.reached;
    run.cancel('x'.repeat(2_000_000));
    const result = await run.result;
    expect(result.status === 'cancelled' ? result.reason : result).toMatch(/^x{1900}/);
    expect(JSON.stringify(result).length).toBeLessThan(3_000);
  });

  test('a paused run goes on when it is resumed', async () => {
    const entered = createGate();
    const leave = createGate();
    const { runtime } = await world(
      [reply().call('pay', { id: 'a' }), reply().text('Paid.')],
      payers(async () => {
        entered.open();
        await leave.pass();
      }),
    );
    const run = runtime.run('payer', 'Go.');
    await entered.pass();
    await runtime.sessions.pause(run.sessionId);
    leave.open();
    expect(await run.result).toMatchObject({ status: 'paused', reason: 'requested' });
    const resumed = runtime.resume('payer', run.sessionId);
    expect(await resumed.result).toMatchObject({ status: 'completed', text: 'Paid.', steps: 2 });
    const again = await runtime.resume('payer', run.sessionId).result;
    expect(again).toMatchObject({ status: 'failed', error: { kind: 'nothing-to-resume' } });
  });

  test('a decision lets a run go on that waits for it', async () => {
    const { runtime } = await world([reply().call('ask', { id: 'a' }), reply().text('Done.')], payers());
    const run = runtime.run('payer', 'Go.');
    await expect.poll(() => runtime.approvals.pending(), { timeout: 10_000 }).toHaveLength(1);
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.', toolCalls: 1 });
  });

  test('a run that pauses for a person goes on after a decision when it is resumed', async () => {
    const { runtime } = await world([reply().call('ask', { id: 'a' }), reply().text('Done.')], payers());
    const run = runtime.run('payer', 'Go.', { onApproval: 'pause' });
    const result = await run.result;
    expect(result).toMatchObject({ status: 'paused', reason: 'approval', approvals: [{ toolName: 'ask' }] });
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'deny', reason: 'not today' });
    const resumed = runtime.resume('payer', run.sessionId);
    expect(await resumed.result).toMatchObject({ status: 'completed', text: 'Done.' });
    const again = await runtime.resume('payer', run.sessionId).result;
    expect(again).toMatchObject({ status: 'failed', error: { kind: 'nothing-to-resume' } });
    expect(violationsOf({ records: await runtime.sessions.read(run.sessionId) })).toEqual([]);
  });
});

function payers(act: (signal: AbortSignal) => Promise<void> = async () => {}) {
  return (baseURL: string) => {
    const tool = (name: string, needsApproval = false) =>
      defineTool({
        name,
        description: `Does ${name}.`,
        inputSchema: z.object({ id: z.string() }),
        needsApproval,
        async execute({ id }, { signal }) {
          await act(signal);
          return `${name} ${id}`;
        },
      });
    return {
      payer: defineAgent({
        name: 'payer',
        instructions: 'Pay.',
        model: openaiCompatible({ baseURL, model: 'scripted' }),
        tools: [tool('pay'), tool('ask', true)],
      }),
    };
  };
}
