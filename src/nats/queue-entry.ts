import { z } from 'zod';
import { isSessionId } from '../ids.ts';
import { jsonValueSchema } from '../ledger/content.ts';
import { queuedTurnSchema } from './work-queue.ts';

const id = z.string().refine(isSessionId, 'not an id');

const decisionSchema = z.union([
  z.enum(['block', 'retry', 'abandon']),
  z.strictObject({ settle: jsonValueSchema }),
]);

/** Asks for what is open in a session to be taken up. */
export const queuedWakeSchema = z.object({
  v: z.literal(1),
  kind: z.literal('wake'),
  session: id,
  parent: id.optional(),
  child: id.optional(),
  cause: z.string().max(512),
  by: id.optional(),
  decisions: z.record(z.string(), decisionSchema).optional(),
  stop: z.object({ run: id, target: z.string().min(1).max(256), reason: z.string() }).optional(),
});

/** What waits in the queue of a pool. A turn says nothing of its kind. */
export const queueEntrySchema = z.union([queuedWakeSchema, queuedTurnSchema]);

export type QueueEntry = z.infer<typeof queueEntrySchema>;
