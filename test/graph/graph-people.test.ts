import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { Run } from '../../src/agent/run.ts';
import { defineGraph } from '../../src/graph/define-graph.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { portOf } from '../support/edited-ledger.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** A graph one of whose agents asks a person before it acts. */
function askingGraph() {
  const spy = createToolSpy();
  const model = scriptedModel({
    script: (request) =>
      request.messages.at(-1)?.role === 'tool'
        ? reply().text(`did ${request.lastText}`)
        : reply().call('del', { id: request.lastText }),
  });
  const cleaner = defineAgent({
    name: 'cleaner',
    instructions: 'Clean.',
    model,
    tools: [spy.tool('del', undefined, { needsApproval: true })],
  });
  const graph = defineGraph({ name: 'g' })
    .node('clean', cleaner, { from: 'input', timeoutMs: 1_000 })
    .node('count', (text) => text.length, { from: 'input' })
    .join('j', { from: ['clean', 'count'] })
    .build({ output: 'j' });
  return { graph, cleaner, spy };
}

describe('a node that waits for a person', { timeout: 10_000 }, () => {
  it('asks in the queue of the root, with its path, and goes on when it is decided', async () => {
    const { runtime, misfits, transitions } = watchedRuntime();
    const { graph, spy } = askingGraph();
    const run = runtime.run(graph, 'x');
    await eventSeen(run, 'node.finished', 2);
    const asked = await firstPending(run, runtime);
    expect(asked).toMatchObject({ toolName: 'del', agentPath: ['g', 'cleaner'], input: { id: 'x' } });
    await runtime.approvals.decide(asked.id, { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed', output: { clean: 'did del x', count: 1 } });
    expect(spy.entries).toHaveLength(1);
    expect(misfits).toEqual([]);
    const states = transitions.filter(({ kind }) => kind === 'graph-supervisor').map(({ to }) => to);
    expect(states).toContain('waiting');
  });

  it('has time while it waits', async () => {
    const clock = fakeClock();
    const { runtime } = watchedRuntime({ clock });
    const { graph } = askingGraph();
    const run = runtime.run(graph, 'x');
    const asked = await firstPending(run, runtime);
    await clock.advance(3_600_000);
    await runtime.approvals.decide(asked.id, { decision: 'approve' });
    expect(await run.result).toMatchObject({ status: 'completed' });
  });

  it('pauses the run once nothing else of it runs, and goes on where it was', async () => {
    const ledger = memoryLedger();
    const { graph, cleaner, spy } = askingGraph();
    const { runtime, misfits } = watchedRuntime({ ledger, agents: { cleaner } });
    const run = runtime.run(graph, 'x', { onApproval: 'pause' });
    const paused = await run.result;
    expect(paused).toMatchObject({ status: 'paused', reason: 'approval', approvals: [{ toolName: 'del' }] });
    const [request] = paused.status === 'paused' ? paused.approvals : [];
    expect(ofType(await runtime.sessions.read(run.sessionId), 'turn.paused')).toHaveLength(1);
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    const resumed = await runtime.resume(graph, run.sessionId).result;
    expect(resumed).toMatchObject({
      status: 'completed',
      output: { clean: 'did del x', count: 1 },
      steps: 2,
    });
    expect(spy.entries).toHaveLength(1);
    expect(misfits).toEqual([]);
  });
});

describe('a graph in a graph that waits for a person', { timeout: 10_000 }, () => {
  it('pauses with the outer one, and both go on', async () => {
    const { graph: inner, cleaner, spy } = askingGraph();
    const outer = defineGraph({ name: 'outer' })
      .node('inner', inner, { from: 'input' })
      .node('text', ({ clean }) => clean, { from: 'inner' })
      .build({ output: 'text' });
    const { runtime, misfits } = watchedRuntime({ agents: { cleaner } });
    const run = runtime.run(outer, 'x', { onApproval: 'pause' });
    const paused = await run.result;
    expect(paused).toMatchObject({
      status: 'paused',
      approvals: [{ toolName: 'del', agentPath: ['outer', 'g', 'cleaner'] }],
    });
    const [request] = paused.status === 'paused' ? paused.approvals : [];
    await runtime.approvals.decide(request?.id ?? '', { decision: 'deny', reason: 'not today' });
    const resumed = await runtime.resume(outer, run.sessionId).result;
    expect(resumed).toMatchObject({ status: 'completed', output: expect.stringContaining('not today') });
    expect(spy.entries).toEqual([]);
    expect(misfits).toEqual([]);
    expect(await runtime.recover()).toEqual([]);
  });

  it('fails with the outer one, and leaves nothing open', async () => {
    const { graph: inner, cleaner } = askingGraph();
    const gate = createGate();
    const outer = defineGraph({ name: 'outer' })
      .node('inner', inner, { from: 'input' })
      .node('bad', () => gate.pass().then(() => Promise.reject(new Error('broken'))), { from: 'input' })
      .join('all', { from: ['inner', 'bad'] })
      .build({ output: 'all' });
    const { runtime, misfits } = watchedRuntime({ agents: { cleaner } });
    const run = runtime.run(outer, 'x', { onApproval: 'pause' });
    // The inner graph lies in the ledger by now, and is taken up to be ended.
    for await (const event of run.events({ tree: true }))
      if (event.type === 'turn.paused' && event.agent === 'g') break;
    gate.open();
    expect(await run.result).toMatchObject({ status: 'failed', error: { message: 'bad: broken' } });
    expect(await runtime.recover()).toEqual([]);
    expect(await runtime.approvals.pending()).toEqual([]);
    expect(misfits).toEqual([]);
  });
});

describe('a graph that leaves its process', { timeout: 10_000 }, () => {
  it('is resumed by name, with agents at work in it', async () => {
    const ledger = memoryLedger();
    const port = () => ({ ...portOf(ledger), close: async () => undefined });
    const gate = createGate();
    let asked = 0;
    const model = scriptedModel({
      script: () => {
        asked += 1;
        return asked === 1 ? reply().wait(gate).text('late') : reply().text('again');
      },
    });
    const writer = defineAgent({ name: 'writer', instructions: 'Write.', model });
    let counted = 0;
    const graph = defineGraph({ name: 'g' })
      .node(
        'count',
        (text) => {
          counted += 1;
          return text.length;
        },
        { from: 'input' },
      )
      .node('write', writer, { from: 'count', input: (count) => `${count}` })
      .build({ output: 'write' });
    const first = createRuntime({ ledger: port(), agents: { g: graph } });
    const run = first.run(graph, 'abc');
    await eventSeen(run, 'child.started');
    await gate.reached;
    await first.close();
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'runtime-closed' } });
    const second = createRuntime({ ledger: port(), agents: { g: graph } });
    const result = await second.resume('g', run.sessionId).result;
    expect(result).toMatchObject({ status: 'completed', output: 'again' });
    expect(counted).toBe(1);
    await second.close();
  });

  it.each([
    ['abandon', { status: 'failed', error: { kind: 'abandoned' } }, 1],
    ['retry', { status: 'completed', output: 'x' }, 2],
    [{ settle: 'by hand' }, { status: 'completed', output: 'by hand' }, 1],
  ] as const)(
    'does with a function whose outcome is unknown what is decided: %j',
    async (decision, result, times) => {
      const ledger = memoryLedger();
      const port = () => ({ ...portOf(ledger), close: async () => undefined });
      const entries: string[] = [];
      const gate = createGate();
      const graph = defineGraph({ name: 'g' })
        .node(
          'pay',
          async (text, { operationId }) => {
            entries.push(operationId);
            if (entries.length === 1) await gate.pass();
            return text;
          },
          { from: 'input' },
        )
        .build({ output: 'pay' });
      const clock = fakeClock();
      const first = createRuntime({ ledger: port(), clock });
      const run = first.run(graph, 'x');
      await gate.reached;
      const closed = first.close();
      await clock.whenPending();
      await clock.advance(5_000);
      await closed;
      const { runtime } = watchedRuntime({ ledger: port() });
      expect(await runtime.recover(run.sessionId)).toMatchObject([
        { indeterminate: [{ callId: 'pay', toolName: 'pay', operationId: entries[0] }] },
      ]);
      const resumed = runtime.resume(graph, run.sessionId, { indeterminate: () => decision });
      expect(await resumed.result).toMatchObject(result);
      expect(entries).toHaveLength(times);
      expect(new Set(entries).size).toBe(1);
    },
  );

  it('counts what was used before once', async () => {
    const ledger = memoryLedger();
    const port = () => ({ ...portOf(ledger), close: async () => undefined });
    const gate = createGate();
    const model = scriptedModel({ script: () => reply().text('draft').usage(100, 10) });
    const writer = defineAgent({ name: 'writer', instructions: 'Write.', model });
    const graph = defineGraph({ name: 'g' })
      .node('write', writer, { from: 'input' })
      .node('hold', (text, { signal }) => gate.pass(signal).then(() => text), {
        from: 'write',
        recovery: 'replay_safe',
      })
      .node('again', writer, { from: 'hold' })
      .build({ output: 'again' });
    const first = createRuntime({ ledger: port() });
    const run = first.run(graph, 'x', { budget: { steps: 2, agents: 3 } });
    await gate.reached;
    await first.close();
    gate.open();
    const { runtime } = watchedRuntime({ ledger: port() });
    const result = await runtime.resume(graph, run.sessionId).result;
    expect(result).toMatchObject({
      status: 'completed',
      steps: 2,
      usage: {
        total: { inputTokens: 200, outputTokens: 20 },
        byAgent: { writer: { inputTokens: 200, outputTokens: 20 } },
      },
    });
  });

  it('GS-05 keeps the ceiling it was begun with', async () => {
    const ledger = memoryLedger();
    const port = () => ({ ...portOf(ledger), close: async () => undefined });
    const gate = createGate();
    const spy = createToolSpy();
    const model = scriptedModel({ script: () => reply().text('done') });
    const tools = [spy.tool('look'), spy.tool('del')];
    const worker = defineAgent({ name: 'worker', instructions: 'Work.', model, tools });
    const graph = defineGraph({ name: 'g' })
      .node('hold', (text, { signal }) => gate.pass(signal).then(() => text), {
        from: 'input',
        recovery: 'replay_safe',
      })
      .node('work', worker, { from: 'hold' })
      .build({ output: 'work' });
    const first = createRuntime({ ledger: port() });
    const run = first.run(graph, 'x', { boundTools: ['look'] });
    await gate.reached;
    await first.close();
    gate.open();
    const { runtime } = watchedRuntime({ ledger: port() });
    expect(await runtime.resume(graph, run.sessionId).result).toMatchObject({ status: 'completed' });
    expect(model.requests.map(({ toolNames }) => toolNames)).toEqual([['look']]);
  });

  it('is not resumed with other nodes than it was begun with', async () => {
    const ledger = memoryLedger();
    const port = () => ({ ...portOf(ledger), close: async () => undefined });
    const gate = createGate();
    const clock = fakeClock();
    const base = defineGraph({ name: 'g' }).node('a', () => gate.pass(), { from: 'input' });
    const first = createRuntime({ ledger: port(), clock });
    const run = first.run(base.build({ output: 'a' }), 'x');
    await gate.reached;
    const closed = first.close();
    await clock.whenPending();
    await clock.advance(5_000);
    await closed;
    const { runtime } = watchedRuntime({ ledger: port() });
    const other = base.node('b', () => 1, { from: 'a' }).build({ output: 'b' });
    expect(await runtime.resume(other, run.sessionId).result).toMatchObject({
      status: 'failed',
      error: { kind: 'graph-changed' },
    });
  });
});

describe('a graph somebody stops from outside', { timeout: 10_000 }, () => {
  it('is cancelled by its session', async () => {
    const { runtime, misfits } = watchedRuntime();
    const gate = createGate();
    const graph = defineGraph({ name: 'g' })
      .node('a', (_, { signal }) => gate.pass(signal), { from: 'input' })
      .build({ output: 'a' });
    const run = runtime.run(graph, 'x');
    await gate.reached;
    await expect(runtime.sessions.steer(run.sessionId, 'hello')).rejects.toMatchObject({
      code: 'turn-not-open',
    });
    await runtime.sessions.cancel(run.sessionId, 'enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(misfits).toEqual([]);
  });

  it('is given up at rest with all that is below it', async () => {
    const ledger = memoryLedger();
    const { graph, cleaner } = askingGraph();
    const { runtime } = watchedRuntime({ ledger, agents: { cleaner } });
    const run = runtime.run(graph, 'x', { onApproval: 'pause' });
    await run.result;
    await runtime.abandon(run.sessionId, 'nobody answers');
    expect(await runtime.recover()).toEqual([]);
    expect(await runtime.approvals.pending()).toEqual([]);
    const records = await runtime.sessions.read(run.sessionId);
    expect(ofType(records, 'node.finished').map(({ data }) => [data.work, data.status])).toContainEqual([
      'clean',
      'cancelled',
    ]);
    expect(records.slice(-2).map(({ type }) => type)).toEqual(['graph.finished', 'turn.closed']);
  });

  it('is given up while it is at work', async () => {
    const { runtime } = watchedRuntime();
    const gate = createGate();
    const graph = defineGraph({ name: 'g' })
      .node('a', (_, { signal }) => gate.pass(signal), { from: 'input' })
      .build({ output: 'a' });
    const run = runtime.run(graph, 'x');
    await gate.reached;
    await runtime.abandon(run.sessionId, 'enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(await runtime.recover()).toEqual([]);
  });
});

/** The first request of a run, wherever below it somebody asks. */
async function firstPending(run: Run<unknown>, { approvals }: Pick<Runtime, 'approvals'>) {
  for await (const event of run.events({ tree: true })) if (event.type === 'approval.requested') break;
  const [first] = await approvals.pending();
  if (first === undefined) throw new Error('nobody asks');
  return first;
}
