import { assign, type StateValueFrom, setup } from 'xstate';
import type { StateMeta, StateTag } from './state-meta.ts';
import { raiseClosing } from './turn-closing.ts';

/** Why a turn ended, as it stands in its terminal fact. */
export type TurnStopReason =
  | 'end-turn'
  | 'max-tokens'
  | 'step-limit'
  | 'user-stop'
  | 'after-step-stop'
  | 'tool-end'
  | 'error'
  | 'budget'
  | 'context-budget-exhausted'
  | 'handoff'
  | 'graph-yield'
  | 'other';

/**
 * Why a turn is paused: a call of it waits for a person, the outcome of one is unknown, or somebody asked for it
 * between two steps.
 */
export type TurnPauseReason = 'approval' | 'indeterminate' | 'requested' | 'children';

/** How `closing` will end. A later one replaces an earlier one only if it is further right. */
export type TurnCloseReason = 'failed' | 'interrupted' | 'cancelled';

/** What a turn starts from. A resumed turn starts from the same and is brought forward by replayed events. */
export interface TurnInput {
  readonly turnId: string;
  readonly agentId: string;
  /** Steps the turn may take; `Infinity` for no bound. */
  readonly maxSteps: number;
}

/** Small facts of a turn: never a message, a prompt or a result. */
export interface TurnContext {
  readonly turnId: string;
  readonly agentId: string;
  /** Number of the step under way or last taken, from 1; 0 before the turn is open. */
  readonly stepIndex: number;
  /** `null` = no bound. */
  readonly maxSteps: number | null;
  /** True from STEP_COMPLETED of `stepIndex` until the next step is decided. */
  readonly stepCompleted: boolean;
  /** Calls of the step that are not settled, parked ones included. */
  readonly pendingCalls: number;
  /** Calls that wait for a person, their own or one of a child. */
  readonly parkedCount: number;
  /** The one recovery from a context overflow was used. */
  readonly overflowUsed: boolean;
  readonly stopAfterStep: boolean;
  readonly pauseReason: TurnPauseReason | null;
  readonly closeReason: TurnCloseReason | null;
  readonly stopReason: TurnStopReason | null;
  /** Kind of the failure that closes the turn. */
  readonly failureKind: string | null;
}

/**
 * What happens to a turn. Each is sent after the fact it names is durable, except the requests CANCEL,
 * INTERRUPT and STOP_AFTER_STEP, which are sent at once.
 *
 * Order that matters: APPROVAL_RESOLVED before the CALL_SETTLED of the same call; CANCEL before the facts of a
 * step or call that ends because of it, which `closing` still accepts.
 */
export type TurnEvent =
  /** The turn is in the ledger, its scope exists. First step from here, or the step limit if that is 0. */
  | { readonly type: 'OPENED' }
  | { readonly type: 'OPEN_FAILED'; readonly kind: string }
  /** A request that fits was built for step `stepIndex`. */
  | { readonly type: 'PROJECTED' }
  | { readonly type: 'PROJECTION_FAILED'; readonly kind: string }
  | { readonly type: 'NEEDS_COMPACTION' }
  | { readonly type: 'COMPACTED' }
  /** `underWindow`: the request fits without it, so the turn goes on. */
  | { readonly type: 'COMPACTION_FAILED'; readonly kind: string; readonly underWindow: boolean }
  /** The step waits before its next attempt / attempts again: a mirror of the step's own state. */
  | { readonly type: 'STEP_BACKOFF'; readonly stepId: string; readonly delayMs: number }
  | { readonly type: 'STEP_RESUMED'; readonly stepId: string; readonly attempt: number }
  /** The answer and its `calls` are durable; each call has to be settled. */
  | { readonly type: 'STEP_COMPLETED'; readonly stepId: string; readonly calls: number }
  | { readonly type: 'STEP_FAILED'; readonly stepId: string; readonly kind: string }
  /** The provider refused the request as too large; `emitted`: after it had sent something. */
  | { readonly type: 'STEP_OVERFLOW'; readonly stepId: string; readonly emitted: boolean }
  /** A smaller request is possible; it is projected again for the same step. */
  | { readonly type: 'RECOVERED' }
  | { readonly type: 'RECOVERY_FAILED'; readonly kind: string }
  /** A call waits for a person: its own permission, or a child of it waits for one. */
  | { readonly type: 'CALL_PARKED'; readonly callId: string }
  /** A parked call waits no longer, whatever came of it. */
  | {
      readonly type: 'APPROVAL_RESOLVED';
      readonly callId: string;
      readonly decision: 'approve' | 'deny' | 'expired' | 'cancelled';
    }
  /** A call has its result, error or refusal. An indeterminate call has none and stays pending. */
  | { readonly type: 'CALL_SETTLED'; readonly callId: string }
  /** Another step. Over the step limit, or after STOP_AFTER_STEP, the turn closes instead. */
  | { readonly type: 'CONTINUE' }
  | { readonly type: 'FINISH'; readonly stopReason: TurnStopReason }
  | { readonly type: 'YIELD' }
  | { readonly type: 'HANDED_OFF'; readonly target: string }
  /** Nothing of the turn runs and nobody is waited for in this process. */
  | { readonly type: 'PAUSED'; readonly reason: TurnPauseReason }
  /**
   * The turn goes on, after a pause or in a new process: with its calls if some are open
   * (`waitingForApproval` if one is parked, else `settling`), in `deciding` if its step is complete, else by
   * projecting step `stepIndex` again (PROJECTED follows, also where the step was opened before).
   */
  | { readonly type: 'RESUMED' }
  | { readonly type: 'STOP_AFTER_STEP' }
  | { readonly type: 'CANCEL'; readonly reason?: string }
  | { readonly type: 'INTERRUPT'; readonly reason?: string }
  | { readonly type: 'COMMIT_FAILED'; readonly kind: string }
  | { readonly type: 'BUDGET_EXHAUSTED'; readonly budget: string }
  /** Everything in flight has ended and the terminal fact is durable. */
  | { readonly type: 'CLOSED' };

/** One call fewer. What is parked is a part of what is pending. */
function settleOne(context: TurnContext): Partial<TurnContext> {
  const pendingCalls = Math.max(0, context.pendingCalls - 1);
  return { pendingCalls, parkedCount: Math.min(context.parkedCount, pendingCalls) };
}

const turnSetup = setup({
  // The casts carry types only; nothing is read from the values.
  types: {
    context: {} as TurnContext,
    input: {} as TurnInput,
    events: {} as TurnEvent,
    tags: '' as StateTag,
    meta: {} as StateMeta,
  },
  guards: {
    mayTakeFirstStep: ({ context }) => context.maxSteps === null || context.maxSteps >= 1,
    mayTakeAnotherStep: ({ context }) =>
      !context.stopAfterStep && (context.maxSteps === null || context.stepIndex < context.maxSteps),
    fitsWithoutCompaction: ({ event }) => event.type === 'COMPACTION_FAILED' && event.underWindow,
    mayRecoverFromOverflow: ({ context, event }) =>
      event.type === 'STEP_OVERFLOW' && !event.emitted && !context.overflowUsed && !context.stopAfterStep,
    hasCalls: ({ event }) => event.type === 'STEP_COMPLETED' && event.calls > 0,
    isLastCall: ({ context }) => context.pendingCalls <= 1,
    isLastParked: ({ context }) => context.parkedCount <= 1,
    hasParked: ({ context }) => context.parkedCount > 0,
    hasPending: ({ context }) => context.pendingCalls > 0,
    isStepComplete: ({ context }) => context.stepCompleted,
    closesFailed: ({ context }) => context.closeReason === 'failed',
    closesCancelled: ({ context }) => context.closeReason === 'cancelled',
  },
  actions: {
    beginFirstStep: assign({ stepIndex: 1 }),
    beginNextStep: assign(({ context }) => ({ stepIndex: context.stepIndex + 1, stepCompleted: false })),
    noteStepCompleted: assign(({ event }) => ({
      stepCompleted: true,
      pendingCalls: event.type === 'STEP_COMPLETED' ? event.calls : 0,
      parkedCount: 0,
    })),
    noteOverflow: assign({ overflowUsed: true }),
    noteParked: assign(({ context }) => ({
      parkedCount: Math.min(context.parkedCount + 1, context.pendingCalls),
    })),
    noteUnparked: assign(({ context }) => ({ parkedCount: Math.max(0, context.parkedCount - 1) })),
    noteSettled: assign(({ context }) => settleOne(context)),
    notePaused: assign(({ event }) => ({ pauseReason: event.type === 'PAUSED' ? event.reason : null })),
    noteResumed: assign({ pauseReason: null }),
    /** A turn paused before it was open goes on with its first step. */
    noteResumedStep: assign(({ context }) => ({
      pauseReason: null,
      stepIndex: Math.max(1, context.stepIndex),
    })),
    noteStopAfterStep: assign({ stopAfterStep: true }),
    noteStopReason: assign(({ event }) => ({
      stopReason: event.type === 'FINISH' ? event.stopReason : ('end-turn' as const),
    })),
    noteYield: assign({ stopReason: 'graph-yield' }),
    noteHandoff: assign({ stopReason: 'handoff' }),
    /** Marks an event as seen that changes nothing. */
    noteNothing: assign({}),
    noteClosing: assign(({ context, event }) => raiseClosing(context, event)),
  },
});

const closes = { target: 'closing', actions: 'noteClosing' } as const;
const pauses = { target: 'paused', actions: 'notePaused' } as const;
const projectsAgain = { target: 'projecting', actions: 'noteResumedStep' } as const;
const goesOn = { actions: 'noteResumed' } as const;
const settles = [
  { guard: 'isLastCall', target: 'deciding', actions: 'noteSettled' },
  { actions: 'noteSettled' },
] as const;

/** Work that was in flight when the turn began to close still reports how it ended. */
const lateFacts = {
  OPENED: { actions: 'noteNothing' },
  OPEN_FAILED: { actions: 'noteClosing' },
  PROJECTED: { actions: 'noteNothing' },
  PROJECTION_FAILED: { actions: 'noteClosing' },
  NEEDS_COMPACTION: { actions: 'noteNothing' },
  COMPACTED: { actions: 'noteNothing' },
  COMPACTION_FAILED: { actions: 'noteClosing' },
  RECOVERED: { actions: 'noteNothing' },
  RECOVERY_FAILED: { actions: 'noteClosing' },
  STEP_BACKOFF: { actions: 'noteNothing' },
  STEP_RESUMED: { actions: 'noteNothing' },
  STEP_OVERFLOW: { actions: 'noteClosing' },
  STEP_FAILED: { actions: 'noteClosing' },
  STEP_COMPLETED: { actions: 'noteStepCompleted' },
  CALL_PARKED: { actions: 'noteParked' },
  APPROVAL_RESOLVED: { actions: 'noteUnparked' },
  CALL_SETTLED: { actions: 'noteSettled' },
} as const;

/** One accepted input to one terminal outcome. Pure: effects live in the turn loop, which sends what happened. */
export const turnMachine = turnSetup.createMachine({
  id: 'turn',
  description: 'One accepted input to one terminal outcome.',
  context: ({ input }) => ({
    turnId: input.turnId,
    agentId: input.agentId,
    stepIndex: 0,
    maxSteps: Number.isFinite(input.maxSteps) ? input.maxSteps : null,
    stepCompleted: false,
    pendingCalls: 0,
    parkedCount: 0,
    overflowUsed: false,
    stopAfterStep: false,
    pauseReason: null,
    closeReason: null,
    stopReason: null,
    failureKind: null,
  }),
  options: { maxIterations: 100 },
  initial: 'opening',
  // Accepted in every state that is not final; `closing` has its own answer to most.
  on: {
    CANCEL: { target: '.closing', actions: 'noteClosing' },
    INTERRUPT: { target: '.closing', actions: 'noteClosing' },
    COMMIT_FAILED: { target: '.closing', actions: 'noteClosing' },
    BUDGET_EXHAUSTED: { target: '.closing', actions: 'noteClosing' },
    STOP_AFTER_STEP: { actions: 'noteStopAfterStep' },
  },
  states: {
    opening: {
      description: 'The turn is being written to the ledger and its scope created.',
      tags: ['busy'],
      on: {
        OPENED: [{ guard: 'mayTakeFirstStep', target: 'projecting', actions: 'beginFirstStep' }, closes],
        OPEN_FAILED: closes,
        PAUSED: pauses,
      },
    },
    projecting: {
      description: 'The next request is being built: steering, history, tools, capacity.',
      tags: ['busy'],
      on: {
        PROJECTED: { target: 'stepping' },
        NEEDS_COMPACTION: { target: 'compacting' },
        PROJECTION_FAILED: closes,
        RESUMED: projectsAgain,
      },
    },
    compacting: {
      description: 'Older history is being folded into a checkpoint.',
      tags: ['busy'],
      on: {
        COMPACTED: { target: 'projecting' },
        COMPACTION_FAILED: [{ guard: 'fitsWithoutCompaction', target: 'projecting' }, closes],
        RESUMED: projectsAgain,
      },
    },
    stepping: {
      description: 'A step is running: one answer of the model.',
      tags: ['busy'],
      on: {
        STEP_BACKOFF: { target: 'retryBackoff' },
        STEP_COMPLETED: [
          { guard: 'hasCalls', target: 'settling', actions: 'noteStepCompleted' },
          { target: 'deciding', actions: 'noteStepCompleted' },
        ],
        STEP_FAILED: closes,
        STEP_OVERFLOW: [
          { guard: 'mayRecoverFromOverflow', target: 'recovering', actions: 'noteOverflow' },
          closes,
        ],
        RESUMED: projectsAgain,
      },
    },
    retryBackoff: {
      description: 'The step waits before its next attempt (a mirror of its own backoff).',
      tags: ['waiting'],
      meta: { timers: [{ from: 'STEP_BACKOFF.delayMs', sends: 'STEP_RESUMED' }] },
      on: {
        STEP_RESUMED: { target: 'stepping' },
        STEP_FAILED: closes,
        RESUMED: projectsAgain,
      },
    },
    recovering: {
      description: 'The provider found the request too large; a smaller one is being made, once a turn.',
      tags: ['busy'],
      on: {
        RECOVERED: { target: 'projecting' },
        RECOVERY_FAILED: closes,
        RESUMED: projectsAgain,
      },
    },
    settling: {
      description: 'The calls of the step are being settled; none of them waits for a person.',
      tags: ['busy', 'sideEffectPossible'],
      on: {
        CALL_PARKED: { target: 'waitingForApproval', actions: 'noteParked' },
        CALL_SETTLED: settles,
        PAUSED: pauses,
        RESUMED: goesOn,
      },
    },
    waitingForApproval: {
      description: 'At least one call waits for a person; others may be running.',
      tags: ['waiting', 'sideEffectPossible'],
      meta: { timers: [{ from: 'approvals.expiryMs', sends: 'APPROVAL_RESOLVED' }] },
      on: {
        CALL_PARKED: { actions: 'noteParked' },
        CALL_SETTLED: settles,
        APPROVAL_RESOLVED: [
          { guard: 'isLastParked', target: 'settling', actions: 'noteUnparked' },
          { actions: 'noteUnparked' },
        ],
        PAUSED: pauses,
        RESUMED: goesOn,
      },
    },
    deciding: {
      description: 'The step and its calls are done: another step, or the end.',
      tags: ['busy'],
      on: {
        CONTINUE: [{ guard: 'mayTakeAnotherStep', target: 'projecting', actions: 'beginNextStep' }, closes],
        FINISH: { target: 'completed', actions: 'noteStopReason' },
        YIELD: { target: 'yielded', actions: 'noteYield' },
        HANDED_OFF: { target: 'handedOff', actions: 'noteHandoff' },
        PAUSED: pauses,
        RESUMED: goesOn,
      },
    },
    paused: {
      description: 'Nothing runs; the turn is open and goes on when somebody resumes it.',
      tags: ['waiting'],
      on: {
        RESUMED: [
          { guard: 'hasParked', target: 'waitingForApproval', actions: 'noteResumed' },
          { guard: 'hasPending', target: 'settling', actions: 'noteResumed' },
          { guard: 'isStepComplete', target: 'deciding', actions: 'noteResumed' },
          projectsAgain,
        ],
      },
    },
    closing: {
      description: 'The turn will not go on; what is in flight is being settled and the end written.',
      tags: ['busy', 'sideEffectPossible'],
      on: {
        // Without a target: the reason may be raised, the state is not entered again.
        CANCEL: { actions: 'noteClosing' },
        INTERRUPT: { actions: 'noteClosing' },
        COMMIT_FAILED: { actions: 'noteClosing' },
        BUDGET_EXHAUSTED: { actions: 'noteClosing' },
        ...lateFacts,
        RESUMED: goesOn,
        CLOSED: [
          { guard: 'closesFailed', target: 'failed' },
          { guard: 'closesCancelled', target: 'cancelled' },
          { target: 'interrupted' },
        ],
      },
    },
    completed: { type: 'final', tags: ['terminal'], description: 'The model ended its turn.' },
    failed: {
      type: 'final',
      tags: ['terminal'],
      description: 'An error, a limit or a budget ended the turn.',
    },
    cancelled: { type: 'final', tags: ['terminal'], description: 'The user stopped the turn.' },
    interrupted: {
      type: 'final',
      tags: ['terminal'],
      description: 'The turn was given up, or stopped after its step.',
    },
    yielded: { type: 'final', tags: ['terminal'], description: 'The turn gave way to its graph.' },
    handedOff: { type: 'final', tags: ['terminal'], description: 'Another agent took over.' },
  },
});

/** Names of the states of a turn. */
export type TurnState = StateValueFrom<typeof turnMachine>;
