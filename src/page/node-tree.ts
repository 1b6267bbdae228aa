import type { RunEvent } from '../events/event-schemas.ts';
import type { ActorNode, NodeKind, Tone } from './nodes.ts';

/** What events up to some moment say of a ledger: its sessions and all that is in them. */
export interface Model {
  readonly nodes: Map<string, ActorNode>;
  /** Sessions that hang from nothing, oldest first. */
  readonly roots: string[];
  /** Place of the last event in the ledger. */
  cursor: number;
  /** When it happened, in milliseconds since the epoch. */
  at: number;
  events: number;
}

/** A model that knows nothing yet. */
export function createModel(): Model {
  return { nodes: new Map(), roots: [], cursor: 0, at: 0, events: 0 };
}

/** Time of an event, in milliseconds since the epoch. */
export function timeOf(event: RunEvent): number {
  return Date.parse(event.ts);
}

/** The node of an id, made if it is new. */
export function nodeOf(
  model: Model,
  id: string,
  kind: NodeKind,
  { event, parent, name }: { event: RunEvent; parent?: string; name: string },
): ActorNode {
  const known = model.nodes.get(id);
  if (known !== undefined) return known;
  const node: ActorNode = {
    id,
    kind,
    session: kind === 'session' ? id : event.session,
    parent: undefined,
    children: [],
    name: shortName(name),
    state: 'new',
    tone: 'idle',
    startedAt: timeOf(event),
    endedAt: undefined,
    reason: undefined,
    spent: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
    events: [],
    agents: 0,
    facts: {},
  };
  model.nodes.set(id, node);
  if (parent === undefined) model.roots.push(id);
  else attach(model, node, parent);
  if (kind === 'session') addAgents(model, node, 1);
  return node;
}

/** Longest name of a row. Those of runtimes are shorter, and whoever writes to a bus may write anything. */
const MAX_NAME_CHARS = 300;

/** A name as it is kept: rows are compared and drawn by it many times a second. */
export function shortName(name: string): string {
  return name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;
}

/** A node and everything above it, from below. */
export function* ancestry(model: Model, id: string | undefined): Generator<ActorNode> {
  for (let at = id; at !== undefined; ) {
    const node: ActorNode | undefined = model.nodes.get(at);
    if (node === undefined) return;
    yield node;
    at = node.parent;
  }
}

/** Sets the state of a node. */
export function setState(node: ActorNode, state: string, tone: Tone): void {
  node.state = state;
  node.tone = tone;
}

function attach(model: Model, node: ActorNode, parent: string): void {
  node.parent = parent;
  model.nodes.get(parent)?.children.push(node.id);
}

/** How close what a session hangs from is to it: a call or a node of a schedule says more than its envelope does. */
const CLOSENESS: Readonly<Record<NodeKind, number>> = { session: 1, turn: 2, step: 3, call: 4, node: 4 };

/**
 * Moves a session below what it belongs to. A link that would close a circle is not taken, nor one that is no closer
 * than the one there is: a fork repeats what its origin said of children, and they stay with the origin.
 */
export function linkSession(model: Model, session: ActorNode, parent: string | undefined): void {
  const target = parent === undefined ? undefined : model.nodes.get(parent);
  if (target === undefined) return;
  const current = model.nodes.get(session.parent ?? '');
  if (current !== undefined && CLOSENESS[target.kind] <= CLOSENESS[current.kind]) return;
  for (const above of ancestry(model, target.id)) if (above.id === session.id) return;
  const before = session.parent === undefined ? model.roots : model.nodes.get(session.parent)?.children;
  const at = before?.indexOf(session.id) ?? -1;
  if (at >= 0) before?.splice(at, 1);
  addAgents(model, session, -session.agents, true);
  attach(model, session, target.id);
  addAgents(model, session, session.agents, true);
}

/** Counts agents where they are; `aboveOnly` when a whole branch moves. */
function addAgents(model: Model, session: ActorNode, count: number, aboveOnly = false): void {
  for (const node of ancestry(model, session.id)) {
    if (node.kind === 'session' && !(aboveOnly && node === session)) node.agents += count;
  }
}
