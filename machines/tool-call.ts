import { assign, type StateValueFrom, setup } from 'xstate';
import type { StateMeta, StateTag } from './state-meta.ts';

/** Status a call settles with; that of its outcome fact. */
export type ToolCallOutcome = 'success' | 'error' | 'aborted' | 'timeout' | 'abandoned' | 'interrupted';

/** What a tool declares for the time after a crash. */
export type ToolCallRecovery = 'never_auto_retry' | 'replay_safe' | 'idempotent' | 'reconcile';

/** What a tool call starts from. A decided retry of an indeterminate call is a new call of the next generation. */
export interface ToolCallInput {
  readonly callId: string;
  readonly stepId: string;
  /** As the model wrote it. */
  readonly toolName: string;
  /** Asked for by a model, or by another tool. */
  readonly origin: 'model' | 'nested';
  readonly recovery: ToolCallRecovery;
  /** Decided retries before this one; default 0. */
  readonly generation?: number;
}

/** Small facts of a tool call: never its input or result. */
export interface ToolCallContext {
  readonly callId: string;
  readonly stepId: string;
  readonly toolName: string;
  readonly origin: 'model' | 'nested';
  readonly recovery: ToolCallRecovery;
  readonly generation: number;
  readonly repaired: boolean;
  readonly operationId: string | null;
  /** Code of the refusal, or what the permission request came to. */
  readonly refusal: string | null;
  readonly outcome: ToolCallOutcome | null;
  /** What made the implementation's signal abort, while it is waited for. */
  readonly abortCause: 'aborted' | 'timeout' | null;
  readonly failureKind: string | null;
}

/**
 * What happens to a tool call. T1 is the durable intent to execute, T2 the durable outcome.
 *
 * - Before T1 nothing has run: REFUSED (`skipped`, where the turn stopped or was steered before the call was
 *   started) and ABORT end it. While T1 is being committed, await it first: PREPARED, then ABORT.
 * - A call restored from its facts with T1 and without T2 is in `prepared`. It goes on by OUTCOME_LOST (to
 *   `indeterminate`), by SETTLED_BY_DECISION (settled, abandoned, reconciled, or a built-in that is
 *   interrupted), or, for a tool of the runtime that finds its own facts again, by EXECUTE with `reattached`.
 *   A decision to retry is a new call of the next generation with a T1 of its own: no call executes twice.
 */
export type ToolCallEvent =
  /** Name or arguments were mended; `toolName` is the canonical name. */
  | { readonly type: 'REPAIRED'; readonly toolName: string }
  /** A place in the step was given to the call. */
  | { readonly type: 'ADMITTED' }
  /** The refusal is durable, as a matched pair. */
  | { readonly type: 'REFUSED'; readonly code: string }
  /** A person has to decide; the request is durable. */
  | { readonly type: 'NEEDS_PERMISSION'; readonly request: string; readonly expiresAt?: number }
  /** Allowed without asking, or by a decision made before. */
  | { readonly type: 'CLEARED' }
  | { readonly type: 'GRANTED'; readonly request: string; readonly edited?: boolean }
  | { readonly type: 'DENIED'; readonly request: string }
  | { readonly type: 'EXPIRED'; readonly request: string }
  /** The turn ended while the request was open. */
  | { readonly type: 'TURN_CLOSED'; readonly request: string }
  /** T1 is durable. */
  | { readonly type: 'PREPARED'; readonly operationId: string }
  /** T1 is not durable, and nothing ran. */
  | { readonly type: 'PREPARE_FAILED'; readonly kind: string }
  /** The implementation is entered now; `reattached`: it finds its earlier work by its own facts. */
  | { readonly type: 'EXECUTE'; readonly reattached?: boolean }
  /** Rate-limited by the runtime. */
  | { readonly type: 'PROGRESS' }
  /** A child of the call waits for a person: the time limit stands still. */
  | { readonly type: 'SUSPENDED' }
  | { readonly type: 'RESUMED' }
  /** The implementation returned; `outcome` is what the runtime made of it. */
  | { readonly type: 'RETURNED'; readonly outcome: ToolCallOutcome }
  /** The implementation threw: an error, or the end of an abort. */
  | { readonly type: 'THREW'; readonly kind: string }
  /** The time limit ran out; the signal of the implementation aborts. */
  | { readonly type: 'TIMED_OUT' }
  /** Stop; the signal of a running implementation aborts. */
  | { readonly type: 'ABORT'; readonly reason?: string }
  /** The implementation did not come back after its signal aborted. */
  | { readonly type: 'GRACE_EXPIRED' }
  /** Nobody can say what became of the execution. */
  | { readonly type: 'OUTCOME_LOST'; readonly reason: string }
  | {
      readonly type: 'SETTLED_BY_DECISION';
      readonly decision: 'settle' | 'abandon' | 'reconciled' | 'interrupted';
      readonly outcome: ToolCallOutcome;
    }
  /** T2 is durable. */
  | { readonly type: 'COMMITTED' }
  /** A fact of the call is not durable. After T1 its outcome is then unknown. */
  | { readonly type: 'COMMIT_FAILED'; readonly kind: string };

/** What an event that ends the execution says of its outcome. */
function outcomeOf(context: ToolCallContext, event: ToolCallEvent): Partial<ToolCallContext> {
  switch (event.type) {
    case 'RETURNED':
    case 'SETTLED_BY_DECISION':
      return { outcome: event.outcome };
    case 'THREW':
      return { outcome: context.abortCause ?? 'error', failureKind: event.kind };
    case 'GRACE_EXPIRED':
      return { outcome: 'abandoned' };
    case 'ABORT':
      return { outcome: 'aborted' };
    default:
      return {};
  }
}

/** Why a call was turned away. */
function refusalOf(event: ToolCallEvent): string {
  switch (event.type) {
    case 'REFUSED':
      return event.code;
    case 'EXPIRED':
      return 'expired';
    case 'TURN_CLOSED':
      return 'turn-closed';
    default:
      return 'denied';
  }
}

const callSetup = setup({
  // The casts carry types only; nothing is read from the values.
  types: {
    context: {} as ToolCallContext,
    input: {} as ToolCallInput,
    events: {} as ToolCallEvent,
    tags: '' as StateTag,
    meta: {} as StateMeta,
  },
  guards: {
    succeeded: ({ context }) => context.outcome === 'success',
    wasStopped: ({ context }) => context.outcome === 'aborted' || context.outcome === 'interrupted',
  },
  actions: {
    noteRepaired: assign(({ context, event }) => ({
      repaired: true,
      toolName: event.type === 'REPAIRED' ? event.toolName : context.toolName,
    })),
    noteRefused: assign(({ event }) => ({ refusal: refusalOf(event) })),
    notePrepared: assign(({ event }) => ({
      operationId: event.type === 'PREPARED' ? event.operationId : null,
    })),
    noteOutcome: assign(({ context, event }) => outcomeOf(context, event)),
    noteAborting: assign(({ event }) => ({
      abortCause: event.type === 'TIMED_OUT' ? ('timeout' as const) : ('aborted' as const),
    })),
    noteFailure: assign(({ event }) => ({ failureKind: 'kind' in event ? event.kind : 'unknown' })),
    noteLost: assign(({ event }) => ({
      failureKind: event.type === 'OUTCOME_LOST' ? event.reason : 'kind' in event ? event.kind : 'unknown',
    })),
    noteAborted: assign({ outcome: 'aborted' }),
    /** Marks an event as seen that changes nothing. */
    noteNothing: assign({}),
  },
});

const rejects = { target: 'rejected', actions: 'noteRefused' } as const;
const cancels = { target: 'cancelled', actions: 'noteAborted' } as const;
const breaks = { target: 'commitError', actions: 'noteFailure' } as const;
const commits = { target: 'committing', actions: 'noteOutcome' } as const;
const aborts = { target: 'aborting', actions: 'noteAborting' } as const;
const loses = { target: 'indeterminate', actions: 'noteLost' } as const;
const notes = { actions: 'noteNothing' } as const;

/** One call a model or a tool made, to the one way it ends. Pure: execution and commits live in settlement. */
export const toolCallMachine = callSetup.createMachine({
  id: 'tool-call',
  description: 'One call, to the one way it ends.',
  context: ({ input }) => ({
    callId: input.callId,
    stepId: input.stepId,
    toolName: input.toolName,
    origin: input.origin,
    recovery: input.recovery,
    generation: input.generation ?? 0,
    repaired: false,
    operationId: null,
    refusal: null,
    outcome: null,
    abortCause: null,
    failureKind: null,
  }),
  options: { maxIterations: 100 },
  initial: 'received',
  states: {
    received: {
      description: 'The call stands in the ledger as the model made it.',
      tags: ['busy'],
      on: {
        REPAIRED: { target: 'repaired', actions: 'noteRepaired' },
        ADMITTED: { target: 'admitted' },
        REFUSED: rejects,
        ABORT: cancels,
        COMMIT_FAILED: breaks,
      },
    },
    repaired: {
      description: 'Its name or arguments were mended.',
      tags: ['busy'],
      on: {
        ADMITTED: { target: 'admitted' },
        REFUSED: rejects,
        ABORT: cancels,
        COMMIT_FAILED: breaks,
      },
    },
    admitted: {
      description: 'It has its place in the step; gates and permission are being asked.',
      tags: ['busy'],
      on: {
        REFUSED: rejects,
        NEEDS_PERMISSION: { target: 'awaitingPermission' },
        CLEARED: { target: 'preparing' },
        ABORT: cancels,
        COMMIT_FAILED: breaks,
      },
    },
    awaitingPermission: {
      description: 'A person has to decide.',
      tags: ['waiting'],
      meta: { timers: [{ from: 'approvals.expiryMs', sends: 'EXPIRED' }] },
      on: {
        GRANTED: { target: 'preparing' },
        DENIED: rejects,
        EXPIRED: rejects,
        TURN_CLOSED: rejects,
        REFUSED: rejects,
        ABORT: cancels,
        COMMIT_FAILED: breaks,
      },
    },
    preparing: {
      description: 'The intent to execute is being made durable.',
      tags: ['busy'],
      on: {
        PREPARED: { target: 'prepared', actions: 'notePrepared' },
        PREPARE_FAILED: breaks,
        REFUSED: rejects,
        ABORT: cancels,
        COMMIT_FAILED: breaks,
      },
    },
    prepared: {
      description: 'The intent is durable; the implementation has not been entered by this process.',
      tags: ['busy'],
      on: {
        EXECUTE: { target: 'executing' },
        OUTCOME_LOST: loses,
        SETTLED_BY_DECISION: commits,
        ABORT: commits,
        COMMIT_FAILED: loses,
      },
    },
    executing: {
      description: 'The implementation runs; it may act on the world.',
      tags: ['busy', 'sideEffectPossible'],
      meta: { timers: [{ from: 'tools.timeoutMs', sends: 'TIMED_OUT' }] },
      on: {
        PROGRESS: notes,
        SUSPENDED: { target: 'suspended' },
        RETURNED: commits,
        THREW: commits,
        TIMED_OUT: aborts,
        ABORT: aborts,
        OUTCOME_LOST: loses,
        COMMIT_FAILED: loses,
      },
    },
    suspended: {
      description: 'A child of the call waits for a person; the time limit stands still.',
      tags: ['waiting', 'sideEffectPossible'],
      on: {
        RESUMED: { target: 'executing' },
        PROGRESS: notes,
        RETURNED: commits,
        THREW: commits,
        ABORT: aborts,
        OUTCOME_LOST: loses,
        COMMIT_FAILED: loses,
      },
    },
    aborting: {
      description: 'The signal of the implementation is aborted; it has a little time to come back.',
      tags: ['busy', 'sideEffectPossible'],
      meta: { timers: [{ from: 'tools.graceMs', sends: 'GRACE_EXPIRED' }] },
      on: {
        RETURNED: commits,
        THREW: commits,
        GRACE_EXPIRED: commits,
        OUTCOME_LOST: loses,
        COMMIT_FAILED: loses,
        // What may still come while the implementation winds down.
        ABORT: notes,
        TIMED_OUT: notes,
        PROGRESS: notes,
        SUSPENDED: notes,
        RESUMED: notes,
      },
    },
    committing: {
      description: 'The outcome is being made durable.',
      tags: ['busy', 'sideEffectPossible'],
      on: {
        COMMITTED: [
          { guard: 'succeeded', target: 'settled' },
          { guard: 'wasStopped', target: 'cancelled' },
          { target: 'failed' },
        ],
        COMMIT_FAILED: { target: 'indeterminate', actions: 'noteFailure' },
        ABORT: notes,
      },
    },
    rejected: { type: 'final', tags: ['terminal'], description: 'Turned away; nothing ran.' },
    settled: { type: 'final', tags: ['terminal'], description: 'It succeeded, and its result is durable.' },
    failed: { type: 'final', tags: ['terminal'], description: 'It failed, and its error is durable.' },
    cancelled: { type: 'final', tags: ['terminal'], description: 'It was stopped, before or while it ran.' },
    indeterminate: {
      type: 'final',
      tags: ['terminal', 'sideEffectPossible'],
      description: 'Nobody can say whether it acted; it is never run again on its own.',
    },
    commitError: {
      type: 'final',
      tags: ['terminal'],
      description: 'A fact before its execution could not be written; nothing ran and the turn fails.',
    },
  },
});

/** Names of the states of a tool call. */
export type ToolCallState = StateValueFrom<typeof toolCallMachine>;
