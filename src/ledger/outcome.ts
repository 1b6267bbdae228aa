import { z } from 'zod';

const text = z.string();

/** Why something failed, as it is kept: scrubbed, bounded, without the error object. */
export const failureSchema = z.strictObject({
  kind: text,
  detail: text.optional(),
  message: text,
  status: z.int().optional(),
  code: text.optional(),
  retryAfterMs: z.number().nonnegative().optional(),
  requestId: text.optional(),
});

/** How a turn may end. */
export const turnStatusSchema = z.enum([
  'completed',
  'failed',
  'cancelled',
  'interrupted',
  'yielded',
  'handed-off',
]);
