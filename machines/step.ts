import { assign, type StateValueFrom, setup } from 'xstate';
import type { StateMeta, StateTag } from './state-meta.ts';

/** What the attempt under way has produced: `output` is text, tool activity or signed metadata. */
export type StepEmission = 'nothing' | 'thinking' | 'output';

/** Why an attempt may be made again. Each has a bound of its own below that of all attempts. */
export type RetryCause = 'failure' | 'idle' | 'truncated';

/** What a step starts from. */
export interface StepInput {
  readonly stepId: string;
  /** Number of the step in its turn, from 1. */
  readonly index: number;
  /** Number of tools visible in its request. */
  readonly visibleCount: number;
  /** Physical requests the step may make. */
  readonly maxAttempts: number;
  /** Retries after the stream fell silent. */
  readonly maxIdleRetries: number;
  /** Retries after the stream ended without an end. */
  readonly maxTruncatedRetries: number;
  /** Attempts made before this process took the step over; default 0. */
  readonly attemptsBefore?: number;
}

/** Small facts of a step. */
export interface StepContext {
  readonly stepId: string;
  readonly index: number;
  readonly visibleCount: number;
  /** Number of the attempt under way, from 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly idleRetriesLeft: number;
  readonly truncatedRetriesLeft: number;
  /** What this attempt has produced; a new attempt starts from nothing. */
  readonly emitted: StepEmission;
  readonly abortRequested: boolean;
  /** Calls the answer holds. */
  readonly calls: number;
  /** False once an attempt ended without a usable report of its tokens. */
  readonly usageKnown: boolean;
  readonly failureKind: string | null;
}

/**
 * What happens to a step. OUTCOME_* are sent after the fact they name is durable, with one exception:
 * OUTCOME_RETRYABLE follows the failed attempt, and the state it leads to says whether there is another.
 * No event is sent per token or per part.
 */
export type StepEvent =
  /** The request of this attempt is durable and goes out now. */
  | { readonly type: 'CAPTURED' }
  /** The request could not be made or written; no provider was called. */
  | { readonly type: 'CAPTURE_FAILED'; readonly kind: string }
  | { readonly type: 'FIRST_PART' }
  /** The response ended before any part. */
  | { readonly type: 'EMPTY_FINISH' }
  /** The attempt failed, the time to the first part included. */
  | { readonly type: 'ATTEMPT_FAILED'; readonly kind: string }
  /** Sent once for the first thinking and once for the first output of an attempt. */
  | { readonly type: 'OUTPUT_EMITTED'; readonly what: 'thinking' | 'output' }
  | { readonly type: 'STREAM_ENDED' }
  /** No part came for the idle time. */
  | { readonly type: 'IDLE_EXPIRED' }
  | { readonly type: 'OUTCOME_COMPLETED'; readonly calls: number; readonly usageKnown: boolean }
  /** The attempt failed in a way that another one may mend. */
  | { readonly type: 'OUTCOME_RETRYABLE'; readonly kind: string; readonly cause: RetryCause }
  /** The stream ended without an end and is not tried again. */
  | { readonly type: 'OUTCOME_TRUNCATED'; readonly kind: string }
  | { readonly type: 'OUTCOME_TERMINAL'; readonly kind: string }
  /** The provider refused the request as too large. */
  | { readonly type: 'OUTCOME_OVERFLOW'; readonly kind: string }
  /** What the aborted attempt had written is durable. */
  | { readonly type: 'OUTCOME_ABORTED' }
  | { readonly type: 'BACKOFF_ELAPSED' }
  /** Stop. Once a request is out, its outcome is settled first, so that partial text is kept. */
  | { readonly type: 'ABORT'; readonly reason?: string }
  | { readonly type: 'COMMIT_FAILED'; readonly kind: string };

/** Whether an attempt that ended like this may be made again. */
function mayRetry(context: StepContext, cause: RetryCause): boolean {
  if (context.abortRequested || context.attempt >= context.maxAttempts) return false;
  if (cause === 'idle') return context.emitted !== 'output' && context.idleRetriesLeft > 0;
  if (cause === 'truncated') return context.emitted === 'nothing' && context.truncatedRetriesLeft > 0;
  return context.emitted === 'nothing';
}

/** A failed attempt has no authoritative usage, and uses up a retry of its cause. */
function noteRetryOf(context: StepContext, cause: RetryCause): Partial<StepContext> {
  return {
    usageKnown: false,
    idleRetriesLeft: context.idleRetriesLeft - (cause === 'idle' ? 1 : 0),
    truncatedRetriesLeft: context.truncatedRetriesLeft - (cause === 'truncated' ? 1 : 0),
  };
}

const stepSetup = setup({
  // The casts carry types only; nothing is read from the values.
  types: {
    context: {} as StepContext,
    input: {} as StepInput,
    events: {} as StepEvent,
    tags: '' as StateTag,
    meta: {} as StateMeta,
  },
  guards: {
    mayRetry: ({ context, event }) => event.type === 'OUTCOME_RETRYABLE' && mayRetry(context, event.cause),
    abortRequested: ({ context }) => context.abortRequested,
  },
  actions: {
    noteEmitted: assign(({ context, event }) => ({
      emitted: event.type === 'OUTPUT_EMITTED' && context.emitted !== 'output' ? event.what : context.emitted,
    })),
    noteCompleted: assign(({ context, event }) =>
      event.type === 'OUTCOME_COMPLETED'
        ? { calls: event.calls, usageKnown: context.usageKnown && event.usageKnown }
        : {},
    ),
    noteRetry: assign(({ context, event }) =>
      event.type === 'OUTCOME_RETRYABLE' ? noteRetryOf(context, event.cause) : {},
    ),
    noteFailure: assign(({ event }) => ({
      failureKind: 'kind' in event ? event.kind : 'unknown',
      usageKnown: false,
    })),
    noteAbort: assign({ abortRequested: true }),
    noteAborted: assign({ abortRequested: true, usageKnown: false }),
    beginNextAttempt: assign(({ context }) => ({
      attempt: context.attempt + 1,
      emitted: 'nothing' as const,
    })),
  },
});

const fails = { target: 'failed', actions: 'noteFailure' } as const;
const aborts = { target: 'aborted', actions: 'noteAborted' } as const;
const settlesAbort = { target: 'settlingOutcome', actions: 'noteAbort' } as const;
/** Facts of a stream that was being aborted: true, and without consequence. */
const lateAfterAbort = { guard: 'abortRequested', actions: 'noteAbort' } as const;

/** One provider answer, made of one or more attempts. Pure: requests and timers live in the turn loop. */
export const stepMachine = stepSetup.createMachine({
  id: 'step',
  description: 'One answer of the model, made of one or more physical requests.',
  context: ({ input }) => ({
    stepId: input.stepId,
    index: input.index,
    visibleCount: input.visibleCount,
    attempt: (input.attemptsBefore ?? 0) + 1,
    maxAttempts: input.maxAttempts,
    idleRetriesLeft: input.maxIdleRetries,
    truncatedRetriesLeft: input.maxTruncatedRetries,
    emitted: 'nothing',
    abortRequested: false,
    calls: 0,
    usageKnown: (input.attemptsBefore ?? 0) === 0,
    failureKind: null,
  }),
  options: { maxIterations: 100 },
  initial: 'capturing',
  on: { COMMIT_FAILED: { target: '.failed', actions: 'noteFailure' } },
  states: {
    capturing: {
      description: 'The visible tools are frozen; the request of the attempt is being written down.',
      tags: ['busy'],
      on: {
        CAPTURED: { target: 'dispatching' },
        CAPTURE_FAILED: fails,
        ABORT: aborts,
      },
    },
    dispatching: {
      description: 'The request is out; nothing came back yet.',
      tags: ['busy'],
      meta: { timers: [{ from: 'timeouts.connectMs', sends: 'ATTEMPT_FAILED' }] },
      on: {
        FIRST_PART: { target: 'streaming' },
        EMPTY_FINISH: { target: 'settlingOutcome' },
        ATTEMPT_FAILED: { target: 'settlingOutcome' },
        ABORT: settlesAbort,
      },
    },
    streaming: {
      description: 'Parts of the answer are arriving.',
      tags: ['busy'],
      meta: { timers: [{ from: 'timeouts.idleMs', sends: 'IDLE_EXPIRED' }] },
      on: {
        OUTPUT_EMITTED: { actions: 'noteEmitted' },
        STREAM_ENDED: { target: 'settlingOutcome' },
        ATTEMPT_FAILED: { target: 'settlingOutcome' },
        IDLE_EXPIRED: { target: 'settlingOutcome' },
        ABORT: settlesAbort,
      },
    },
    settlingOutcome: {
      description: 'What the attempt brought is being judged and written down, partial text included.',
      tags: ['busy'],
      on: {
        OUTCOME_COMPLETED: { target: 'completed', actions: 'noteCompleted' },
        OUTCOME_RETRYABLE: [
          { guard: 'mayRetry', target: 'backingOff', actions: 'noteRetry' },
          { guard: 'abortRequested', target: 'aborted', actions: 'noteAborted' },
          fails,
        ],
        OUTCOME_TRUNCATED: fails,
        OUTCOME_TERMINAL: fails,
        OUTCOME_OVERFLOW: fails,
        OUTCOME_ABORTED: aborts,
        ABORT: { actions: 'noteAbort' },
        FIRST_PART: lateAfterAbort,
        EMPTY_FINISH: lateAfterAbort,
        OUTPUT_EMITTED: lateAfterAbort,
        STREAM_ENDED: lateAfterAbort,
        ATTEMPT_FAILED: lateAfterAbort,
        IDLE_EXPIRED: lateAfterAbort,
      },
    },
    backingOff: {
      description: 'Waiting before the next attempt.',
      tags: ['waiting'],
      meta: { timers: [{ from: 'attempts.baseDelayMs', sends: 'BACKOFF_ELAPSED' }] },
      on: {
        BACKOFF_ELAPSED: { target: 'capturing', actions: 'beginNextAttempt' },
        // The turn is to end after this step: there is no further attempt.
        OUTCOME_TERMINAL: fails,
        ABORT: aborts,
      },
    },
    completed: { type: 'final', tags: ['terminal'], description: 'The answer is whole and durable.' },
    failed: { type: 'final', tags: ['terminal'], description: 'No attempt brought an answer.' },
    aborted: {
      type: 'final',
      tags: ['terminal'],
      description: 'The step was stopped; its partial text is kept.',
    },
  },
});

/** Names of the states of a step. */
export type StepState = StateValueFrom<typeof stepMachine>;
