import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Sink } from '../../src/events/sink.ts';
import { defineGraph } from '../../src/graph/define-graph.ts';
import { reply } from '../../src/testing/reply.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { eventsOf, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

describe.each(LEDGER_KINDS)('a run of a graph on a %s ledger', { timeout: 10_000 }, (kind) => {
  const world = async () => watchedRuntime({ ledger: await openLedger(kind) });

  it('yields what its output yields, each node after what it reads', async () => {
    const { runtime, misfits } = await world();
    const order: string[] = [];
    const note = <T>(name: string, value: T): T => {
      order.push(name);
      return value;
    };
    const graph = defineGraph({ name: 'g' })
      .node('upper', (text) => note('upper', text.toUpperCase()), { from: 'input' })
      .node('length', (text) => note('length', text.length), { from: 'upper' })
      .join('both', { from: ['upper', 'length'] }, (both) => `${both.upper} ${both.length}`)
      .build({ output: 'both' });
    const result = await runtime.run(graph, 'abc').result;
    expect(result).toMatchObject({
      status: 'completed',
      output: 'ABC 3',
      text: 'ABC 3',
      stopReason: 'end-turn',
    });
    expect(order).toEqual(['upper', 'length']);
    expect(misfits).toEqual([]);
  });

  it('runs agents in sessions below its own and counts what they use', async () => {
    const { runtime, misfits } = await world();
    const { agent: writer } = scriptedAgent([reply().text('a draft')], { name: 'writer' });
    const { agent: critic } = scriptedAgent([reply().text('a critique')], { name: 'critic' });
    const graph = defineGraph({ name: 'g' })
      .node('draft', writer, { from: 'input' })
      .node('critique', critic, { from: 'draft' })
      .build({ output: 'critique' });
    const run = runtime.run(graph, 'Write.');
    const result = await run.result;
    expect(result).toMatchObject({ status: 'completed', output: 'a critique', steps: 2, toolCalls: 0 });
    expect(Object.keys(result.usage.byAgent)).toEqual(['writer', 'critic']);
    const sessions = await runtime.sessions.list({ root: run.sessionId });
    expect(sessions.map(({ agent, parentId }) => [agent, parentId])).toEqual([
      ['g', undefined],
      ['writer', run.sessionId],
      ['critic', run.sessionId],
    ]);
    expect(misfits).toEqual([]);
  });

  it('T21 shows every event with the path of who acts', async () => {
    const { runtime } = await world();
    const { agent } = scriptedAgent([reply().text('done')], { name: 'writer' });
    const graph = defineGraph({ name: 'g' })
      .node('draft', agent, { from: 'input' })
      .build({ output: 'draft' });
    const run = runtime.run(graph, 'Write.');
    const events = await eventsOf(run, { tree: true, from: 0 });
    const paths = new Map(events.map((event) => [event.type, event.agentPath]));
    expect(paths.get('step.completed')).toEqual(['g', 'writer']);
    expect(paths.get('node.finished')).toEqual(['g']);
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining([
        'graph.updated',
        'graph.claimed',
        'node.started',
        'child.intended',
        'graph.finished',
      ]),
    );
  });

  it('runs the items of a map beside each other and yields their results in order', async () => {
    const { runtime } = await world();
    const graph = defineGraph({ name: 'g', input: z.array(z.number()) })
      .map('doubled', (n) => n * 2, { from: 'input' })
      .node('sum', (list) => list.reduce((a, b) => a + b, 0), { from: 'doubled' })
      .join('all', { from: ['doubled', 'sum'] })
      .build({ output: 'all' });
    const result = await runtime.run(graph, [3, 1, 2]).result;
    expect(result).toMatchObject({ output: { doubled: [6, 2, 4], sum: 12 } });
  });

  it('T11 skips what its condition leaves out, and runs the join behind it once', async () => {
    const { runtime } = await world();
    let joins = 0;
    const graph = defineGraph({ name: 'g' })
      .node('a', () => 'A', { from: 'input' })
      .node('b', () => 'B', { from: 'input', when: () => false })
      .node('c', (b) => `${b}!`, { from: 'b' })
      .join('j', { from: ['a', 'c'] }, (got) => {
        joins += 1;
        return got;
      })
      .build({ output: 'j' });
    const run = runtime.run(graph, '');
    expect(await run.result).toMatchObject({ status: 'completed', output: { a: 'A' } });
    expect(joins).toBe(1);
    const skipped = ofType(await runtime.sessions.read(run.sessionId), 'node.skipped');
    expect(skipped.map(({ data }) => [data.work, data.reason])).toEqual([
      ['b', 'condition'],
      ['c', 'inputs-skipped'],
    ]);
  });

  it('T12 joins branches of unequal length once, when the longest is through', async () => {
    const { runtime, misfits } = await world();
    let joined = 0;
    const graph = defineGraph({ name: 'g' })
      .node('short', (text) => text.length, { from: 'input' })
      .node('first', (text) => text.toUpperCase(), { from: 'input' })
      .node('second', (text) => `${text}!`, { from: 'first' })
      .join('both', { from: ['short', 'second'] }, (both) => {
        joined += 1;
        return both;
      })
      .build({ output: 'both' });
    expect(await runtime.run(graph, 'abc').result).toMatchObject({ output: { short: 3, second: 'ABC!' } });
    expect(joined).toBe(1);
    expect(misfits).toEqual([]);
  });

  it('repeats a loop while its condition holds, on what the round before yielded', async () => {
    const { runtime, misfits } = await world();
    const graph = defineGraph({ name: 'g' })
      .node('grow', (text) => `${text}a`, { from: 'input' })
      .node('mark', (text) => `${text}.`, { from: 'grow' })
      .loop('done', { from: 'mark', back: 'grow', while: (text) => text.length < 6, max: 9 })
      .node('end', (text) => `<${text}>`, { from: 'done' })
      .build({ output: 'end' });
    expect(await runtime.run(graph, 'x').result).toMatchObject({ status: 'completed', output: '<xa.a.a.>' });
    expect(misfits).toEqual([]);
  });

  it('ends a loop at its bound with what it has, and tells of the bound', async () => {
    const { runtime } = await world();
    const graph = defineGraph({ name: 'g' })
      .node('grow', (text) => `${text}a`, { from: 'input' })
      .loop('done', { from: 'grow', back: 'grow', while: () => true, max: 3 })
      .build({ output: 'done' });
    const run = runtime.run(graph, '');
    expect(await run.result).toMatchObject({ output: 'aaa' });
    const [exceeded] = ofType(await runtime.sessions.read(run.sessionId), 'budget.exceeded');
    expect(exceeded?.data).toEqual({ budget: 'loop done', limit: 3, used: 3 });
  });

  it('runs a graph as a node of another', async () => {
    const { runtime, misfits } = await world();
    const { agent } = scriptedAgent([reply().text('four')], { name: 'counter' });
    const inner = defineGraph({ name: 'inner', input: z.object({ n: z.number() }) })
      .node('say', agent, { from: 'input', input: ({ n }) => `Say ${n}.` })
      .build({ output: 'say' });
    const outer = defineGraph({ name: 'outer' })
      .node('n', (text) => ({ n: text.length }), { from: 'input' })
      .node('said', inner, { from: 'n' })
      .build({ output: 'said' });
    const run = runtime.run(outer, 'abcd');
    expect(await run.result).toMatchObject({ status: 'completed', output: 'four', steps: 1 });
    const sessions = await runtime.sessions.list({ root: run.sessionId });
    expect(sessions.map(({ agent: name }) => name)).toEqual(['outer', 'inner', 'counter']);
    expect(misfits).toEqual([]);
  });

  it('gives each node its own copy of what it reads', async () => {
    const { runtime } = await world();
    const graph = defineGraph({ name: 'g', input: z.object({ list: z.array(z.number()) }) })
      .node('a', (value) => void value.list.push(9), { from: 'input' })
      .node('b', (value) => value.list.length, { from: 'input' })
      .join('j', { from: ['a', 'b'] }, ({ b }) => b)
      .build({ output: 'j' });
    expect(await runtime.run(graph, { list: [1] }).result).toMatchObject({ output: 1 });
  });

  it('keeps a result that is too large for a record, and hands it on', async () => {
    const { runtime } = await world();
    const graph = defineGraph({ name: 'g' })
      .node('big', () => 'x'.repeat(3_000_000), { from: 'input' })
      .node('size', (text) => text.length, { from: 'big' })
      .build({ output: 'size' });
    expect(await runtime.run(graph, '').result).toMatchObject({ output: 3_000_000 });
  });
});

describe('sinks of a graph', { timeout: 10_000 }, () => {
  it.each<[string, () => Promise<void>]>([
    ['throw', () => Promise.reject(new Error('no bus'))],
    ['never answer', () => new Promise<void>(() => undefined)],
  ])('GS-23 change nothing of its schedule where they %s', async (_, publish) => {
    const graph = defineGraph({ name: 'g', input: z.array(z.number()) })
      .map('doubled', (n) => n * 2, { from: 'input' })
      .node('sum', (list) => list.reduce((a, b) => a + b, 0), { from: 'doubled' })
      .build({ output: 'sum' });
    const factsWith = async (sinks: readonly Sink[]) => {
      const { runtime } = watchedRuntime({ sinks, limits: { events: { drainMs: 0 } } });
      const run = runtime.run(graph, [1, 2, 3]);
      expect(await run.result).toMatchObject({ status: 'completed', output: 12 });
      const records = await runtime.sessions.read(run.sessionId);
      return records.map(({ type, data }) => `${type} ${'work' in data ? data.work : ''}`);
    };
    const sink: Sink = { name: 'bus', publish };
    expect(await factsWith([sink])).toEqual(await factsWith([]));
  });
});
