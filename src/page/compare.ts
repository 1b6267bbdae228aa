import type { RunEvent } from '../events/event-schemas.ts';

/** Two sessions, of which one was forked from the other. */
export interface Comparison {
  /** Events at the beginning that say the same in both. */
  readonly same: readonly RunEvent[];
  /** What follows in each. */
  readonly left: readonly RunEvent[];
  readonly right: readonly RunEvent[];
}

/** Facts that a fork has of its own, whatever happens in it. */
const OWN_TYPES = new Set(['session.opened', 'turn.resumed']);

/** Fields that differ where nothing else does: ids, hashes of ids, and time. */
const OWN_FIELDS = /^(run|operationId|durationMs|wireId|request|id|ids|by|child|expiresAt|responseId)$/;

/** Where two sessions begin to differ. */
export function compareSessions(left: readonly RunEvent[], right: readonly RunEvent[]): Comparison {
  const [ours, theirs] = [left, right].map((events) => events.filter(({ type }) => !OWN_TYPES.has(type)));
  if (ours === undefined || theirs === undefined) return { same: [], left: [], right: [] };
  let same = 0;
  while (same < ours.length && same < theirs.length) {
    const [a, b] = [ours[same], theirs[same]];
    if (a === undefined || b === undefined || signatureOf(a) !== signatureOf(b)) break;
    same += 1;
  }
  return { same: ours.slice(0, same), left: ours.slice(same), right: theirs.slice(same) };
}

/** What an event says, without what only says which one it is. */
function signatureOf(event: RunEvent): string {
  const { session, type, data } = event;
  const place = (event.call ?? event.step ?? event.turn ?? '').replace(session, '');
  return JSON.stringify([type, place, withoutOwn(data)]);
}

function withoutOwn(data: object): unknown {
  return Object.entries(data).filter(([name]) => !OWN_FIELDS.test(name));
}
