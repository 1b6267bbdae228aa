import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineGraph } from '../../src/graph/define-graph.ts';

/** A builder as plain JavaScript sees it: without the types that refuse what is tested here. */
interface Loose {
  node(name: string, target: unknown, options?: unknown): Loose;
  map(name: string, target: unknown, options?: unknown): Loose;
  join(name: string, options?: unknown, target?: unknown): Loose;
  loop(name: string, options?: unknown): Loose;
  build(options: { readonly output: string }): unknown;
}

const loose = (): Loose => defineGraph({ name: 'g' }) as unknown as Loose;
const pass = (value: unknown) => value;
const yes = () => true;

describe('a wrong graph', () => {
  it.each<[string, () => unknown, string]>([
    [
      'a name given twice',
      () =>
        loose().node('a', pass, { from: 'input' }).node('a', pass, { from: 'input' }).build({ output: 'a' }),
      'the name a is given to two nodes',
    ],
    [
      'an unknown name',
      () => loose().node('a', pass, { from: 'nobody' }).build({ output: 'a' }),
      'the node a names nobody, which is no node',
    ],
    [
      'an unknown output',
      () => loose().node('a', pass, { from: 'input' }).build({ output: 'b' }),
      'the output b is no node',
    ],
    [
      'a second edge that is not declared',
      () =>
        loose()
          .node('a', pass, { from: 'input' })
          .node('b', pass, { from: 'input' })
          .node('c', pass, { from: ['a', 'b'] })
          .build({ output: 'c' }),
      'the node c has 2 edges into it: several predecessors are declared by a join',
    ],
    [
      'a node without a predecessor',
      () => loose().node('a', pass, {}).build({ output: 'a' }),
      'the node a cannot be reached: it has no predecessor',
    ],
    [
      'a cycle that nothing bounds',
      () =>
        loose()
          .node('a', pass, { from: 'c' })
          .node('b', pass, { from: 'a' })
          .node('c', pass, { from: 'b' })
          .build({ output: 'c' }),
      'an unbounded cycle: a -> b -> c -> a; repeat nodes by a loop',
    ],
    [
      'a node that reads itself',
      () => loose().node('a', pass, { from: 'a' }).build({ output: 'a' }),
      'an unbounded cycle: a -> a; repeat nodes by a loop',
    ],
    [
      'a join without predecessors',
      () => loose().join('j', { from: [] }).build({ output: 'j' }),
      'the join j can never fire: it has no predecessor',
    ],
    [
      'a join that needs more than it has',
      () =>
        loose()
          .join('j', { from: ['input'], need: 2 })
          .build({ output: 'j' }),
      'the join j can never fire: it needs 2 of 1 predecessors',
    ],
    [
      'a join that needs none',
      () =>
        loose()
          .join('j', { from: ['input'], need: 0 })
          .build({ output: 'j' }),
      'the join j can never fire: it needs 0 of 1 predecessors',
    ],
    [
      'a join that names a predecessor twice',
      () =>
        loose()
          .join('j', { from: ['input', 'input'] })
          .build({ output: 'j' }),
      'the join j names a predecessor twice',
    ],
    [
      'a loop without a bound',
      () =>
        loose()
          .node('a', pass, { from: 'input' })
          .loop('l', { from: 'a', back: 'a', while: yes, max: Number.POSITIVE_INFINITY })
          .build({ output: 'l' }),
      'the loop l needs a bound: max is Infinity, not a whole number of at least 1',
    ],
    [
      'a loop back to a node that does not lead to its end',
      () =>
        loose()
          .node('a', pass, { from: 'input' })
          .node('b', pass, { from: 'input' })
          .loop('l', { from: 'a', back: 'b', while: yes, max: 2 })
          .build({ output: 'l' }),
      'the loop l goes back from a to b, which does not lead to it',
    ],
    [
      'a node that reads what a loop repeats',
      () =>
        loose()
          .node('a', pass, { from: 'input' })
          .loop('l', { from: 'a', back: 'a', while: yes, max: 2 })
          .node('b', pass, { from: 'a' })
          .build({ output: 'b' }),
      'the node b reads a, which the loop l repeats: read l instead',
    ],
    [
      'an output that a loop repeats',
      () =>
        loose()
          .node('a', pass, { from: 'input' })
          .loop('l', { from: 'a', back: 'a', while: yes, max: 2 })
          .build({ output: 'a' }),
      'the output a is repeated by the loop l: take l instead',
    ],
    [
      'a loop in a loop',
      () =>
        loose()
          .node('a', pass, { from: 'input' })
          .loop('l', { from: 'a', back: 'a', while: yes, max: 2 })
          .node('b', pass, { from: 'l' })
          .loop('m', { from: 'b', back: 'a', while: yes, max: 2 })
          .build({ output: 'm' }),
      'the loops l and m share nodes: make the inner one a graph of its own',
    ],
    [
      'a node called input',
      () => loose().node('input', pass, { from: 'input' }).build({ output: 'input' }),
      'a node is called input, which is the input of the run',
    ],
    [
      'a name that is no token',
      () => loose().node('a b', pass, { from: 'input' }).build({ output: 'a b' }),
      'the name of node a b must match',
    ],
    [
      'an unknown option',
      () => loose().node('a', pass, { from: 'input', timeout: 1 }),
      'node a: there is no option timeout',
    ],
    [
      'a wrong option',
      () => loose().node('a', pass, { from: 'input', retry: { attempts: 0 } }),
      'node a: retry.attempts',
    ],
    ['a target of no kind', () => loose().node('a', 'agent', { from: 'input' }), 'node a: what it runs'],
    ['a graph without a name', () => defineGraph({ name: '' }), 'its name must match'],
  ])('is refused, naming the node: %s', (_, define, message) => {
    expect(define).toThrow(
      expect.objectContaining({ code: 'invalid-definition', message: expect.stringContaining(message) }),
    );
  });
});

describe('a graph', () => {
  const graph = defineGraph({ name: 'g', input: z.object({ files: z.array(z.string()) }) })
    .map('sizes', (file) => file.length, { from: 'input', over: ({ files }) => files })
    .node('big', (sizes) => sizes, { from: 'sizes', when: (sizes) => sizes.length > 1 })
    .loop('again', { from: 'big', back: 'big', while: () => false, max: 3 })
    .join('both', { from: ['sizes', 'again'], need: 'any', onError: 'collect' })
    .build({ output: 'both' });

  it('is plain frozen data', () => {
    expect(Object.isFrozen(graph)).toBe(true);
    expect(Object.isFrozen(graph.nodes)).toBe(true);
    expect(graph.nodes.every((node) => Object.isFrozen(node))).toBe(true);
  });

  it('leaves a builder as it was when a node is added', () => {
    const base = defineGraph({ name: 'g' }).node('a', pass, { from: 'input' });
    base.node('b', pass, { from: 'a' });
    expect(base.build({ output: 'a' }).nodes.map(({ name }) => name)).toEqual(['a']);
  });

  it('has another hash where nodes or edges differ', () => {
    const base = defineGraph({ name: 'g' }).node('a', pass, { from: 'input' });
    const one = base.node('b', pass, { from: 'a' }).build({ output: 'b' });
    const same = base.node('b', pass, { from: 'a' }).build({ output: 'b' });
    const other = base.node('b', pass, { from: 'input' }).build({ output: 'b' });
    expect(one.hash).toBe(same.hash);
    expect(one.hash).not.toBe(other.hash);
  });

  it('is drawn as Mermaid', () => {
    expect(graph.toMermaid()).toBe(`flowchart TD
  n0(["input"])
  n1[["sizes<br/>each item"]]
  n2["big"]
  n3{"again"}
  n4{{"both<br/>1 of 2, collect"}}
  n0 --> n1
  n1 -- "when" --> n2
  n2 --> n3
  n3 -. "at most 3" .-> n2
  n1 --> n4
  n3 --> n4
  done((("output")))
  n4 --> done
`);
  });

  it('CX-09 draws hostile names of its targets as text', () => {
    const inner = { ...graph, name: 'a"] --> b\n click b "javascript:alert(1)" <script>' };
    const chart = loose().node('x', inner, { from: 'input' }).build({ output: 'x' }) as typeof graph;
    expect(chart.toMermaid().split('\n')[2]).toMatch(/^ {2}n1\(\["x<br\/>[A-Za-z0-9_.:\- #;]+"\]\)$/);
  });
});
