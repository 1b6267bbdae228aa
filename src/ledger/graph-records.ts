import { z } from 'zod';
import { artifactRefSchema, jsonValueSchema, usageSchema } from './content.ts';
import { failureSchema } from './outcome.ts';

const id = z.string().min(1).max(256);
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().nonnegative();
const text = z.string();

/** Tokens of a child and of everything below it. An absent `usage` is unknown, never zero. */
const spentSchema = z.strictObject({
  usage: usageSchema.optional(),
  steps: count,
  toolCalls: count,
});

/**
 * Somebody who does work, one work at a time: a node of a graph, or a child session that a supervisor schedules.
 * It is there from its update on and never changes.
 */
export const operatorSchema = z.strictObject({
  operator: id,
  kind: z.enum(['agent', 'function', 'graph', 'swarm', 'join']),
  /** What it runs, by name; absent for functions and plain joins. */
  target: text.optional(),
  /** Gets one work for each result of these operators, now and later. */
  routes: z.array(id).optional(),
  /** What each of those works is to do. */
  instruction: text.optional(),
});

/** One scheduled instruction. */
export const workSchema = z.strictObject({
  work: id,
  operator: id,
  /** Works whose results it is given: it waits until they are settled. */
  inputs: z.array(id),
  /** Records of operators, by id, that it is given too. */
  records: z.array(id).optional(),
  /** Inputs that must have completed; absent = every one that was not skipped. */
  need: count.optional(),
  /** `collect`: runs on failed inputs as well, and is told of them. */
  onError: z.enum(['fail', 'collect']),
  /** Runs once for each item of a list; `graph.readied` says how many there are. */
  each: z.literal(true).optional(),
  /** Items at once. */
  maxConcurrency: count.optional(),
  instruction: text.optional(),
  /** A work that is stopped because this one stands for it. */
  replaces: id.optional(),
});

/**
 * Data of the records of a schedule, by type. They stand in the session the schedule belongs to, and are all that its
 * state is made of.
 */
export const GRAPH_RECORD_DATA = {
  /** One change of what is to be done. Revisions count from 1 without gaps. */
  'graph.updated': z.strictObject({
    revision: count,
    /** Who asked: the same update again is this one. Its content is held to `fingerprint`. */
    update: id,
    fingerprint: hash,
    operators: z.array(operatorSchema),
    works: z.array(workSchema),
    /** Works, operators with all their works, or `*` for everything. A name nobody knows is ignored. */
    stops: z.array(z.strictObject({ target: id, reason: text })),
    /** The last update: nothing is added any more. */
    finish: z.strictObject({ results: z.array(id), reason: text }).optional(),
  }),
  /** The inputs of a work are settled; what it runs on is fixed from here on. */
  'graph.readied': z.strictObject({
    work: id,
    operator: id,
    /** Inputs it runs on, of those that were settled then. */
    inputs: z.array(id),
    /** Items of a work that runs once for each. */
    items: count.optional(),
  }),
  /** A work was admitted, once. Ids of what will run are fixed before anything runs. */
  'graph.claimed': z.strictObject({
    work: id,
    operator: id,
    /** Counts the works of the operator from 1. */
    activation: count,
    /** Revision of the schedule it was admitted at. */
    revision: count,
    /** Session the operator is bound to. */
    child: id.optional(),
  }),
  /** A schedule ended: everything it started is settled. */
  'graph.finished': z.strictObject({
    status: z.enum(['completed', 'failed', 'cancelled', 'interrupted']),
    error: failureSchema.optional(),
  }),

  /** A work is entered: nothing of it runs before this is durable. */
  'node.started': z.strictObject({
    work: id,
    node: id,
    attempt: count,
    /** The same for every attempt: an idempotency key for outside systems. */
    operationId: id,
    recovery: z.enum(['never_auto_retry', 'replay_safe', 'idempotent', 'reconcile']).optional(),
    child: id.optional(),
    /** Why this is not the first attempt. */
    because: z.enum(['retry', 'recovery', 'decision']).optional(),
  }),
  /**
   * An attempt ended. It is the outcome of the work, unless another attempt follows `retryAt` or its own outcome is
   * unknown (`indeterminate`): then somebody decides.
   */
  'node.finished': z.strictObject({
    work: id,
    node: id,
    attempt: count,
    status: z.enum(['completed', 'failed', 'cancelled', 'indeterminate']),
    output: jsonValueSchema.optional(),
    /** The output where it is too large for a record. */
    outputRef: artifactRefSchema.optional(),
    error: failureSchema.optional(),
    /** When the next attempt may start, in milliseconds since the epoch. */
    retryAt: z.number().optional(),
    child: id.optional(),
    /** What the child came to: last position of its ledger and its hash. */
    head: z.strictObject({ seq: count, hash }).optional(),
    spent: spentSchema.optional(),
    durationMs: z.number().nonnegative(),
    /** Set where a person or program said what became of it. */
    decision: z.enum(['settle', 'abandon']).optional(),
  }),
  /** A work will not run, which settles it. */
  'node.skipped': z.strictObject({
    work: id,
    node: id,
    reason: z.enum([
      /** The condition of its edge was false. */
      'condition',
      /** All its predecessors were skipped. */
      'inputs-skipped',
      /** A predecessor failed. */
      'input-failed',
      /** Too few predecessors completed for a join. */
      'join-unmet',
      /** Another item of its map failed. */
      'sibling-failed',
      /** The graph ended first. */
      'graph-ended',
    ]),
  }),
} as const;
