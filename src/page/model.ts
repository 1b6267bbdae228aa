import type { RunEvent } from '../events/event-schemas.ts';
import { applyCall } from './apply-call.ts';
import { applyStep } from './apply-step.ts';
import { applyTurn } from './apply-turn.ts';
import { createModel, linkSession, type Model, nodeOf, setState, shortName, timeOf } from './node-tree.ts';
import type { ActorNode } from './nodes.ts';

/** The model of events that have happened. Total: reading may begin in the middle of anything. */
export function modelOf(events: Iterable<RunEvent>): Model {
  const model = createModel();
  for (const event of events) applyEvent(model, event);
  return model;
}

/** Takes one more event in. Events of a session come in order. */
export function applyEvent(model: Model, event: RunEvent): void {
  model.cursor = Math.max(model.cursor, event.cursor ?? 0);
  model.at = Math.max(model.at, Date.parse(event.ts));
  model.events += 1;
  const session = sessionNode(model, event.session, event);
  // Whoever spoke of it first may have called it something else.
  session.name = shortName(event.agent);
  linkSession(model, session, event.parent);
  if (event.turn === undefined) applySession(session, event);
  else applyTurn(model, event, event.turn);
  if (event.step !== undefined) applyStep(model, event, event.step);
  if (event.call !== undefined) applyCall(model, event, event.call);
  applyRelation(model, event);
}

function sessionNode(model: Model, id: string, event: RunEvent, agent = event.agent): ActorNode {
  return nodeOf(model, id, 'session', { event, name: agent });
}

function applySession(session: ActorNode, event: RunEvent): void {
  session.events.push(event);
  if (event.type === 'session.opened') {
    session.state = 'idle';
    session.facts.isGraph = event.data.kind === 'graph';
    session.startedAt = timeOf(event);
    if (event.data.origin !== undefined) session.facts.origin = event.data.origin;
  }
  if (event.type === 'session.closed') Object.assign(session, { state: 'closed', endedAt: timeOf(event) });
}

/** What one session says of another, and a schedule of its nodes. */
function applyRelation(model: Model, event: RunEvent): void {
  const above = event.call ?? event.turn ?? event.session;
  switch (event.type) {
    case 'child.intended':
    case 'child.started':
      linkSession(model, sessionNode(model, event.data.child, event, event.data.agent), above);
      return;
    case 'child.lost': {
      const lost = model.nodes.get(event.data.child);
      if (lost !== undefined) Object.assign(lost, { state: 'lost', tone: 'bad', reason: event.data.reason });
      return;
    }
    case 'handoff.taken':
      linkSession(model, sessionNode(model, event.data.child, event, event.data.to), event.turn ?? above);
      return;
    case 'graph.claimed':
    case 'graph.readied':
    case 'node.started':
    case 'node.finished':
    case 'node.skipped':
      applyNode(model, event);
      return;
    default:
      return;
  }
}

type NodeEvent = Extract<
  RunEvent,
  { type: 'graph.claimed' | 'graph.readied' | 'node.started' | 'node.finished' | 'node.skipped' }
>;

function applyNode(model: Model, event: NodeEvent): void {
  const { work, node: name } = event.data;
  const id = `${event.session}/${work}`;
  const node = nodeOf(model, id, 'node', { event, parent: event.session, name });
  node.events.push(event);
  if ('child' in event.data && event.data.child !== undefined) {
    linkSession(model, sessionNode(model, event.data.child, event, name), id);
  }
  switch (event.type) {
    case 'graph.readied':
      setState(node, 'ready', 'waiting');
      return;
    case 'graph.claimed':
    case 'node.started':
      setState(node, 'running', 'busy');
      return;
    case 'node.skipped':
      node.reason = event.data.reason;
      setState(node, 'skipped', 'stopped');
      return;
    case 'node.finished': {
      const { status } = event.data;
      setState(node, status, status === 'completed' ? 'good' : status === 'failed' ? 'bad' : 'stopped');
      node.endedAt = timeOf(event);
      node.reason = event.data.message ?? event.data.error?.kind;
    }
  }
}
