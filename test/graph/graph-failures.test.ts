import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineGraph } from '../../src/graph/define-graph.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** Waits for its signal, then says so; what a sibling that is stopped does. */
function untilStopped(stopped: string[], name: string) {
  return (_: unknown, { signal }: { readonly signal: AbortSignal }) =>
    new Promise<string>((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        stopped.push(name);
        reject(new Error('stopped'));
      });
    });
}

const fail = (message: string) => (): string => {
  throw new Error(message);
};

describe('a node that fails', { timeout: 10_000 }, () => {
  it('is one whose agent would be given more than a fact can hold: the graph ends', async () => {
    const { runtime, misfits } = watchedRuntime();
    const { agent } = scriptedAgent([], { name: 'writer' });
    const graph = defineGraph({ name: 'g' })
      .node('long', () => 'x'.repeat(1_048_000), { from: 'input' })
      .node('write', agent, { from: 'long' })
      .build({ output: 'write' });
    expect(await runtime.run(graph, '').result).toMatchObject({
      status: 'failed',
      error: { kind: 'input-too-large' },
    });
    expect(await runtime.recover()).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('T13 ends the run: its siblings are stopped and waited for', async () => {
    const { runtime, misfits } = watchedRuntime();
    const stopped: string[] = [];
    const graph = defineGraph({ name: 'g' })
      .node('a', fail('no disk'), { from: 'input' })
      .node('b', untilStopped(stopped, 'b'), { from: 'input' })
      .join('j', { from: ['a', 'b'] })
      .node('after', () => 'never', { from: 'j' })
      .build({ output: 'after' });
    const run = runtime.run(graph, '');
    const result = await run.result;
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'node-failed', message: 'a: no disk' },
    });
    expect(stopped).toEqual(['b']);
    const records = await runtime.sessions.read(run.sessionId);
    expect(ofType(records, 'node.finished').map(({ data }) => [data.work, data.status])).toEqual(
      expect.arrayContaining([
        ['a', 'failed'],
        ['b', 'cancelled'],
      ]),
    );
    expect(ofType(records, 'node.skipped').map(({ data }) => data.work)).toEqual(['j', 'after']);
    expect(records.at(-1)?.type).toBe('turn.closed');
    expect(misfits).toEqual([]);
  });

  it('T13 is a value for a join that collects, from however far up', async () => {
    const { runtime } = watchedRuntime();
    const graph = defineGraph({ name: 'g' })
      .node('a', fail('no disk'), { from: 'input' })
      .node('a2', (text) => `${text}!`, { from: 'a' })
      .node('b', (text) => text.toUpperCase(), { from: 'input' })
      .join('j', { from: ['a2', 'b'], onError: 'collect' })
      .build({ output: 'j' });
    expect(await runtime.run(graph, 'x').result).toMatchObject({
      status: 'completed',
      output: {
        a2: { ok: false, error: { kind: 'node-failed', message: 'a: no disk' } },
        b: { ok: true, output: 'X' },
      },
    });
  });

  it('T18 that is an agent fails the run with what the provider said, and where', async () => {
    const { runtime } = watchedRuntime();
    const { agent } = scriptedAgent([failure({ kind: 'invalid-request' })], { name: 'writer' });
    const graph = defineGraph({ name: 'g' }).node('w', agent, { from: 'input' }).build({ output: 'w' });
    const result = await runtime.run(graph, 'x').result;
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'invalid-request', message: expect.stringContaining('w (g > writer): ') },
      steps: 1,
    });
  });

  it('is tried again as often as it says, with the same operation id', async () => {
    const { runtime, misfits } = watchedRuntime();
    const operations: string[] = [];
    const graph = defineGraph({ name: 'g' })
      .node(
        'flaky',
        (text, { attempt, operationId }) => {
          operations.push(operationId);
          if (attempt < 3) throw new Error('not yet');
          return `${text} ${attempt}`;
        },
        { from: 'input', retry: { attempts: 3 } },
      )
      .build({ output: 'flaky' });
    const run = runtime.run(graph, 'x');
    expect(await run.result).toMatchObject({ status: 'completed', output: 'x 3' });
    expect(new Set(operations).size).toBe(1);
    const finished = ofType(await runtime.sessions.read(run.sessionId), 'node.finished');
    expect(finished.filter(({ data }) => data.work === 'flaky').map(({ data }) => data.status)).toEqual([
      'failed',
      'failed',
      'completed',
    ]);
    expect(misfits).toEqual([]);
  });

  it('waits longer before each further attempt', async () => {
    const clock = fakeClock();
    const { runtime } = watchedRuntime({ clock });
    const at: number[] = [];
    const graph = defineGraph({ name: 'g' })
      .node(
        'flaky',
        () => {
          at.push(clock.now());
          throw new Error('no');
        },
        { from: 'input', retry: { attempts: 3, delayMs: 100, backoff: 3 } },
      )
      .build({ output: 'flaky' });
    const run = runtime.run(graph, 'x');
    for (const delayMs of [100, 300]) {
      await clock.whenPending();
      await clock.advance(delayMs);
    }
    expect(await run.result).toMatchObject({ status: 'failed', error: { message: 'flaky: no' } });
    expect(at.map((one, index) => one - (at[index - 1] ?? one))).toEqual([0, 100, 300]);
  });

  it('fails after its time, whether or not it heeds its signal', async () => {
    const clock = fakeClock();
    const { runtime } = watchedRuntime({ clock });
    const graph = defineGraph({ name: 'g' })
      .node('slow', () => new Promise<string>(() => undefined), { from: 'input', timeoutMs: 50 })
      .build({ output: 'slow' });
    const run = runtime.run(graph, 'x');
    await clock.whenPending();
    await clock.advance(50);
    await clock.whenPending();
    await clock.advance(5_000);
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'node-timeout' } });
  });

  it('as an item ends the items beside it and fails its map', async () => {
    const { runtime } = watchedRuntime();
    const stopped: string[] = [];
    const graph = defineGraph({ name: 'g', input: z.array(z.string()) })
      .map(
        'each',
        (item: string, ctx): string | Promise<string> =>
          item === 'bad' ? fail('bad item')() : untilStopped(stopped, item)(item, ctx),
        { from: 'input', maxConcurrency: 2 },
      )
      .join('j', { from: ['each'], onError: 'collect' })
      .build({ output: 'j' });
    const run = runtime.run(graph, ['slow', 'bad', 'later']);
    expect(await run.result).toMatchObject({
      status: 'completed',
      output: { each: { ok: false, error: { message: 'each[1]: bad item' } } },
    });
    expect(stopped).toEqual(['slow']);
    const skipped = ofType(await runtime.sessions.read(run.sessionId), 'node.skipped');
    expect(skipped.map(({ data }) => [data.work, data.reason])).toEqual([['each[2]', 'sibling-failed']]);
  });

  it.each([
    ['a condition', 'when', 'node-failed'],
    ['a mapper', 'input', 'node-failed'],
  ] as const)('fails the run where %s throws', async (_, option, kind) => {
    const { runtime } = watchedRuntime();
    const builder = defineGraph({ name: 'g' });
    const broken = { from: 'input' as const, [option]: fail('broken') };
    const graph = builder.node('a', (text: string) => text, broken as never).build({ output: 'a' });
    expect(await runtime.run(graph, 'x').result).toMatchObject({
      status: 'failed',
      error: { kind, message: 'a: broken' },
    });
  });

  it('T11 fails the run where a join can never have what it needs, naming it', async () => {
    const { runtime } = watchedRuntime();
    const graph = defineGraph({ name: 'g' })
      .node('a', () => 1, { from: 'input' })
      .node('b', () => 2, { from: 'input', when: () => false })
      .join('j', { from: ['a', 'b'], need: 2 })
      .build({ output: 'j' });
    expect(await runtime.run(graph, '').result).toMatchObject({
      status: 'failed',
      error: { kind: 'join-unmet', message: 'the join j needs 2 of its branches, and 1 completed' },
    });
  });

  it('T11 fails the run where its output is skipped, naming it', async () => {
    const { runtime } = watchedRuntime();
    const graph = defineGraph({ name: 'g' })
      .node('a', () => 1, { from: 'input', when: () => false })
      .node('b', () => 2, { from: 'a' })
      .build({ output: 'b' });
    expect(await runtime.run(graph, '').result).toMatchObject({
      status: 'failed',
      error: { kind: 'output-skipped', message: expect.stringContaining('the output b was skipped') },
    });
  });
});

describe('a run that is stopped', { timeout: 10_000 }, () => {
  it('T22 stops every node and every agent below it, and settles all of them', async () => {
    const { runtime, misfits } = watchedRuntime();
    const gate = createGate();
    const stopped: string[] = [];
    const { agent, model } = scriptedAgent([reply().wait(gate).text('late')], { name: 'writer' });
    const graph = defineGraph({ name: 'g' })
      .node('w', agent, { from: 'input' })
      .node('f', untilStopped(stopped, 'f'), { from: 'input' })
      .join('j', { from: ['w', 'f'] })
      .build({ output: 'j' });
    const run = runtime.run(graph, 'x');
    await eventSeen(run, 'node.started', 2);
    await eventSeen(run, 'child.started');
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(stopped).toEqual(['f']);
    expect(model.requests.length).toBeLessThanOrEqual(1);
    expect(await runtime.recover()).toEqual([]);
    const open = (await runtime.sessions.list()).filter((session) => session.openTurn !== undefined);
    expect(open).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('begins nothing more after a stop after the step', async () => {
    const { runtime } = watchedRuntime();
    const gate = createGate();
    let after = 0;
    const graph = defineGraph({ name: 'g' })
      .node('a', () => gate.pass(), { from: 'input' })
      .node(
        'b',
        () => {
          after += 1;
        },
        { from: 'a' },
      )
      .build({ output: 'b' });
    const run = runtime.run(graph, 'x');
    await eventSeen(run, 'node.started');
    run.stopAfterStep();
    gate.open();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(after).toBe(0);
  });

  it('takes no text', async () => {
    const { runtime } = watchedRuntime();
    const gate = createGate();
    const graph = defineGraph({ name: 'g' })
      .node('a', () => gate.pass(), { from: 'input' })
      .build({ output: 'a' });
    const run = runtime.run(graph, 'x');
    await eventSeen(run, 'node.started');
    expect(await run.steer('hello')).toEqual({ delivered: false, reason: 'a graph takes no text' });
    gate.open();
    await run.result;
  });
});

describe('the bounds of a run', { timeout: 10_000 }, () => {
  it.each([
    { what: 'agents', budget: { agents: 2 }, limits: {}, kind: 'agent-limit' },
    { what: 'depth', budget: { depth: 0 }, limits: {}, kind: 'depth-limit' },
    { what: 'steps', budget: { steps: 1 }, limits: {}, kind: 'step-limit' },
    { what: 'children at once', budget: {}, limits: { fanOut: 0 }, kind: 'fan-out-limit' },
  ])('T16 hold over all agents of a graph: $what', async ({ budget, limits, kind }) => {
    const { runtime } = watchedRuntime({ limits });
    const { agent: one } = scriptedAgent([reply().text('1')], { name: 'one' });
    const { agent: two } = scriptedAgent([reply().text('2')], { name: 'two' });
    const graph = defineGraph({ name: 'g' })
      .node('a', one, { from: 'input' })
      .node('b', two, { from: 'a' })
      .build({ output: 'b' });
    expect(await runtime.run(graph, 'x', { budget }).result).toMatchObject({
      status: 'failed',
      error: { kind },
    });
  });

  it('TR-07 run at most so many agents at once as children may', async () => {
    const { runtime } = watchedRuntime({ limits: { fanOut: 2 } });
    let now = 0;
    let most = 0;
    const gate = createGate();
    const { agent } = scriptedAgent(
      Array.from({ length: 5 }, () => reply().wait(gate).text('ok')),
      {
        name: 'worker',
        hooks: {
          onTurnOpened: () => {
            now += 1;
            most = Math.max(most, now);
          },
          onTurnCompleted: () => {
            now -= 1;
          },
        },
      },
    );
    const graph = defineGraph({ name: 'g', input: z.array(z.string()) })
      .map('each', agent, { from: 'input' })
      .build({ output: 'each' });
    const run = runtime.run(graph, ['1', '2', '3', '4', '5']);
    await eventSeen(run, 'child.started', 2);
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', output: Array(5).fill('ok') });
    expect(most).toBe(2);
  });

  it('refuse a graph an input that its schema does not take', () => {
    const { runtime } = watchedRuntime();
    const graph = defineGraph({ name: 'g', input: z.object({ n: z.number() }) })
      .node('a', ({ n }) => n, { from: 'input' })
      .build({ output: 'a' });
    expect(() => runtime.run(graph, { n: 'x' } as never)).toThrow(
      expect.objectContaining({ code: 'invalid-input', message: expect.stringContaining('n: ') }),
    );
  });
});
