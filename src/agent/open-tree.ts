import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { foldSession, type SessionFacts, type TurnFacts } from '../ledger/turn-facts.ts';

/** A session with an open turn. */
export interface OpenTurn {
  readonly sessionId: string;
  readonly facts: SessionFacts;
  readonly turn: TurnFacts;
}

/**
 * Turns that are open in a session and in those that its facts lead to: children and operators without an end, and who
 * took over. From the top. Cost: one read of each of these sessions, however many others are on the ledger.
 * @throws SwarmError of the ledger
 */
export async function openInTree(
  ledger: Pick<Ledger, 'read'>,
  sessionId: string,
): Promise<readonly OpenTurn[]> {
  const found: OpenTurn[] = [];
  const seen = new Set<string>();
  for (let level: readonly string[] = [sessionId]; level.length > 0; ) {
    for (const session of level) seen.add(session);
    const all = await Promise.all(level.map((session) => ledger.read(session)));
    for (const [at, records] of all.entries()) {
      const facts = foldSession(records);
      const { openTurn: turn } = facts;
      if (turn !== undefined) found.push({ sessionId: level[at] ?? '', facts, turn });
    }
    level = [...new Set(all.flatMap(sessionsBelow))].filter((session) => !seen.has(session));
  }
  return found;
}

/** Sessions that a session asked, gave work or handed over to, and of whose end it has no fact. */
function sessionsBelow(records: readonly LedgerRecord[]): readonly string[] {
  const below = new Set<string>();
  const workers = new Map<string, string>();
  let successor: string | undefined;
  for (const { type, data } of records) {
    if (type === 'child.intended') below.add(data.child);
    else if (type === 'child.finished' || type === 'child.lost') below.delete(data.child);
    else if (type === 'handoff.taken') successor = data.child;
    // The next turn comes when the run is over that was handed over.
    else if (type === 'turn.opened') successor = undefined;
    else if (type === 'graph.claimed' && data.child !== undefined) {
      workers.set(data.work, data.child);
      below.add(data.child);
    } else if (type === 'node.finished' && data.status !== 'indeterminate') {
      // One operator has one work at a time; an attempt that is made again has a session of its own.
      below.delete(workers.get(data.work) ?? '');
    }
  }
  return successor === undefined ? [...below] : [...below, successor];
}
