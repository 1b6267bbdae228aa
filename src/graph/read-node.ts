import { z } from 'zod';
import { isAgent } from '../agent/define-agent.ts';
import { safeName } from '../tools/safe-text.ts';
import { wrongGraph } from './check-graph.ts';
import { isSwarm } from './define-swarm.ts';
import type { GraphNode } from './graph-node.ts';
import type { AnyTarget } from './node-target.ts';

// Runtime twins of the builder's types: JavaScript callers and casts get past those.

const call = z.custom<(value: never) => never>((value) => typeof value === 'function', 'must be a function');
const count = z.int().positive();

const settings = {
  retry: z
    .strictObject({
      attempts: count,
      delayMs: z.number().nonnegative().optional(),
      backoff: z.number().min(1).optional(),
    })
    .optional(),
  timeoutMs: z.number().positive().optional(),
  recovery: z.enum(['never_auto_retry', 'replay_safe', 'idempotent']).optional(),
};

const name = z.string();

/** Infinity too, so that `build()` can say what is wrong with it. */
const bound = z.custom<number>((value) => typeof value === 'number', 'must be a number');

/** One predecessor; several are kept so that `build()` can say what is wrong with them. */
const from = z.union([name.transform((one) => [one]), z.array(name)]).optional();

const options = {
  node: z.strictObject({ from, when: call.optional(), input: call.optional(), ...settings }),
  map: z.strictObject({ from, over: call.optional(), maxConcurrency: count.optional(), ...settings }),
  join: z.strictObject({
    from: z.array(name),
    need: z.union([z.enum(['all', 'any']), z.number()]).optional(),
    onError: z.enum(['fail', 'collect']).optional(),
    ...settings,
  }),
  loop: z.strictObject({ from, back: name, while: call, max: bound }),
} as const;

/** What a call of a builder says of a node. */
export interface NodeCall {
  readonly type: GraphNode['type'];
  readonly name: string;
  readonly target: unknown;
  readonly options: unknown;
}

type Given = Partial<
  z.infer<typeof options.node> &
    z.infer<typeof options.map> &
    Omit<z.infer<typeof options.join>, 'from'> &
    Omit<z.infer<typeof options.loop>, 'from'>
>;

/** @throws SwarmError 'invalid-definition' naming the node and what is wrong with its target or options */
export function readNode(graph: string, { type, name: node, target, options: given }: NodeCall): GraphNode {
  const who = `node ${safeName(String(node))}`;
  const parsed = options[type].safeParse(given ?? {});
  if (!parsed.success) throw wrongGraph(graph, `${who}: ${complaintOf(parsed.error.issues[0])}`);
  const isOptional = type === 'join' || type === 'loop';
  if (!(isTarget(target) || (isOptional && target === undefined))) {
    throw wrongGraph(graph, `${who}: what it runs is a function, an agent, a swarm or a graph`);
  }
  // Each schema gives a part of the fields; those of other kinds of nodes are absent.
  const read: Given = parsed.data;
  const { attempts = 1, delayMs = 0, backoff = 2 } = read.retry ?? {};
  const { back, while: repeats, max } = read;
  return Object.freeze({
    name: node,
    type,
    from: Object.freeze([...(read.from ?? [])]),
    // Checked above.
    target: target as AnyTarget | undefined,
    when: read.when,
    input: read.input,
    over: read.over,
    maxConcurrency: read.maxConcurrency,
    need: needOf(read.need),
    onError: read.onError ?? 'fail',
    loop:
      back === undefined || repeats === undefined
        ? undefined
        : Object.freeze({ back, while: repeats, max: max ?? 0 }),
    retry: Object.freeze({ attempts, delayMs, backoff }),
    timeoutMs: read.timeoutMs,
    recovery: read.recovery ?? 'never_auto_retry',
  });
}

function needOf(need: 'all' | 'any' | number | undefined): number | undefined {
  if (need === 'any') return 1;
  return typeof need === 'number' ? need : undefined;
}

function isTarget(value: unknown): boolean {
  if (typeof value === 'function' || isAgent(value) || isSwarm(value)) return true;
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'graph';
}

function complaintOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') {
    return `there is no option ${issue.keys.map((key) => safeName(key)).join(', ')}`;
  }
  return `${issue?.path.map(String).join('.') || 'its options'}: ${issue?.message ?? ''}`;
}
