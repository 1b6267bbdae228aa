import { z } from 'zod';
import { CHILD_RECORD_DATA } from './child-records.ts';
import {
  artifactRefSchema,
  assistantPartSchema,
  jsonObjectSchema,
  jsonValueSchema,
  toolOutputSchema,
  usageSchema,
  userPartSchema,
} from './content.ts';
import { CONTEXT_RECORD_DATA } from './context-records.ts';
import { DISCOVERY_RECORD_DATA } from './discovery-records.ts';
import { GRAPH_RECORD_DATA } from './graph-records.ts';
import { failureSchema, turnStatusSchema } from './outcome.ts';

const id = z.string().min(1).max(256);
const hash = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().nonnegative();
const text = z.string();

/** Why something failed, as it is kept: scrubbed, bounded, without the error object. */
export type Failure = z.infer<typeof failureSchema>;

/** How a turn ended. */
export type TurnStatus = z.infer<typeof turnStatusSchema>;

export const stopReasonSchema = z.enum([
  'end-turn',
  'max-tokens',
  'step-limit',
  'user-stop',
  'after-step-stop',
  'tool-end',
  'error',
  'budget',
  'context-budget-exhausted',
  'handoff',
  'graph-yield',
  'other',
]);
export type StopReason = z.infer<typeof stopReasonSchema>;

/**
 * Whose move it is where a turn stands open: a person's, a decision on an unknown outcome, whoever asked for it, or
 * children's that other workers have.
 */
export const pauseReasonSchema = z.enum(['approval', 'indeterminate', 'requested', 'children']);
/** Why a turn is paused. */
export type PauseReason = z.infer<typeof pauseReasonSchema>;

/** Modes a tool declares for the time after a crash; see `defineTool`. */
export const recoveryModeSchema = z.enum(['never_auto_retry', 'replay_safe', 'idempotent', 'reconcile']);
export type RecoveryMode = z.infer<typeof recoveryModeSchema>;

export const approvalScopeSchema = z.enum(['call', 'turn', 'session']);
export type ApprovalScope = z.infer<typeof approvalScopeSchema>;

/** A model request that is no step: it answers to the runtime, not to the conversation. */
export const auxiliaryRequestSchema = z.strictObject({
  purpose: z.enum(['name', 'arguments']),
  provider: text,
  model: text,
  status: z.enum(['completed', 'failed']),
  usage: usageSchema.optional(),
});

/**
 * The data of every record type, by type. A record is a fact: past tense, never changed. `type` is also the
 * stem of the public event made of it (the table is in `src/events/`).
 */
export const RECORD_DATA = {
  'session.opened': z.strictObject({
    kind: z.enum(['agent', 'graph']),
    /** Names of the tools the session may ever use, and their hash. */
    ceiling: z.array(text),
    ceilingHash: hash,
    /** Names of the agents from the root to this one. */
    agentPath: z.array(text),
    depth: count,
    origin: z.strictObject({ session: id, seq: count, hash }).optional(),
  }),
  'session.closed': z.strictObject({ reason: text }),

  /** What became of a run that was given to workers: for whoever gave it. A paused one may settle again. */
  'run.settled': z.strictObject({
    run: id,
    /** The run that took it up, where that is another one. */
    by: id.optional(),
    /** Whose workers go on with it where it is paused. */
    pool: text.optional(),
    status: z.enum(['completed', 'failed', 'cancelled', 'paused']),
    stopReason: stopReasonSchema.optional(),
    error: failureSchema.optional(),
    /** Why it was cancelled. */
    reason: text.optional(),
    pause: pauseReasonSchema.optional(),
    steps: count,
    toolCalls: count,
    usage: z.strictObject({
      total: usageSchema,
      byAgent: z.record(text, usageSchema),
      reported: usageSchema,
    }),
    /** Of a run that did not complete: the text there was. */
    text: text.optional(),
    /** Of a graph; what an agent yields is in its turn. */
    output: jsonValueSchema.optional(),
    /** An output too large for a record. */
    outputRef: artifactRefSchema.optional(),
  }),

  'turn.opened': z.strictObject({
    ordinal: count,
    run: id,
    input: z.array(userPartSchema),
    /** Bound tools of the turn, by name, and the hash of their definitions. */
    bound: z.array(text),
    boundHash: hash,
    discovery: text,
    model: text,
    instructionsHash: hash,
    budget: jsonObjectSchema.optional(),
    /** Names the run may use at most, where it was given a ceiling: holds for live tools that come later too. */
    ceiling: z.array(text).optional(),
    /** Set where nobody spoke: a supervisor is told of its schedule. */
    wake: z
      .strictObject({
        /** Facts of the schedule it is told of. */
        version: count,
        /** Position in the session up to which it is told. */
        position: count,
        /** Counts the turns that were opened to tell it, from 1. */
        attempt: count,
      })
      .optional(),
  }),
  'turn.paused': z.strictObject({ reason: pauseReasonSchema, open: z.array(id) }),
  'turn.resumed': z.strictObject({ run: id }),
  'turn.closed': z.strictObject({
    status: turnStatusSchema,
    stopReason: stopReasonSchema,
    steps: count,
    toolCalls: count,
    /** Absent when one attempt of the turn has no usable report. */
    usage: usageSchema.optional(),
    error: failureSchema.optional(),
    reason: text.optional(),
    output: jsonValueSchema.optional(),
    /** Tools of the last request; those of the first are in its step. Absent where none was made. */
    tools: z.strictObject({ visible: count, schemaChars: count, toolsHash: hash }).optional(),
  }),

  'step.opened': z.strictObject({
    index: count,
    /** Names visible in the request of this step, in wire order: the snapshot the gate reads. */
    visible: z.array(text),
    toolsHash: hash,
    schemaChars: count,
    active: z.array(text),
    /**
     * Why the tools of the request are not those of the request before: found or changed ones since, or none of the
     * found ones any more because a new turn began. Tools that are not visible change nothing here.
     */
    toolsChange: z.enum(['tool_schema_changed', 'activation_cleared']).optional(),
  }),
  'request.prepared': z.strictObject({
    sha256: hash,
    chars: count,
    messages: count,
    systemHash: hash,
    toolsHash: hash,
    toolChoice: text,
    /** Tokens of the request as counted before any calibration; absent in facts of older versions. */
    tokens: z.number().nonnegative().optional(),
    body: artifactRefSchema.optional(),
  }),
  'attempt.started': z.strictObject({ attempt: count, sha256: hash }),
  'attempt.failed': z.strictObject({ attempt: count, failure: failureSchema, retryable: z.boolean() }),
  'attempt.retry-scheduled': z.strictObject({
    attempt: count,
    maxAttempts: count,
    delayMs: z.number().nonnegative(),
    reason: text,
  }),
  'assistant.message': z.strictObject({
    content: z.array(assistantPartSchema),
    /** Written on abort, failure or before an idle retry: not all of what the model meant to say. */
    partial: z.literal(true).optional(),
    attempt: count,
    /** Provider and model that wrote it: their metadata goes back to nobody else. */
    provider: text,
    model: text,
  }),
  'step.warned': z.strictObject({ warnings: z.array(text) }),
  'step.closed': z.strictObject({
    status: z.enum(['completed', 'failed', 'aborted']),
    attempts: count,
    calls: count,
    finish: text.optional(),
    rawFinish: text.optional(),
    usage: usageSchema.optional(),
    failure: failureSchema.optional(),
    modelId: text.optional(),
    responseId: text.optional(),
    /** Model requests beside the one of the step: what mending its calls took. Their usage is not in `usage`. */
    auxiliary: z.array(auxiliaryRequestSchema).optional(),
  }),

  'tool.called': z.strictObject({
    ordinal: count,
    /** Id the provider gave; an attribute, repeated by some providers. */
    wireId: text,
    /** Canonical name after repair, or the name the model wrote where none matches. */
    toolName: text,
    /** The tool of the runtime through which the model called it. */
    via: text.optional(),
    requestedName: text.optional(),
    /** Arguments after the ladder, or what could be kept of unusable ones. */
    args: jsonObjectSchema,
    argsRef: artifactRefSchema.optional(),
    argsHash: hash,
    schemaHash: hash.optional(),
    /** Why the arguments cannot be used; the call is then refused. Names fields, never values. */
    invalid: text.optional(),
    repaired: z.array(text).optional(),
    providerMetadata: jsonObjectSchema.optional(),
  }),
  'tool.refused': z.strictObject({
    code: text,
    text,
    toolName: text,
    /** Stable codes of what the text says, for programs. */
    details: jsonObjectSchema.optional(),
  }),
  'tool.dispatched': z.strictObject({
    operationId: id,
    toolName: text,
    recovery: recoveryModeSchema,
    argsHash: hash,
    generation: count,
    /** Set when a person edited the arguments: what was approved and runs. */
    editedArgs: jsonObjectSchema.optional(),
    /** A tool of the runtime: it acts on nothing outside, so that its lost outcome is a question to nobody. */
    own: z.literal(true).optional(),
  }),
  'tool.progressed': z.strictObject({ text }),
  'tool.settled': z.strictObject({
    operationId: id,
    toolName: text,
    status: z.enum(['success', 'error', 'aborted', 'timeout', 'abandoned', 'interrupted']),
    /** What the model sees. */
    output: toolOutputSchema,
    /** What the tool returned, whole, where it differs from `output` and is small enough. */
    result: jsonValueSchema.optional(),
    resultRef: artifactRefSchema.optional(),
    durationMs: z.number().nonnegative(),
    endsTurn: z.boolean().optional(),
  }),
  'tool.indeterminate': z.strictObject({ operationId: id, toolName: text, reason: text }),
  'tool.reconciled': z.strictObject({
    operationId: id,
    decision: z.enum(['retry', 'abandon', 'settle', 'reconciled']),
    actor: text,
    evidence: text.optional(),
  }),
  'tool.late': z.strictObject({ operationId: id, toolName: text, afterMs: z.number().nonnegative() }),

  ...DISCOVERY_RECORD_DATA,

  ...CONTEXT_RECORD_DATA,

  ...GRAPH_RECORD_DATA,

  'steering.accepted': z.strictObject({ id, text, actor: text.optional() }),
  'steering.injected': z.strictObject({ ids: z.array(id) }),
  'steering.undelivered': z.strictObject({ ids: z.array(id), reason: text }),

  'permission.requested': z.strictObject({
    request: id,
    kind: z.enum(['permission', 'question']),
    toolName: text,
    argsHash: hash,
    schemaHash: hash.optional(),
    /** Key of remembered decisions: approval scope or tool + schema hash + argument pattern. */
    scopeKey: text,
    rememberable: z.boolean(),
    /** What would run, where a gate put it in place of what the model sent. */
    input: jsonObjectSchema.optional(),
    /** Milliseconds since the epoch; absent = never. */
    expiresAt: z.number().optional(),
    question: text.optional(),
  }),
  'permission.decided': z.strictObject({
    request: id,
    decision: z.enum(['approve', 'deny']),
    scope: approvalScopeSchema,
    reason: text.optional(),
    editedInput: jsonObjectSchema.optional(),
    /** Answer to a question. */
    answer: text.optional(),
    argsHash: hash,
    actor: text.optional(),
    /** The request whose remembered decision this one follows. */
    by: id.optional(),
  }),
  'permission.expired': z.strictObject({ request: id }),
  'permission.cancelled': z.strictObject({ request: id, reason: text }),

  ...CHILD_RECORD_DATA,

  'budget.exceeded': z.strictObject({ budget: text, limit: z.number(), used: z.number() }),
  /** `hook` may be {@link ALL_EFFECTS}. */
  'effect.done': z.strictObject({ hook: text, fact: id }),
  'message.received': z.strictObject({ from: text, parts: z.array(userPartSchema) }),
  'message.refused': z.strictObject({ from: text, reason: text }),
} as const;

/** In the place of an effect: no effect of the fact is to run, as the session it was taken over from ran them. */
export const ALL_EFFECTS = '*';

/** The closed set of record types this version writes. */
export type RecordType = keyof typeof RECORD_DATA;

/** Data of a record of type `T`. */
export type RecordData<T extends RecordType> = z.infer<(typeof RECORD_DATA)[T]>;

/** What a writer appends. The store adds position, epoch, time and hash. */
export type NewRecord = {
  [T in RecordType]: {
    readonly type: T;
    readonly data: RecordData<T>;
    readonly turn?: string;
    readonly step?: string;
    readonly call?: string;
    /** Id of the record that led to this one. */
    readonly cause?: string;
  };
}[RecordType];

/** Facts that hold for every record of a session; the first append of a session fixes them. */
export interface SessionIdentity {
  readonly session: string;
  readonly root: string;
  readonly parent?: string;
  readonly agent: string;
}

/** One stored fact. `seq` counts from 1 without gaps in its session; `hash` covers all else and `prev`. */
export type LedgerRecord = NewRecord &
  SessionIdentity & {
    readonly v: 1;
    /** `<session>:<seq>` */
    readonly id: string;
    readonly seq: number;
    /** Writer generation: a record of an older epoch never follows one of a newer. */
    readonly epoch: number;
    /** Version of the data of this type. */
    readonly tv: number;
    /** Milliseconds since the epoch. */
    readonly at: number;
    readonly prev: string;
    readonly hash: string;
  };

/** A stored fact of one type. */
export type RecordOf<T extends RecordType> = Extract<LedgerRecord, { readonly type: T }>;

/** `prev` of the first record of a session. */
export const GENESIS_HASH = '0'.repeat(64);
