import { z } from 'zod';
import { failureSchema } from '../ledger/outcome.ts';

/** A failure without its message, which may quote a prompt. */
export const failureFacts = z.object(failureSchema.omit({ message: true }).shape);

/**
 * The two parts of one event's data: `facts` are always there. `content` (what people, models and tools said) is
 * there only where a policy lets it out; otherwise `digests` has an entry of the same name for each part left out.
 */
export function eventData<F extends z.ZodRawShape, C extends z.ZodRawShape>(facts: F, content: C) {
  return { facts: z.object(facts), content: z.object(content) };
}

/** Content of events that hold nothing anybody said. */
export const none = {};
