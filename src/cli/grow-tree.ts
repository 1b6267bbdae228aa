import type { RunEvent } from '../events/event-schemas.ts';
import { failureWords } from './failure-words.ts';
import { growCall } from './grow-call.ts';
import { growStep } from './grow-step.ts';
import { pauseWords } from './pause-words.ts';
import {
  addTotals,
  NO_TOTALS,
  type RunTree,
  type SessionNode,
  type TurnNode,
  totalsOfTurn,
} from './run-tree.ts';

/** The tree after one more event. Pure and total: reading may begin in the middle of a turn. */
export function growTree(tree: RunTree, event: RunEvent): RunTree {
  const session = tree.sessions.get(event.session) ?? newSession(event);
  const grown = growSession(session, event);
  const withSession = setSession(tree, grown);
  return linkChild(withSession, event);
}

function newSession({ session, agent, parent }: RunEvent): SessionNode {
  return {
    id: session,
    agent,
    parent,
    call: undefined,
    children: [],
    turn: undefined,
    earlier: NO_TOTALS,
    lost: undefined,
  };
}

function setSession(tree: RunTree, session: SessionNode): RunTree {
  if (tree.sessions.get(session.id) === session) return tree;
  const sessions = new Map(tree.sessions).set(session.id, session);
  const parent = session.parent === undefined ? undefined : sessions.get(session.parent);
  if (parent !== undefined && !parent.children.includes(session.id)) {
    sessions.set(parent.id, { ...parent, children: [...parent.children, session.id] });
  }
  return { ...tree, sessions };
}

/** What a session says of those it asked or handed over to: which call they belong to, and that one is lost. */
function linkChild(tree: RunTree, event: RunEvent): RunTree {
  switch (event.type) {
    case 'child.intended':
    case 'child.started': {
      const { child, agent } = event.data;
      const known = tree.sessions.get(child) ?? newSession({ ...event, session: child, agent });
      return setSession(tree, { ...known, parent: event.session, call: event.call ?? known.call });
    }
    case 'handoff.taken': {
      const { child, to } = event.data;
      const known = tree.sessions.get(child) ?? newSession({ ...event, session: child, agent: to });
      return setSession(tree, { ...known, parent: event.session, call: event.call ?? known.call });
    }
    case 'child.lost': {
      const known = tree.sessions.get(event.data.child);
      return known === undefined ? tree : setSession(tree, { ...known, lost: event.data.reason });
    }
    default:
      return tree;
  }
}

function growSession(session: SessionNode, event: RunEvent): SessionNode {
  if (event.turn === undefined) return session;
  const before = session.turn;
  if (before?.id !== event.turn) {
    const earlier = addTotals(session.earlier, totalsOfTurn(before));
    return { ...session, earlier, turn: growTurn(newTurn(event, event.turn), event) };
  }
  const turn = growTurn(before, event);
  return turn === before ? session : { ...session, turn };
}

function newTurn(event: RunEvent, id: string): TurnNode {
  return {
    id,
    // Its id ends with its place in the session, also where its opening is not among the events.
    ordinal: Number(id.slice(id.lastIndexOf('.') + 1)) || 1,
    state: 'running',
    startedAt: Date.parse(event.ts),
    endedAt: undefined,
    steps: [],
    reason: undefined,
    steering: [],
    notes: [],
  };
}

function growTurn(turn: TurnNode, event: RunEvent): TurnNode {
  switch (event.type) {
    case 'turn.paused':
      return { ...turn, state: 'paused', reason: pauseWords(event.data.reason) };
    case 'turn.resumed':
      return { ...turn, state: 'running', reason: undefined };
    case 'turn.closed': {
      const { status, error, message, reason } = event.data;
      const failure = error === undefined ? undefined : failureWords({ ...error, message });
      return {
        ...turn,
        state: status,
        endedAt: Date.parse(event.ts),
        reason: failure ?? reason,
        steering: [],
      };
    }
    case 'budget.exceeded':
      return note(turn, `budget ${event.data.budget} is used up: ${event.data.used} of ${event.data.limit}`);
    case 'compaction.committed':
      return note(turn, `history shortened from ${event.data.fromChars} to ${event.data.toChars} characters`);
    case 'handoff.taken':
      return note(turn, `handed off to ${event.data.to}`);
    case 'handoff.refused':
      return note(turn, `handoff to ${event.data.to} refused: ${event.data.reason}`);
    case 'discovery.activated':
      return note(turn, `tools found: ${event.data.names.join(', ')}`);
    case 'steering.accepted':
    case 'steering.injected':
    case 'steering.undelivered':
      return growSteering(turn, event);
    default:
      return growSteps(turn, event);
  }
}

type SteeringEvent = Extract<RunEvent, { readonly kind: 'steering' }>;

function growSteering(turn: TurnNode, event: SteeringEvent): TurnNode {
  if (event.type === 'steering.accepted') {
    const { id, text = '' } = event.data;
    return { ...turn, steering: [...turn.steering, { id, text }] };
  }
  const { ids } = event.data;
  const waiting = turn.steering.filter(({ id }) => !ids.includes(id));
  return { ...turn, steering: waiting };
}

function note(turn: TurnNode, text: string): TurnNode {
  return { ...turn, notes: [...turn.notes, text] };
}

function growSteps(turn: TurnNode, event: RunEvent): TurnNode {
  if (event.step === undefined) return turn;
  const at = turn.steps.findIndex(({ id }) => id === event.step);
  const before = turn.steps[at];
  const grown = growCall(growStep(before, event, event.step), event);
  if (grown === before) return turn;
  // Facts of one step come together, so a step that is not known is the newest.
  const steps = before === undefined ? [...turn.steps, grown] : turn.steps.with(at, grown);
  return { ...turn, steps };
}
