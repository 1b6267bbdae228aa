import { z } from 'zod';
import { usageSchema } from './content.ts';

const count = z.int().nonnegative();
const text = z.string();

/** Data of the records of what a model is given and must give, by type. */
export const CONTEXT_RECORD_DATA = {
  /** The history up to `coversSeq` is `summary` from here on, but for what people said in this turn. */
  'compaction.committed': z.strictObject({
    trigger: z.enum(['capacity', 'overflow']),
    coversSeq: count,
    /** Messages that went, and the characters before and after. */
    messages: count,
    fromChars: count,
    toChars: count,
    summary: text,
    /** Requests that made the summary, and what they cost; absent where one has no report. */
    requests: count,
    usage: usageSchema.optional(),
  }),
  /** No fold was made. `fits`: the request was sent as it was. */
  'compaction.skipped': z.strictObject({
    trigger: z.enum(['capacity', 'overflow']),
    reason: text,
    fits: z.boolean(),
    requests: count,
    usage: usageSchema.optional(),
  }),

  /** A request that the provider found too large could be made smaller: images up to `coversSeq` went, or a fold. */
  'overflow.recovered': z.strictObject({
    by: z.enum(['images', 'fold']),
    /** Estimate of the request that was refused. */
    tokens: z.number().nonnegative(),
    coversSeq: count.optional(),
  }),

  /** A provider that caches prompts read less than half of the request before from its cache, under the same tools. */
  'step.cache-broken': z.strictObject({
    previousInputTokens: count,
    cacheReadTokens: count,
    systemChanged: z.boolean(),
  }),

  /** An output that breaks the schema of its agent. `text` is what the model is told; after a call its result says it. */
  'output.rejected': z.strictObject({ attempt: count, via: z.enum(['text', 'call']), text }),
} as const;
