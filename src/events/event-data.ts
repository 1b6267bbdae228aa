import { z } from 'zod';
import {
  artifactRefSchema,
  jsonObjectSchema,
  jsonValueSchema,
  toolOutputSchema,
  usageSchema,
  userPartSchema,
} from '../ledger/content.ts';
import { turnStatusSchema } from '../ledger/outcome.ts';
import {
  approvalScopeSchema,
  auxiliaryRequestSchema,
  pauseReasonSchema,
  recoveryModeSchema,
  stopReasonSchema,
} from '../ledger/records.ts';
import { eventData, failureFacts, none } from './event-parts.ts';
import { GRAPH_EVENT_DATA } from './graph-event-data.ts';

const text = z.string();
const texts = z.array(z.string());
const id = z.string();
const ids = z.array(z.string());
const hash = z.string();
const count = z.int().nonnegative();
const ms = z.number().nonnegative();
const flag = z.boolean();

/** What is said of content that stays behind: its size in bytes of UTF-8 and the hash of them (of the JSON text). */
export const digestSchema = z.object({ bytes: count, sha256: hash });

/** Size and hash of content that an event leaves out. */
export type Digest = z.infer<typeof digestSchema>;

const stepEnd = {
  attempts: count,
  calls: count,
  finish: text.optional(),
  rawFinish: text.optional(),
  usage: usageSchema.optional(),
  modelId: text.optional(),
  responseId: text.optional(),
  auxiliary: z.array(z.object(auxiliaryRequestSchema.shape)).optional(),
};

/**
 * The closed table of public events, `<kind>.<name>`. Adding an optional field keeps the version of an event;
 * anything else needs a new one.
 */
export const EVENT_DATA = {
  'session.opened': eventData(
    {
      kind: z.enum(['agent', 'graph']),
      ceilingHash: hash,
      ceilingTools: count,
      agentPath: texts,
      depth: count,
      origin: z.object({ session: id, seq: count, hash }).optional(),
    },
    none,
  ),
  'session.closed': eventData({}, { reason: text }),

  'turn.opened': eventData(
    {
      ordinal: count,
      run: id,
      inputParts: count,
      boundTools: count,
      boundHash: hash,
      discovery: text,
      model: text,
      instructionsHash: hash,
      budget: jsonObjectSchema.optional(),
      /** Set where nobody spoke: a supervisor is told of its schedule. */
      wake: z.object({ version: count, position: count, attempt: count }).optional(),
    },
    { input: z.array(userPartSchema) },
  ),
  'turn.paused': eventData({ reason: pauseReasonSchema, open: ids }, none),
  'turn.resumed': eventData({ run: id }, none),
  'turn.closed': eventData(
    {
      status: turnStatusSchema,
      stopReason: stopReasonSchema,
      steps: count,
      toolCalls: count,
      usage: usageSchema.optional(),
      error: failureFacts.optional(),
      /** Tools of the last request. */
      tools: z.object({ visible: count, schemaChars: count, toolsHash: hash }).optional(),
    },
    { output: jsonValueSchema, reason: text, message: text },
  ),

  'step.started': eventData(
    {
      index: count,
      visible: texts,
      active: texts,
      toolsHash: hash,
      schemaChars: count,
      /** Why the tools are not those of the request before. */
      toolsChange: z.enum(['tool_schema_changed', 'activation_cleared']).optional(),
    },
    none,
  ),
  'step.completed': eventData(stepEnd, none),
  'step.failed': eventData(
    { ...stepEnd, status: z.enum(['failed', 'aborted']), failure: failureFacts.optional() },
    { message: text },
  ),

  /** The provider read less than half of the request before from its prompt cache, though the tools were the same. */
  'step.cache-broken': eventData(
    { previousInputTokens: count, cacheReadTokens: count, systemChanged: flag },
    none,
  ),

  'attempt.started': eventData({ attempt: count, sha256: hash }, none),
  'attempt.failed': eventData({ attempt: count, retryable: flag, failure: failureFacts }, { message: text }),
  'attempt.retry-scheduled': eventData(
    { attempt: count, maxAttempts: count, delayMs: ms, reason: text },
    none,
  ),

  'tool.called': eventData(
    {
      ordinal: count,
      wireId: text,
      toolName: text,
      via: text.optional(),
      requestedName: text.optional(),
      argsHash: hash,
      argsRef: artifactRefSchema.optional(),
      schemaHash: hash.optional(),
      /** Whether the arguments can be used; `complaint` says what is wrong with them. */
      valid: flag,
      repaired: texts.optional(),
    },
    { args: jsonObjectSchema, complaint: text },
  ),
  'tool.refused': eventData({ code: text, toolName: text, details: jsonObjectSchema.optional() }, { text }),
  'tool.dispatched': eventData(
    {
      operationId: id,
      toolName: text,
      recovery: recoveryModeSchema,
      argsHash: hash,
      generation: count,
      edited: flag,
    },
    { editedArgs: jsonObjectSchema },
  ),
  'tool.progressed': eventData({}, { text }),
  'tool.settled': eventData(
    {
      operationId: id,
      toolName: text,
      status: z.enum(['success', 'error', 'aborted', 'timeout', 'abandoned', 'interrupted']),
      outputType: z.enum(['text', 'error', 'json', 'content']),
      resultRef: artifactRefSchema.optional(),
      durationMs: ms,
      endsTurn: flag.optional(),
    },
    { output: toolOutputSchema, result: jsonValueSchema },
  ),
  'tool.indeterminate': eventData({ operationId: id, toolName: text, reason: text }, none),
  'tool.reconciled': eventData(
    {
      operationId: id,
      decision: z.enum(['retry', 'abandon', 'settle', 'reconciled']),
    },
    { evidence: text },
  ),

  'discovery.searched': eventData(
    {
      limit: count,
      ranked: texts,
      activated: texts,
      alreadyActive: texts,
      omittedByLimit: count,
      omittedByBytes: count,
      schemaChars: count,
      durationMs: ms,
    },
    { query: text },
  ),
  'discovery.activated': eventData({ names: texts, schemaChars: count }, none),
  /** Live tools came, went or changed: in force from the next step on. */
  'discovery.changed': eventData(
    {
      revision: count,
      added: texts,
      changed: texts,
      withdrawn: texts,
      excluded: z.array(z.object({ name: text, source: text, reason: text })),
    },
    none,
  ),
  'discovery.cleared': eventData({ names: texts }, none),
  'discovery.measured': eventData(
    {
      deferredCount: count,
      exposedDeferred: texts,
      exposedDeferredSchemaChars: count,
      calledDeferred: texts,
      exposedUnusedCount: count,
      exposedUnusedSchemaChars: count,
      searchCount: count,
      repeatedSearchCount: count,
      revisedSearchCount: count,
      emptySearchCount: count,
      wanted: z.array(z.object({ name: text, rank: count.optional() })),
      recallAtK: z.number().optional(),
      k: count,
      missOutsideCap: count,
      hiddenCallRejections: count,
      timeToFirstSuccessfulToolCallMs: ms.optional(),
      stepsToFirstSuccessfulToolCall: count.optional(),
      toolsBlockChanges: count,
    },
    none,
  ),

  'approval.requested': eventData(
    {
      request: id,
      kind: z.enum(['permission', 'question']),
      toolName: text,
      argsHash: hash,
      schemaHash: hash.optional(),
      rememberable: flag,
      /** Milliseconds since the epoch; absent = never. */
      expiresAt: z.number().optional(),
    },
    { question: text, scopeKey: text, input: jsonObjectSchema },
  ),
  'approval.decided': eventData(
    {
      request: id,
      decision: z.enum(['approve', 'deny']),
      scope: approvalScopeSchema,
      argsHash: hash,
      edited: flag,
      /** The request whose remembered decision this one follows. */
      by: id.optional(),
    },
    { reason: text, editedInput: jsonObjectSchema, answer: text },
  ),
  /** The request is gone without a decision: its time is over, or what it was asked for is. */
  'approval.expired': eventData(
    { request: id, cause: z.enum(['deadline', 'cancelled']), reason: text.optional() },
    none,
  ),

  'steering.accepted': eventData({ id }, { text }),
  'steering.injected': eventData({ ids }, none),
  'steering.undelivered': eventData({ ids, reason: text }, none),

  'child.intended': eventData({ child: id, agent: text, specHash: hash }, { input: text }),
  'child.started': eventData({ child: id, agent: text }, none),
  'child.finished': eventData(
    {
      child: id,
      agent: text,
      status: turnStatusSchema,
      /** Of the child and everything below it. */
      usage: usageSchema.optional(),
      steps: count,
      toolCalls: count,
      error: failureFacts.optional(),
      /** Session that holds the end, another one where the child handed off; its last position and hash. */
      last: id,
      headSeq: count,
      headHash: hash,
    },
    { message: text },
  ),
  'child.lost': eventData({ child: id, agent: text, reason: text }, none),

  'handoff.taken': eventData({ to: text, child: id }, { input: text }),
  'handoff.refused': eventData({ to: text, reason: text }, none),

  ...GRAPH_EVENT_DATA,

  'message.received': eventData({ from: text, parts: count }, { content: z.array(userPartSchema) }),
  'message.refused': eventData({ from: text, reason: text }, none),

  'compaction.committed': eventData(
    {
      trigger: z.enum(['capacity', 'overflow']),
      coversSeq: count,
      messages: count,
      fromChars: count,
      toChars: count,
      requests: count,
      usage: usageSchema.optional(),
    },
    { summary: text },
  ),
  'compaction.skipped': eventData(
    {
      trigger: z.enum(['capacity', 'overflow']),
      reason: text,
      /** The request was sent as it was. */
      fits: flag,
      requests: count,
      usage: usageSchema.optional(),
    },
    none,
  ),

  'budget.exceeded': eventData({ budget: text, limit: z.number(), used: z.number() }, none),

  /** Of running machines, not of the ledger: for inspection, and on no bus unless asked for. */
  'machine.transitioned': eventData(
    {
      machine: text,
      instance: id,
      parentInstance: id.optional(),
      /** Counts from 1 in one process. */
      number: count,
      from: text,
      to: text,
      event: text,
      illegal: flag.optional(),
      replayed: flag.optional(),
      fault: flag.optional(),
      final: flag.optional(),
      meta: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
    },
    none,
  ),
} as const;

/** `<kind>.<name>` of every public event. */
export type EventType = keyof typeof EVENT_DATA;

/** Events that are no fact of a ledger: they are seen live or not at all. */
export type LiveEventType = 'machine.transitioned';

/** Events made of ledger records. */
export type DurableEventType = Exclude<EventType, LiveEventType>;

type Parts<T extends EventType> = (typeof EVENT_DATA)[T];

/** What an object says; zod types one without fields as an object all of whose fields are `never`. */
type Said<O extends z.ZodObject> = keyof O['shape'] extends never ? object : z.infer<O>;

/** What an event of type `T` always says. */
export type EventFacts<T extends EventType> = Said<Parts<T>['facts']>;

/** What an event of type `T` says where a policy lets content out. */
export type EventContent<T extends EventType> = Said<Parts<T>['content']>;

/** `data` of an event of type `T`. */
export type EventData<T extends EventType> = Readonly<EventFacts<T>> &
  Readonly<Partial<EventContent<T>>> & {
    /** For each part of the content that was left out. */
    readonly digests?: { readonly [K in keyof EventContent<T>]?: Digest };
  };
