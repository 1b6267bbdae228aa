import { assign, type StateValueFrom, setup } from 'xstate';
import type { StateMeta, StateTag } from './state-meta.ts';
import type { TurnPauseReason } from './turn.ts';

/** Why a graph ends, strongest last. */
export type GraphCloseReason = 'finished' | 'failed' | 'stopped';

/** What a supervisor of a graph starts from. */
export interface GraphSupervisorInput {
  /** The turn of a graph in code, or the session whose supervisor schedules. */
  readonly graphId: string;
  readonly turnId?: string;
  /** Works that are under way as it starts; default 0. */
  readonly runningWorks?: number;
  /** Works that settled in an earlier process; default 0. */
  readonly settledWorks?: number;
}

/** Small facts of a graph. Works and operators are data of the runtime; the machine knows their numbers. */
export interface GraphSupervisorContext {
  readonly graphId: string;
  /** Updates of the schedule. */
  readonly revision: number;
  /** Works under way. */
  readonly runningWorks: number;
  /** Of those, the ones that wait for a person. */
  readonly parkedWorks: number;
  readonly settledWorks: number;
  /** Passes over the schedule. */
  readonly passes: number;
  readonly closeReason: GraphCloseReason | null;
  readonly failureKind: string | null;
}

/** What happens to a graph. Entering `reconciling` means: look at the schedule and do what can be done. */
export type GraphSupervisorEvent =
  /** The schedule has a new revision. */
  | { readonly type: 'UPDATED'; readonly revision: number }
  /** A work is under way: admitted now, or taken up again. */
  | { readonly type: 'WORK_STARTED'; readonly work: string }
  /** A work under way waits for a person. */
  | { readonly type: 'WORK_PARKED'; readonly work: string }
  | { readonly type: 'WORK_UNPARKED'; readonly work: string }
  /** A work under way is not any more: it has an outcome, or lies in the ledger. */
  | { readonly type: 'WORK_SETTLED'; readonly work: string; readonly status: string }
  /** Everything that could be done was done or begun. */
  | { readonly type: 'PASS_DONE' }
  /** The time between two attempts of a work is over. */
  | { readonly type: 'RETRY_DUE' }
  /** Nothing is added any more, and the result is known. */
  | { readonly type: 'FINISH' }
  | { readonly type: 'FAIL'; readonly kind: string }
  | { readonly type: 'STOP'; readonly reason?: string }
  /** A fact could not be written. */
  | { readonly type: 'COMMIT_FAILED'; readonly kind: string }
  /** Lies in the ledger until somebody decides; nothing of it runs. */
  | { readonly type: 'PAUSED'; readonly reason: TurnPauseReason }
  | { readonly type: 'RESUMED' }
  /** The end is durable. */
  | { readonly type: 'CLOSED' };

const RANK: Readonly<Record<GraphCloseReason, number>> = { finished: 0, failed: 1, stopped: 2 };

function closeReasonOf(event: GraphSupervisorEvent): GraphCloseReason | null {
  switch (event.type) {
    case 'FINISH':
      return 'finished';
    case 'FAIL':
    case 'COMMIT_FAILED':
      return 'failed';
    case 'STOP':
      return 'stopped';
    default:
      return null;
  }
}

const graphSetup = setup({
  // The casts carry types only; nothing is read from the values.
  types: {
    context: {} as GraphSupervisorContext,
    input: {} as GraphSupervisorInput,
    events: {} as GraphSupervisorEvent,
    tags: '' as StateTag,
    meta: {} as StateMeta,
  },
  guards: {
    hasRunning: ({ context }) => context.runningWorks > context.parkedWorks,
    parksLast: ({ context }) => context.runningWorks - context.parkedWorks <= 1,
    isFinished: ({ context }) => context.closeReason === 'finished',
    isStopped: ({ context }) => context.closeReason === 'stopped',
  },
  actions: {
    noteUpdate: assign(({ event }) => (event.type === 'UPDATED' ? { revision: event.revision } : {})),
    noteStarted: assign(({ context }) => ({ runningWorks: context.runningWorks + 1 })),
    noteParked: assign(({ context }) => ({
      parkedWorks: Math.min(context.runningWorks, context.parkedWorks + 1),
    })),
    noteUnparked: assign(({ context }) => ({ parkedWorks: Math.max(0, context.parkedWorks - 1) })),
    noteSettled: assign(({ context }) => {
      const runningWorks = Math.max(0, context.runningWorks - 1);
      return {
        runningWorks,
        parkedWorks: Math.min(runningWorks, context.parkedWorks),
        settledWorks: context.settledWorks + 1,
      };
    }),
    notePass: assign(({ context }) => ({ passes: context.passes + 1 })),
    /** A stronger reason takes the place of a weaker one. */
    noteClosing: assign(({ context, event }) => {
      const reason = closeReasonOf(event);
      const before = context.closeReason;
      if (reason === null || (before !== null && RANK[reason] <= RANK[before])) return {};
      return { closeReason: reason, failureKind: 'kind' in event ? event.kind : context.failureKind };
    }),
    /** Marks an event as seen that changes nothing. */
    noteNothing: assign({}),
  },
});

const counts = {
  WORK_STARTED: { actions: 'noteStarted' },
  WORK_PARKED: { actions: 'noteParked' },
  WORK_UNPARKED: { actions: 'noteUnparked' },
} as const;

const closes = { target: 'closing', actions: 'noteClosing' } as const;

/**
 * Who looks after one graph: what can be done is begun, what is under way is waited for, and the end comes when all of
 * it has settled. Pure: the schedule is a fold of facts in `src`, and no work is a child of this machine.
 */
export const graphSupervisorMachine = graphSetup.createMachine({
  id: 'graph-supervisor',
  description: 'Who looks after one graph: one pass over the schedule after each change.',
  context: ({ input }) => ({
    graphId: input.graphId,
    revision: 0,
    runningWorks: input.runningWorks ?? 0,
    parkedWorks: 0,
    settledWorks: input.settledWorks ?? 0,
    passes: 0,
    closeReason: null,
    failureKind: null,
  }),
  options: { maxIterations: 100 },
  initial: 'empty',
  states: {
    empty: {
      description: 'Nothing is scheduled yet.',
      tags: ['waiting'],
      on: {
        UPDATED: { target: 'reconciling', actions: 'noteUpdate' },
        RESUMED: { target: 'reconciling' },
        FINISH: closes,
        FAIL: closes,
        STOP: closes,
        COMMIT_FAILED: closes,
      },
    },
    reconciling: {
      description: 'A pass over the schedule: skips are told, ready work is claimed and begun.',
      tags: ['busy'],
      on: {
        ...counts,
        UPDATED: { actions: 'noteUpdate' },
        WORK_SETTLED: { actions: 'noteSettled' },
        PASS_DONE: [
          { guard: 'hasRunning', target: 'running', actions: 'notePass' },
          { target: 'waiting', actions: 'notePass' },
        ],
        FINISH: closes,
        FAIL: closes,
        STOP: closes,
        COMMIT_FAILED: closes,
      },
    },
    running: {
      description: 'Works are under way; the next one that settles leads to a pass.',
      tags: ['busy'],
      meta: { timers: [{ from: 'the back-off of a retried node', sends: 'RETRY_DUE' }] },
      on: {
        ...counts,
        WORK_PARKED: [
          { guard: 'parksLast', target: 'waiting', actions: 'noteParked' },
          { actions: 'noteParked' },
        ],
        UPDATED: { target: 'reconciling', actions: 'noteUpdate' },
        WORK_SETTLED: { target: 'reconciling', actions: 'noteSettled' },
        RETRY_DUE: { actions: 'noteNothing' },
        FINISH: closes,
        FAIL: closes,
        STOP: closes,
        COMMIT_FAILED: closes,
      },
    },
    waiting: {
      description: 'Nothing can go on: works wait for people, time, decisions or an update.',
      tags: ['waiting'],
      on: {
        ...counts,
        WORK_UNPARKED: { target: 'running', actions: 'noteUnparked' },
        UPDATED: { target: 'reconciling', actions: 'noteUpdate' },
        WORK_SETTLED: { target: 'reconciling', actions: 'noteSettled' },
        PAUSED: { target: 'paused' },
        FINISH: closes,
        FAIL: closes,
        STOP: closes,
        COMMIT_FAILED: closes,
      },
    },
    paused: {
      description: 'Lies in the ledger until somebody decides; nothing of it runs.',
      tags: ['waiting'],
      on: {
        RESUMED: { target: 'reconciling' },
        FAIL: closes,
        STOP: closes,
        COMMIT_FAILED: closes,
      },
    },
    closing: {
      description: 'It ends: what is under way is stopped or waited for, then the end is written.',
      tags: ['busy'],
      on: {
        ...counts,
        UPDATED: { actions: 'noteUpdate' },
        WORK_SETTLED: { actions: 'noteSettled' },
        PASS_DONE: { actions: 'notePass' },
        RETRY_DUE: { actions: 'noteNothing' },
        FINISH: { actions: 'noteClosing' },
        FAIL: { actions: 'noteClosing' },
        STOP: { actions: 'noteClosing' },
        COMMIT_FAILED: { actions: 'noteClosing' },
        CLOSED: [
          { guard: 'isFinished', target: 'completed' },
          { guard: 'isStopped', target: 'stopped' },
          { target: 'failed' },
        ],
      },
    },
    completed: {
      type: 'final',
      tags: ['terminal'],
      description: 'Everything it started is settled, and it has its result.',
    },
    failed: {
      type: 'final',
      tags: ['terminal'],
      description: 'It cannot have its result; everything it started is settled.',
    },
    stopped: {
      type: 'final',
      tags: ['terminal'],
      description: 'It was stopped; everything it started is settled.',
    },
  },
});

/** Names of the states of a graph's supervisor. */
export type GraphSupervisorState = StateValueFrom<typeof graphSupervisorMachine>;
