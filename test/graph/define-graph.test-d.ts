import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { defineGraph, type Graph } from '../../src/graph/define-graph.ts';
import { defineSwarm } from '../../src/graph/define-swarm.ts';
import type { Branch } from '../../src/graph/graph-builder.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

const model = scriptedModel({ script: [] });
const writer = defineAgent({ name: 'writer', instructions: '', model });
const judge = defineAgent({
  name: 'judge',
  instructions: '',
  model,
  output: z.object({ good: z.boolean(), text: z.string() }),
});
const billed = defineTool({
  name: 'bill',
  description: '',
  inputSchema: z.object({}),
  execute: (_, ctx: { readonly context: { readonly customer: string } }) => ctx.context.customer,
});
const clerk = defineAgent({ name: 'clerk', instructions: '', model, tools: [billed] });

describe('a graph', () => {
  it('takes text and yields what its output yields', () => {
    const graph = defineGraph({ name: 'g' })
      .node('draft', writer, { from: 'input' })
      .node('verdict', judge, { from: 'draft' })
      .node('length', (verdict) => verdict.text.length, { from: 'verdict' })
      .build({ output: 'length' });
    expectTypeOf(graph).toEqualTypeOf<Graph<string, number, unknown>>();
  });

  it('takes what its schema takes, and its nodes get what that yields', () => {
    const graph = defineGraph({ name: 'g', input: z.object({ n: z.string().transform(Number) }) })
      .node('double', ({ n }) => n * 2, { from: 'input' })
      .build({ output: 'double' });
    expectTypeOf(graph).toEqualTypeOf<Graph<{ n: string }, number, unknown>>();
  });

  it('infers what conditions and mappers get', () => {
    defineGraph({ name: 'g' })
      .node('verdict', judge, { from: 'input' })
      .node('publish', writer, {
        from: 'verdict',
        when: (verdict) => {
          expectTypeOf(verdict).toEqualTypeOf<{ good: boolean; text: string }>();
          return verdict.good;
        },
        input: (verdict) => verdict.text,
      });
  });

  it('refuses an edge of the wrong type', () => {
    const graph = defineGraph({ name: 'g' }).node('verdict', judge, { from: 'input' });
    // @ts-expect-error: an agent takes text, not an object
    graph.node('next', writer, { from: 'verdict' });
    // @ts-expect-error: the edge brings an object
    graph.node('next', (value: number) => value, { from: 'verdict' });
    // @ts-expect-error: no such node
    graph.node('next', (value: unknown) => value, { from: 'nobody' });
    // @ts-expect-error: no such node
    graph.build({ output: 'nobody' });
    graph.node('next', writer, { from: 'verdict', input: ({ text }) => text });
    // @ts-expect-error: an agent takes text, not a number
    graph.node('next', writer, { from: 'verdict', input: ({ text }) => text.length });
    // @ts-expect-error: a condition decides yes or no
    graph.node('next', (value) => value, { from: 'verdict', when: ({ text }) => text });
  });

  it('needs the context of its agents and functions', () => {
    const graph = defineGraph({ name: 'g' })
      .node('bill', clerk, { from: 'input' })
      .node(
        'note',
        (text, ctx: { readonly context: { readonly locale: string } }) => text + ctx.context.locale,
        {
          from: 'bill',
        },
      )
      .build({ output: 'note' });
    expectTypeOf(graph).toExtend<
      Graph<string, string, { readonly customer: string; readonly locale: string }>
    >();
    // @ts-expect-error: nobody says who the customer is
    const wrong: Graph<string, string, { readonly locale: string }> = graph;
    void wrong;
  });

  it('takes another graph as a node', () => {
    const inner = defineGraph({ name: 'inner', input: z.object({ n: z.number() }) })
      .node('twice', ({ n }) => n * 2, { from: 'input' })
      .build({ output: 'twice' });
    const outer = defineGraph({ name: 'outer', input: z.object({ n: z.number() }) })
      .node('inner', inner, { from: 'input' })
      .build({ output: 'inner' });
    expectTypeOf(outer).toEqualTypeOf<Graph<{ n: number }, number, unknown>>();
    // @ts-expect-error: the inner graph takes an object
    defineGraph({ name: 'g' }).node('inner', inner, { from: 'input' });
  });
});

describe('a swarm as a node', () => {
  const team = defineSwarm({ name: 'team', supervisor: judge, agents: [writer], mode: 'swarm' });

  it('takes text and yields what its supervisor does', () => {
    const graph = defineGraph({ name: 'g' }).node('team', team, { from: 'input' }).build({ output: 'team' });
    expectTypeOf(graph).toEqualTypeOf<Graph<string, { good: boolean; text: string }, unknown>>();
    const verdicts = defineGraph({ name: 'g' }).node('verdict', judge, { from: 'input' });
    // @ts-expect-error: a swarm takes text, not an object
    verdicts.node('team', team, { from: 'verdict' });
  });
});

describe('a map', () => {
  it('gives its target the items and yields a list', () => {
    const graph = defineGraph({ name: 'g', input: z.array(z.string()) })
      .map('drafts', writer, { from: 'input' })
      .map('lengths', (draft) => draft.length, { from: 'drafts' })
      .build({ output: 'lengths' });
    expectTypeOf(graph).toEqualTypeOf<Graph<string[], readonly number[], unknown>>();
  });

  it('holds the items to what its target takes', () => {
    const graph = defineGraph({ name: 'g', input: z.object({ files: z.array(z.string()) }) });
    graph.map('drafts', writer, { from: 'input', over: ({ files }) => files });
    // @ts-expect-error: items are text
    graph.map('sums', (item: number) => item, { from: 'input', over: ({ files }) => files });
  });
});

describe('a join', () => {
  const branches = defineGraph({ name: 'g' })
    .node('a', (text) => text.length, { from: 'input' })
    .node('b', (text) => text, { from: 'input', when: (text) => text !== '' });

  it('gives its target the branches by name; one that may be skipped may be absent', () => {
    branches.join('both', { from: ['a', 'b'] }, (both) => {
      expectTypeOf(both.a).toEqualTypeOf<number>();
      expectTypeOf(both.b).toEqualTypeOf<string | undefined>();
    });
    branches.join('any', { from: ['a', 'b'], need: 'any' }, (any) => {
      expectTypeOf(any.a).toEqualTypeOf<number | undefined>();
    });
  });

  it('gives outcomes where it collects', () => {
    branches.join('both', { from: ['a', 'b'], onError: 'collect' }, (both) => {
      expectTypeOf(both.a).toEqualTypeOf<Branch<number>>();
      expectTypeOf(both.b).toEqualTypeOf<Branch<string> | undefined>();
    });
  });

  it('yields its branches where it has no target', () => {
    const graph = branches.join('both', { from: ['a'] }).build({ output: 'both' });
    expectTypeOf(graph).toExtend<Graph<string, { readonly a: number }, unknown>>();
  });

  it('names nodes there are', () => {
    // @ts-expect-error: no such node
    branches.join('both', { from: ['a', 'nobody'] });
  });
});

describe('a loop', () => {
  const draft = defineGraph({ name: 'g' })
    .node('draft', (text) => `${text}!`, { from: 'input' })
    .node('count', (text) => text.length, { from: 'draft' });

  it('goes back to a node that takes what it yields', () => {
    const graph = draft
      .loop('done', { from: 'draft', back: 'draft', while: (text) => text.length < 9, max: 9 })
      .build({ output: 'done' });
    expectTypeOf(graph).toEqualTypeOf<Graph<string, string, unknown>>();
    // @ts-expect-error: the draft takes text, and the count is a number
    draft.loop('done', { from: 'count', back: 'draft', while: () => true, max: 9 });
  });
});
