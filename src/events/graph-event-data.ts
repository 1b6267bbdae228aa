import { z } from 'zod';
import { artifactRefSchema, jsonValueSchema, usageSchema } from '../ledger/content.ts';
import { eventData, failureFacts, none } from './event-parts.ts';

const text = z.string();
const texts = z.array(z.string());
const id = z.string();
const count = z.int().nonnegative();

/** Public events of schedules: what is to be done, and what became of it. */
export const GRAPH_EVENT_DATA = {
  'graph.updated': eventData(
    { revision: count, operators: texts, works: texts, stopped: texts, finishes: z.boolean() },
    { instructions: z.record(text, text), reason: text },
  ),
  'graph.claimed': eventData(
    { work: id, node: text, activation: count, revision: count, child: id.optional() },
    none,
  ),
  'graph.readied': eventData({ work: id, node: text, items: count.optional() }, none),
  'graph.finished': eventData(
    {
      status: z.enum(['completed', 'failed', 'cancelled', 'interrupted']),
      error: failureFacts.optional(),
    },
    { message: text },
  ),
  'node.started': eventData(
    {
      node: text,
      work: id,
      attempt: count,
      operationId: id,
      child: id.optional(),
      /** Why this is not the first attempt. */
      because: z.enum(['retry', 'recovery', 'decision']).optional(),
    },
    none,
  ),
  'node.finished': eventData(
    {
      node: text,
      work: id,
      attempt: count,
      status: z.enum(['completed', 'failed', 'cancelled', 'indeterminate']),
      child: id.optional(),
      /** Set where another attempt follows, in milliseconds since the epoch. */
      retryAt: z.number().optional(),
      durationMs: z.number().nonnegative(),
      usage: usageSchema.optional(),
      outputRef: artifactRefSchema.optional(),
      error: failureFacts.optional(),
    },
    { output: jsonValueSchema, message: text },
  ),
  'node.skipped': eventData({ node: text, work: id, reason: text }, none),
} as const;
