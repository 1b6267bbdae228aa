import type { RunEvent } from '../events/event-schemas.ts';

/** Who takes part: a session, or the person outside. */
export interface Lifeline {
  readonly id: string;
  readonly name: string;
}

/** One arrow of the diagram. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly kind: 'input' | 'ask' | 'handoff' | 'settle' | 'approval' | 'message';
  readonly isBad: boolean;
  readonly event: RunEvent;
}

/** Who spoke to whom, in order. */
export interface Sequence {
  readonly lifelines: readonly Lifeline[];
  readonly arrows: readonly Arrow[];
  /** Sessions there was no room for, and arrows of theirs. */
  readonly leftOut: number;
}

/** Everybody outside of the run. */
export const OUTSIDE = 'outside';

const MAX_LIFELINES = 24;
const MAX_ARROWS = 600;

/**
 * Who spoke to whom in one run. Of a swarm with too many agents for one picture, those around `focus` come first:
 * itself, what it asked, who asked it.
 */
export function sequenceOf(events: readonly RunEvent[], focus: string | undefined): Sequence {
  const names = new Map<string, string>([[OUTSIDE, 'you']]);
  const arrows: Arrow[] = [];
  for (const event of events) {
    if (!names.has(event.session)) names.set(event.session, event.agent);
    const drawn = arrowOf(event);
    if (drawn === undefined) continue;
    if ('child' in event.data && typeof event.data.child === 'string') {
      const name = 'agent' in event.data ? event.data.agent : 'to' in event.data ? event.data.to : undefined;
      if (name !== undefined && !names.has(event.data.child)) names.set(event.data.child, String(name));
    }
    arrows.push({ ...drawn, event });
  }
  const kept = keep(names, arrows, focus);
  const shown = arrows.filter(({ from, to }) => kept.has(from) && kept.has(to)).slice(-MAX_ARROWS);
  return {
    lifelines: [...names].filter(([id]) => kept.has(id)).map(([id, name]) => ({ id, name })),
    arrows: shown,
    leftOut: names.size - kept.size,
  };
}

function keep(
  names: ReadonlyMap<string, string>,
  arrows: readonly Arrow[],
  focus: string | undefined,
): ReadonlySet<string> {
  if (names.size <= MAX_LIFELINES) return new Set(names.keys());
  const near = arrows.flatMap(({ from, to }) => (from === focus ? [to] : to === focus ? [from] : []));
  const order = [OUTSIDE, ...(focus === undefined ? [] : [focus]), ...near, ...names.keys()];
  return new Set([...new Set(order)].slice(0, MAX_LIFELINES));
}

/** An arrow without the event it is of. */
type Drawn = Omit<Arrow, 'event'>;

function arrowOf(event: RunEvent): Drawn | undefined {
  return event.kind === 'child' || event.kind === 'handoff' ? ofFamily(event) : ofOutside(event);
}

type FamilyEvent = Extract<RunEvent, { readonly kind: 'child' | 'handoff' }>;

/** What agents say to each other. */
function ofFamily(event: FamilyEvent): Drawn {
  const { session } = event;
  switch (event.type) {
    case 'child.intended':
      return arrow(session, event.data.child, 'ask', `ask ${event.data.agent}`);
    case 'child.started':
      return arrow(session, event.data.child, 'ask', 'spawn');
    case 'child.finished': {
      const { child, status } = event.data;
      return arrow(child, session, 'settle', status, status !== 'completed');
    }
    case 'child.lost':
      return arrow(event.data.child, session, 'settle', 'lost', true);
    case 'handoff.taken':
      return arrow(session, event.data.child, 'handoff', `hand over to ${event.data.to}`);
    case 'handoff.refused':
      return arrow(session, session, 'handoff', `handoff to ${event.data.to} refused`, true);
  }
}

/** What a person says to agents and hears of them, and a graph to its operators. */
function ofOutside(event: RunEvent): Drawn | undefined {
  const { session } = event;
  switch (event.type) {
    case 'turn.opened':
      return event.parent === undefined ? arrow(OUTSIDE, session, 'input', 'input') : undefined;
    case 'turn.closed': {
      const { status } = event.data;
      return event.parent === undefined
        ? arrow(session, OUTSIDE, 'settle', status, status === 'failed')
        : undefined;
    }
    case 'approval.requested':
      return arrow(session, OUTSIDE, 'approval', `may ${event.data.toolName}?`);
    case 'approval.decided':
      return arrow(OUTSIDE, session, 'approval', event.data.decision, event.data.decision === 'deny');
    case 'steering.accepted':
      return arrow(OUTSIDE, session, 'message', 'steer');
    case 'graph.claimed':
      return event.data.child === undefined
        ? undefined
        : arrow(session, event.data.child, 'ask', event.data.node);
    case 'node.finished': {
      const { child, status } = event.data;
      return child === undefined ? undefined : arrow(child, session, 'settle', status, status === 'failed');
    }
    default:
      return undefined;
  }
}

function arrow(
  from: string,
  to: string,
  kind: Arrow['kind'],
  ...[label, isBad = false]: [string, boolean?]
): Drawn {
  return { from, to, kind, label, isBad };
}
