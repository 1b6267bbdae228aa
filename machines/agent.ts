import { assign, type StateValueFrom, setup } from 'xstate';
import type { StateMeta, StateTag } from './state-meta.ts';

/** Whether a graph hangs from the agent, and whether it may still wake it. */
export type GraphPresence = 'none' | 'live' | 'terminal';

/** What started a turn. */
export type WakeReason = 'message' | 'graph' | 'resume' | 'schedule' | 'children' | 'wait-expired';

/** What the actor of a session starts from; the counts are those found in its ledger. */
export interface AgentInput {
  readonly agentId: string;
  readonly parentId?: string;
  /** Inputs waiting in the mailbox; default 0. */
  readonly mailboxSize?: number;
  /** Child sessions that have not ended; default 0. */
  readonly openChildren?: number;
  readonly graph?: GraphPresence;
  /** Restarts after a fault before the agent stops for good. */
  readonly maxRestarts: number;
}

/** Small facts of an agent. The mailbox itself is data of the runtime; the machine knows its size. */
export interface AgentContext {
  readonly agentId: string;
  readonly parentId: string | null;
  readonly mailboxSize: number;
  readonly openChildren: number;
  readonly graph: GraphPresence;
  /** Turns started by this actor. */
  readonly turns: number;
  readonly restarts: number;
  readonly maxRestarts: number;
  readonly wakeReason: WakeReason | null;
  readonly failureKind: string | null;
}

/**
 * What happens to an agent. Entering `running`, and TURN_DONE that stays in it, means: start the next turn.
 *
 * CHILD_STARTED and CHILD_DONE only count, in every live state; the last CHILD_DONE starts a turn if the agent
 * waits and no graph hangs from it.
 */
export type AgentEvent =
  /** An input came. At rest it starts a turn; else it waits in the mailbox. */
  | { readonly type: 'MESSAGE'; readonly from?: string }
  /** An input that waited in the mailbox was taken back. */
  | { readonly type: 'WITHDRAWN' }
  /** Start a turn without an input. A graph that has ended wakes nobody. */
  | { readonly type: 'WAKE'; readonly reason: 'graph' | 'resume' | 'schedule' }
  /** Text for the turn under way. */
  | { readonly type: 'STEER' }
  | { readonly type: 'TURN_DONE'; readonly status: string; readonly graph?: GraphPresence }
  /** The turn gave way to its graph. */
  | { readonly type: 'TURN_YIELDED' }
  /** The turn ended without a terminal state: a fault of the runtime. */
  | { readonly type: 'TURN_BROKEN'; readonly kind: string }
  | { readonly type: 'CHILD_STARTED'; readonly childId: string }
  | { readonly type: 'CHILD_DONE'; readonly childId: string; readonly status: string }
  /** The time an agent waits for its children ran out. */
  | { readonly type: 'WAIT_EXPIRED' }
  /** Try again after a fault; without restarts left the agent stops. */
  | { readonly type: 'RESTART' }
  | { readonly type: 'STOP'; readonly reason?: string }
  | { readonly type: 'STOP_GRACE_EXPIRED' };

/** What started a turn, if the event is one that may. */
function wakeReasonOf(event: AgentEvent): WakeReason | null {
  switch (event.type) {
    case 'MESSAGE':
      return 'message';
    case 'WAKE':
      return event.reason;
    case 'CHILD_DONE':
      return 'children';
    case 'WAIT_EXPIRED':
      return 'wait-expired';
    default:
      return null;
  }
}

function graphAfter(context: AgentContext, event: AgentEvent): GraphPresence {
  if (event.type === 'TURN_YIELDED') return 'live';
  return event.type === 'TURN_DONE' ? (event.graph ?? context.graph) : context.graph;
}

const agentSetup = setup({
  // The casts carry types only; nothing is read from the values.
  types: {
    context: {} as AgentContext,
    input: {} as AgentInput,
    events: {} as AgentEvent,
    tags: '' as StateTag,
    meta: {} as StateMeta,
  },
  guards: {
    mayWake: ({ context, event }) =>
      event.type === 'WAKE' && !(event.reason === 'graph' && context.graph === 'terminal'),
    hasMail: ({ context }) => context.mailboxSize > 0,
    hasChildren: ({ context }) => context.openChildren > 0,
    isLastChildWithoutGraph: ({ context }) => context.openChildren <= 1 && context.graph === 'none',
    mayRestart: ({ context }) => context.restarts < context.maxRestarts,
    mayRestartWithMail: ({ context }) => context.restarts < context.maxRestarts && context.mailboxSize > 0,
  },
  actions: {
    noteTurn: assign(({ context, event }) => ({ turns: context.turns + 1, wakeReason: wakeReasonOf(event) })),
    noteTurnOfLastChild: assign(({ context }) => ({
      turns: context.turns + 1,
      wakeReason: 'children' as const,
      openChildren: Math.max(0, context.openChildren - 1),
    })),
    noteNextTurn: assign(({ context, event }) => ({
      turns: context.turns + 1,
      wakeReason: 'message' as const,
      mailboxSize: Math.max(0, context.mailboxSize - 1),
      graph: graphAfter(context, event),
    })),
    noteRest: assign(({ context, event }) => ({ graph: graphAfter(context, event), wakeReason: null })),
    noteQueued: assign(({ context }) => ({ mailboxSize: context.mailboxSize + 1 })),
    noteWithdrawn: assign(({ context }) => ({ mailboxSize: Math.max(0, context.mailboxSize - 1) })),
    noteChild: assign(({ context }) => ({ openChildren: context.openChildren + 1 })),
    noteChildDone: assign(({ context }) => ({ openChildren: Math.max(0, context.openChildren - 1) })),
    noteFault: assign(({ event }) => ({
      failureKind: event.type === 'TURN_BROKEN' ? event.kind : 'unknown',
      wakeReason: null,
    })),
    noteRestart: assign(({ context }) => ({ restarts: context.restarts + 1, failureKind: null })),
    noteRestartedTurn: assign(({ context }) => ({
      restarts: context.restarts + 1,
      failureKind: null,
      turns: context.turns + 1,
      wakeReason: 'message' as const,
      mailboxSize: Math.max(0, context.mailboxSize - 1),
    })),
    /** Marks an event as seen that changes nothing. */
    noteNothing: assign({}),
  },
});

const wakes = { target: 'running', actions: 'noteTurn' } as const;
const queues = { actions: 'noteQueued' } as const;
const unqueues = { actions: 'noteWithdrawn' } as const;

/** The actor of one session: one turn at a time, everything else waits. Pure: mailbox and turns live in `src`. */
export const agentMachine = agentSetup.createMachine({
  id: 'agent',
  description: 'The actor of one session: one turn at a time.',
  context: ({ input }) => ({
    agentId: input.agentId,
    parentId: input.parentId ?? null,
    mailboxSize: input.mailboxSize ?? 0,
    openChildren: input.openChildren ?? 0,
    graph: input.graph ?? 'none',
    turns: 0,
    restarts: 0,
    maxRestarts: input.maxRestarts,
    wakeReason: null,
    failureKind: null,
  }),
  options: { maxIterations: 100 },
  initial: 'idle',
  // Children count in every state that is not final; `waiting` may start a turn with the last of them.
  on: {
    CHILD_STARTED: { actions: 'noteChild' },
    CHILD_DONE: { actions: 'noteChildDone' },
  },
  states: {
    idle: {
      description: 'Nothing to do; a message starts a turn.',
      tags: ['waiting'],
      on: {
        MESSAGE: wakes,
        WAKE: { guard: 'mayWake', target: 'running', actions: 'noteTurn' },
        STOP: { target: 'stopped' },
      },
    },
    running: {
      description: 'A turn is under way.',
      tags: ['busy'],
      on: {
        MESSAGE: queues,
        WITHDRAWN: unqueues,
        STEER: { actions: 'noteNothing' },
        TURN_DONE: [
          { guard: 'hasMail', actions: 'noteNextTurn' },
          { guard: 'hasChildren', target: 'waiting', actions: 'noteRest' },
          { target: 'idle', actions: 'noteRest' },
        ],
        TURN_YIELDED: [
          { guard: 'hasMail', actions: 'noteNextTurn' },
          { target: 'waiting', actions: 'noteRest' },
        ],
        TURN_BROKEN: { target: 'faulted', actions: 'noteFault' },
        STOP: { target: 'stopping' },
      },
    },
    waiting: {
      description: 'No turn; children or a graph are at work and will be heard.',
      tags: ['waiting'],
      meta: { timers: [{ from: 'the graph or child being waited for', sends: 'WAIT_EXPIRED' }] },
      on: {
        MESSAGE: wakes,
        WAKE: { guard: 'mayWake', target: 'running', actions: 'noteTurn' },
        CHILD_DONE: [
          { guard: 'isLastChildWithoutGraph', target: 'running', actions: 'noteTurnOfLastChild' },
          { actions: 'noteChildDone' },
        ],
        WAIT_EXPIRED: wakes,
        STOP: { target: 'stopped' },
      },
    },
    faulted: {
      description: 'A turn broke by a fault of the runtime; supervision decides.',
      tags: ['waiting'],
      on: {
        MESSAGE: queues,
        WITHDRAWN: unqueues,
        RESTART: [
          { guard: 'mayRestartWithMail', target: 'running', actions: 'noteRestartedTurn' },
          { guard: 'mayRestart', target: 'idle', actions: 'noteRestart' },
          { target: 'stopped' },
        ],
        STOP: { target: 'stopped' },
      },
    },
    stopping: {
      description: 'The turn under way is being stopped.',
      tags: ['busy'],
      meta: { timers: [{ from: 'the drain time of the stop', sends: 'STOP_GRACE_EXPIRED' }] },
      on: {
        TURN_DONE: { target: 'stopped' },
        TURN_YIELDED: { target: 'stopped' },
        TURN_BROKEN: { target: 'stopped', actions: 'noteFault' },
        STOP_GRACE_EXPIRED: { target: 'stopped' },
        STOP: { actions: 'noteNothing' },
      },
    },
    stopped: {
      type: 'final',
      tags: ['terminal'],
      description: 'The actor ended; its session stays in the ledger.',
    },
  },
});

/** Names of the states of an agent. */
export type AgentState = StateValueFrom<typeof agentMachine>;
