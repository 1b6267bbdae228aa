import type { LedgerRecord } from '../ledger/records.ts';
import { foldSession } from '../ledger/turn-facts.ts';

/** What the ledger knows of a queued turn. */
export type TurnStanding =
  /** Nobody has begun it, or it was begun and is open; `claims` counts who took the session up and got no further. */
  | { readonly type: 'new' | 'open'; readonly claims: number }
  /** It has ended: whoever is handed it once more has nothing to do. */
  | { readonly type: 'ended' }
  /** Another turn of the session is open. */
  | { readonly type: 'waits' };

/** Facts that are no progress: they are written whenever somebody begins anew where the one before was. */
const NO_PROGRESS: ReadonlySet<string> = new Set([
  'turn.resumed',
  'step.opened',
  'request.prepared',
  'attempt.started',
  'attempt.failed',
  'attempt.retry-scheduled',
  'tool.indeterminate',
]);

/** Where the turn of a run stands. `epoch` is that of the last claim on the session, with a record or without. */
export function standingOf(records: readonly LedgerRecord[], run: string, epoch: number): TurnStanding {
  const { turns, openTurn } = foldSession(records);
  const own = turns.find((turn) => turn.opened.data.run === run);
  // A run that was handed over goes on elsewhere, and is taken up from here.
  if (own?.closed !== undefined && own.closed.data.status !== 'handed-off') return { type: 'ended' };
  if (own === undefined && openTurn !== undefined) return { type: 'waits' };
  if (own === undefined) return { type: 'new', claims: epoch - (records.at(-1)?.epoch ?? 0) };
  const last = records.findLast(({ type, turn }) => turn === own.turnId && !NO_PROGRESS.has(type));
  return { type: 'open', claims: epoch - (last?.epoch ?? epoch) };
}
