import { z } from 'zod';
import { jsonObjectSchema, usageSchema } from './content.ts';
import { failureSchema, turnStatusSchema } from './outcome.ts';

const id = z.string().min(1).max(256);
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().nonnegative();
const text = z.string();

/** Data of the records a parent keeps of its children, by type. Each stands beside the call that asked. */
export const CHILD_RECORD_DATA = {
  /** Durable before the session of the child is opened. `specHash`: of the agent's name and the input. */
  'child.intended': z.strictObject({
    child: id,
    agent: text,
    specHash: hash,
    /** What the child is given, where it is not what the call says. */
    input: text.optional(),
    /** Set where any worker may have the child: what it is held to, and what of the budget of the run is its own. */
    grant: z
      .strictObject({
        bounds: z.strictObject({
          depth: count,
          agents: count,
          handoffs: count,
          fanOut: z.number().nonnegative(),
          fanOutQueue: z.number().nonnegative(),
        }),
        budget: jsonObjectSchema,
        /** Names of tools the run may use at most. */
        boundTools: z.array(text).optional(),
        /** Hash of the definition of the agent. */
        definition: text,
      })
      .optional(),
  }),
  /** The session of the child is open. */
  'child.started': z.strictObject({ child: id, agent: text }),
  /** The child settled, in one batch with the result of its call. */
  'child.finished': z.strictObject({
    child: id,
    agent: text,
    status: turnStatusSchema,
    /** Of the child and everything below it. Absent when one attempt has no usable report. */
    usage: usageSchema.optional(),
    steps: count,
    toolCalls: count,
    error: failureSchema.optional(),
    /** The session whose ledger holds the end, where the child handed off, and its last position and hash. */
    last: id,
    headSeq: count,
    headHash: hash,
  }),
  /** What became of the child cannot be learned; its turn may be open. */
  'child.lost': z.strictObject({ child: id, agent: text, reason: text }),

  /** Another agent takes over, in the session `child`, from the text `input`. */
  'handoff.taken': z.strictObject({ to: text, child: id, input: text }),
  'handoff.refused': z.strictObject({ to: text, reason: text }),
} as const;
