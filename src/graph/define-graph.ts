import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { AnyAgent } from '../agent/define-agent.ts';
import { SwarmError } from '../errors.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import { type LimitOptions, resolveLimits } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { isZodSchema } from '../tools/json-schema.ts';
import { checkGraph, type GraphShape, wrongGraph } from './check-graph.ts';
import type { GraphBuilder } from './graph-builder.ts';
import { chartOf } from './graph-chart.ts';
import { agentsIn, type GraphNode, targetKind } from './graph-node.ts';
import { readNode } from './read-node.ts';

/** Options of {@link defineGraph}. */
export interface GraphDefinition<Input, Parsed> {
  /** One subject token: `[A-Za-z0-9_-]`, at most 64 characters. Shown in events. */
  readonly name: string;
  /** What the graph is for, in one sentence. */
  readonly description?: string;
  /** What a run takes; the node `input` yields it, parsed. Default: text. */
  readonly input?: z.ZodType<Parsed, Input>;
  /** Bounds of this graph; the runtime's hold for the rest. */
  readonly limits?: LimitOptions;
}

/**
 * A graph, frozen: made by {@link defineGraph}. `Input` is what a run takes, `Output` what it yields, `Context` what its
 * agents, tools and functions need.
 */
export interface Graph<in Input = string, out Output = unknown, in Context = unknown> {
  readonly kind: 'graph';
  readonly name: string;
  readonly description: string;
  readonly nodes: readonly GraphNode[];
  /** Agents that its nodes run, also in graphs and swarms that are nodes. */
  readonly agents: readonly AnyAgent[];
  /** Name of the node whose result is the result of a run. */
  readonly output: string;
  readonly input: z.ZodType | undefined;
  readonly limits: LimitOptions;
  readonly shape: GraphShape;
  /** Of nodes and edges: a run goes on only with the graph it was begun with. */
  readonly hash: string;
  /** The graph as a Mermaid flowchart. */
  toMermaid(): string;
  /** Types only; never present at run time. */
  readonly '~types'?: {
    readonly output: Output;
    readonly takes: (input: Input, context: Context) => void;
  };
}

/** A graph whose types do not matter: registries, listings. */
export type AnyGraph = Graph<never, unknown, never>;

const GRAPH_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Nodes of one graph; larger work is data of a map, not nodes. */
const MAX_NODES = 1_000;

const FIELDS = ['name', 'description', 'input', 'limits'];

/**
 * Begins a graph: a durable schedule of agents, functions and other graphs, declared in code. `input` is a node.
 *
 * @throws SwarmError 'invalid-definition', 'invalid-limit'
 * @example
 * const review = defineGraph({ name: 'review', input: z.object({ files: z.array(z.string()) }) })
 *   .map('reviews', reviewer, { from: 'input', over: ({ files }) => files })
 *   .node('summary', (reviews) => reviews.join('\n'), { from: 'reviews' })
 *   .build({ output: 'summary' });
 * const result = await runtime.run(review, { files: ['a.ts', 'b.ts'] }).result;
 */
export function defineGraph<Input = string, Parsed = Input>(
  definition: GraphDefinition<Input, Parsed>,
): GraphBuilder<Input, { input: { in: Input; out: Parsed; maybe: false } }, unknown> {
  checkDefinition(definition);
  // The builder's types are phantoms over the same nodes: each call is checked against the ones before it.
  return builderOf(Object.freeze({ ...definition }), []) as never;
}

type AnyDefinition = Omit<GraphDefinition<unknown, unknown>, 'input'> & { readonly input?: z.ZodType };

function checkDefinition(definition: AnyDefinition): void {
  if (typeof definition !== 'object' || definition === null) {
    throw new SwarmError('invalid-definition', 'defineGraph takes an object with a name');
  }
  const { name, input, limits } = definition;
  if (typeof name !== 'string' || !GRAPH_NAME.test(name)) {
    throw wrongGraph(String(name), 'its name must match [A-Za-z0-9_-]{1,64}');
  }
  const unknown = Object.keys(definition).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw wrongGraph(name, `unknown field ${unknown}`);
  if (input !== undefined && !isZodSchema(input)) throw wrongGraph(name, 'input must be a zod 4 schema');
  resolveLimits(limits);
}

interface BuildOptions {
  readonly output: string;
}

const BUILD_OPTIONS: OptionNames<BuildOptions> = { output: true };

function builderOf(definition: AnyDefinition, nodes: readonly GraphNode[]): object {
  const add = (node: GraphNode) => builderOf(definition, [...nodes, node]);
  const { name: graph } = definition;
  return Object.freeze({
    node: (name: string, target: unknown, options: unknown) =>
      add(readNode(graph, { type: 'node', name, target, options })),
    map: (name: string, target: unknown, options: unknown) =>
      add(readNode(graph, { type: 'map', name, target, options })),
    join: (name: string, options: unknown, target: unknown) =>
      add(readNode(graph, { type: 'join', name, target, options })),
    loop: (name: string, options: unknown) =>
      add(readNode(graph, { type: 'loop', name, target: undefined, options })),
    build: (options: BuildOptions) => {
      assertOptions(`graph ${graph}: build`, options, BUILD_OPTIONS);
      return build(definition, nodes, options.output);
    },
  });
}

function build(definition: AnyDefinition, nodes: readonly GraphNode[], output: string): AnyGraph {
  const { name, description = '', input, limits = {} } = definition;
  if (nodes.length > MAX_NODES) throw wrongGraph(name, `${nodes.length} nodes, at most ${MAX_NODES}`);
  const shape = checkGraph(name, nodes, output);
  return Object.freeze({
    kind: 'graph' as const,
    name,
    description,
    nodes: Object.freeze(nodes),
    agents: Object.freeze(agentsIn(nodes)),
    output,
    input,
    limits: Object.freeze({ ...limits }),
    shape: Object.freeze(shape),
    hash: hashOf(nodes, output),
    toMermaid: () => chartOf(nodes, output),
  });
}

function hashOf(nodes: readonly GraphNode[], output: string): string {
  const shown = nodes.map((node) => ({
    name: node.name,
    type: node.type,
    from: [...node.from],
    kind: targetKind(node),
    target: typeof node.target === 'object' ? node.target.name : '',
    need: node.need ?? 0,
    onError: node.onError,
    back: node.loop?.back ?? '',
    max: node.loop?.max ?? 0,
  }));
  return createHash('sha256')
    .update(canonicalJson({ nodes: shown, output }))
    .digest('hex');
}

/** True for what a builder of {@link defineGraph} built. */
export function isGraph(value: unknown): value is AnyGraph {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    value.kind === 'graph' &&
    'shape' in value
  );
}
