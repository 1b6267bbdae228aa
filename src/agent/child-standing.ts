import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerRecord, PauseReason, RecordOf } from '../ledger/records.ts';
import { toldOfSession } from '../ledger/run-standing.ts';
import { foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import { leftInTree } from './run-turn-job.ts';

/** Where a child stands that any worker may have, by its own facts. */
export type ChildStanding =
  | { readonly type: 'new' | 'at-work' }
  /** It waits for somebody, and nothing has been said to it since. */
  | { readonly type: 'paused'; readonly reason: PauseReason }
  | { readonly type: 'ended'; readonly settled: RecordOf<'run.settled'> };

/** @throws SwarmError of the ledger */
export async function standingOfChild(ledger: Ledger, session: string): Promise<ChildStanding> {
  const records = await ledger.read(session);
  if (records.length === 0) return { type: 'new' };
  const told = toldOfSession(records);
  if (told === undefined) return { type: 'at-work' };
  if (told.data.status !== 'paused') return { type: 'ended', settled: told };
  const { pause: reason = 'approval' } = told.data;
  if (reason === 'children' || records.some((record) => goesOn(record, told.seq))) return { type: 'at-work' };
  if (reason === 'requested') return { type: 'paused', reason };
  const { approvals, calls } = await leftInTree(ledger, session);
  // Everything was decided: whoever decided has woken it.
  return approvals.length + calls.length === 0 ? { type: 'at-work' } : { type: 'paused', reason };
}

function goesOn({ type, seq }: LedgerRecord, after: number): boolean {
  return seq > after && type === 'turn.resumed';
}

/** Children of a turn that other workers may have, and that have no result yet: in the order they were wanted. */
export function openPlacedChildren(children: TurnFacts['children']): readonly string[] {
  return [...children.values()]
    .filter(({ intended, finished, lost }) => {
      return intended.data.grant !== undefined && finished === undefined && lost === undefined;
    })
    .map(({ intended }) => intended.data.child);
}

/** Those of them that may be at work: the others wait until one of these has its result. */
export function placedChildrenInPlace(children: TurnFacts['children']): readonly string[] {
  const open = openPlacedChildren(children);
  // What holds for a child below its parent holds for the parent: all of them are told the same.
  const { fanOut } = children.get(open[0] ?? '')?.intended.data.grant?.bounds ?? {};
  return open.slice(0, fanOut);
}

/** The turn that is open in a session, or in the one it handed over to. @throws SwarmError of the ledger */
export async function openTurnOf(ledger: Ledger, session: string): Promise<TurnFacts | undefined> {
  for (let at: string | undefined = session; at !== undefined; ) {
    const { openTurn, turns } = foldSession(await ledger.read(at));
    if (openTurn !== undefined) return openTurn;
    at = turns.at(-1)?.handoff?.data.child;
  }
  return undefined;
}

/**
 * Whether a turn that waits for children has something to do: it does not wait yet, one of them has ended, or none is at
 * work any more and it does not say so.
 * @throws SwarmError of the ledger
 */
export async function hasChildNews(ledger: Ledger, session: string): Promise<boolean> {
  const turn = await openTurnOf(ledger, session);
  if (turn === undefined) return false;
  // Whoever had it may have died on the way to its pause.
  if (!turn.paused) return true;
  const children = placedChildrenInPlace(turn.children);
  const standings = await Promise.all(children.map((child) => standingOfChild(ledger, child)));
  if (standings.some(({ type }) => type === 'ended')) return true;
  const records = await ledger.read(turn.opened.session);
  const told = records.findLast(({ type }) => type === 'turn.paused');
  const waits = told?.type === 'turn.paused' && told.data.reason === 'children';
  return waits && standings.every(({ type }) => type === 'paused');
}
