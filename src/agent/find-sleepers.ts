import type { Ledger, SessionSummary } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { callStatus, foldSession, hasResult, type TurnFacts } from '../ledger/turn-facts.ts';
import { hasChildNews } from './child-standing.ts';
import { placedSession } from './pool-desk.ts';
import type { QueuedWake } from './work-pool.ts';

/**
 * Runs of a pool that are paused and have something to do, which nobody may ever tell them: a request for approval ran
 * out of time; or whoever decided, gave a text or ended a child went before the wake was durable. Cost: one listing, and
 * one read of each open session that nobody has.
 * @throws SwarmError of the ledger
 */
export async function findSleepers(
  ledger: Ledger,
  pool: string,
  now: number,
): Promise<readonly QueuedWake[]> {
  const wakes: QueuedWake[] = [];
  for (const open of await ledger.listOpen()) {
    if (open.owned) continue;
    const wake = await wakeFor(ledger, open, { pool, now });
    if (wake !== undefined) wakes.push(wake);
  }
  return wakes;
}

async function wakeFor(
  ledger: Ledger,
  { sessionId, head }: SessionSummary,
  { pool, now }: { readonly pool: string; readonly now: number },
): Promise<QueuedWake | undefined> {
  const { openTurn } = foldSession(await ledger.read(sessionId));
  if (openTurn?.paused !== true) return undefined;
  const session = await placedSession(ledger, sessionId);
  if (!isPausedIn(await ledger.read(session), pool)) return undefined;
  const due = dueIn(openTurn, now);
  const isWanted = due > 0 || (await hasChildNews(ledger, sessionId));
  return isWanted ? { session, cause: `sleeper ${sessionId} ${head.seq} ${due}` } : undefined;
}

/** Whether a worker of the pool paused it, and not because somebody asked for that: who asked resumes it. */
function isPausedIn(records: readonly LedgerRecord[], pool: string): boolean {
  const told = records.findLast((record) => record.type === 'run.settled');
  if (told?.type !== 'run.settled' || told.data.status !== 'paused') return false;
  return told.data.pool === pool && told.data.pause !== 'requested';
}

/** Calls that were decided on or whose time is up, and texts that wait. */
function dueIn(turn: TurnFacts, now: number): number {
  const calls = [...turn.calls.values()].filter((call) => {
    if (hasResult(call)) return false;
    const expiresAt = call.requested?.data.expiresAt;
    const isParked = callStatus(call) === 'parked';
    return callStatus(call) === 'decided' || (isParked && expiresAt !== undefined && expiresAt <= now);
  });
  return calls.length + turn.steering.length;
}
