import { z } from 'zod';

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().nonnegative();
const text = z.string();

/** A live tool as it was when it was bound. */
const toolPinSchema = z.strictObject({ name: text, source: text, schemaHash: hash });

/** Data of the records of how tools were found and came and went, by type. */
export const DISCOVERY_RECORD_DATA = {
  'tools.searched': z.strictObject({
    query: text,
    limit: count,
    ranked: z.array(text),
    activated: z.array(text),
    alreadyActive: z.array(text),
    omittedByLimit: count,
    omittedByBytes: count,
    schemaChars: count,
    durationMs: z.number().nonnegative(),
  }),
  'tools.activated': z.strictObject({ names: z.array(text), schemaChars: count }),
  'tools.cleared': z.strictObject({ names: z.array(text) }),
  /** What discovery was worth in one turn; only of turns that had deferred tools. */
  'tools.measured': z.strictObject({
    deferredCount: count,
    /** Deferred tools that became visible, and what their definitions cost. */
    exposedDeferred: z.array(text),
    exposedDeferredSchemaChars: count,
    /** Of the exposed ones, those that were called then. */
    calledDeferred: z.array(text),
    exposedUnusedCount: count,
    exposedUnusedSchemaChars: count,
    searchCount: count,
    /** Searches whose words had been searched for before. */
    repeatedSearchCount: count,
    /** Searches with other words, after one of which no result had been called. */
    revisedSearchCount: count,
    /** Searches that found nothing at all. */
    emptySearchCount: count,
    /** Deferred tools that the model called, visible or not, with the best place a search before gave them, from 1. */
    wanted: z.array(z.strictObject({ name: text, rank: count.optional() })),
    /** Share of them that a search before placed among the first `k`; absent where none was called. */
    recallAtK: z.number().min(0).max(1).optional(),
    k: count,
    /** Those that a search before ranked and cut. */
    missOutsideCap: count,
    hiddenCallRejections: count,
    /** From the start of the turn to the first success of a tool that is not the runtime's own. */
    timeToFirstSuccessfulToolCallMs: z.number().nonnegative().optional(),
    stepsToFirstSuccessfulToolCall: count.optional(),
    /** Requests of the turn whose tools were not those of the request before. */
    toolsBlockChanges: count,
  }),
  /** Live tools that are bound from the next step on, or no more. A large change is several facts of one revision. */
  'tools.changed': z.strictObject({
    /** Counts the bindings of a turn from 1, the one it opened with. */
    revision: count,
    added: z.array(toolPinSchema),
    /** Bound before with another schema, description or source. */
    changed: z.array(toolPinSchema),
    withdrawn: z.array(text),
    /** Offered and not bound: `reason` is the code of what is wrong with it. */
    excluded: z.array(z.strictObject({ name: text, source: text, reason: text })),
  }),
} as const;
