import type { Ledger, SessionSummary } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { toldOfSession } from '../ledger/run-standing.ts';
import { callStatus, foldSession, hasResult, type TurnFacts } from '../ledger/turn-facts.ts';
import { hasChildNews } from './child-standing.ts';
import { placedParent } from './placed-work.ts';
import { placedSession } from './pool-desk.ts';
import type { QueuedWake } from './work-pool.ts';

/**
 * Runs of a pool that are paused and have something to do, which nobody may ever tell them: a request for approval ran
 * out of time; or whoever decided, gave a text or ended a child went before the wake was durable. Also turns that were left
 * open ten minutes ago and more, which the queue may have lost. Cost: one listing, and
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
  { sessionId, head, updatedAt }: SessionSummary,
  { pool, now }: { readonly pool: string; readonly now: number },
): Promise<QueuedWake | undefined> {
  const { openTurn } = foldSession(await ledger.read(sessionId));
  if (openTurn === undefined) return undefined;
  const session = await placedSession(ledger, sessionId);
  if (!openTurn.paused) {
    // Its worker died, and the queue has no entry of it any more.
    const isLost = now - updatedAt > LOST_MS && (await isOfPool(ledger, session, pool));
    return isLost ? { session, cause: `lost ${head.seq}` } : undefined;
  }
  if (!isPausedIn(await ledger.read(session), pool)) return undefined;
  const due = dueIn(openTurn, now);
  const isWanted = due > 0 || (await hasChildNews(ledger, sessionId));
  return isWanted ? { session, cause: `sleeper ${sessionId} ${head.seq} ${due}` } : undefined;
}

/** Far beyond the time after which the queue hands out an entry again. */
const LOST_MS = 600_000;

/** Whether workers of the pool had the session, or the one that asked for it. */
async function isOfPool(ledger: Ledger, session: string, pool: string): Promise<boolean> {
  const records = await ledger.read(session);
  if (records.some((record) => record.type === 'run.settled' && record.data.pool === pool)) return true;
  const parent = await placedParent(ledger, records);
  return parent !== undefined && isOfPool(ledger, await placedSession(ledger, parent), pool);
}

/** Whether a worker of the pool paused it, and not because somebody asked for that: who asked resumes it. */
function isPausedIn(records: readonly LedgerRecord[], pool: string): boolean {
  const { data: told } = toldOfSession(records) ?? {};
  return told?.status === 'paused' && told.pool === pool && told.pause !== 'requested';
}

/** Calls that were decided on or whose time is up; texts only where no call is open, which they would wait for. */
function dueIn(turn: TurnFacts, now: number): number {
  const open = [...turn.calls.values()].filter((call) => !hasResult(call));
  if (open.length === 0) return turn.steering.length;
  return open.filter((call) => {
    const expiresAt = call.requested?.data.expiresAt;
    const isParked = callStatus(call) === 'parked';
    return callStatus(call) === 'decided' || (isParked && expiresAt !== undefined && expiresAt <= now);
  }).length;
}
