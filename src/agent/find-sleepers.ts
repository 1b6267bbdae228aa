import { isSwarmError } from '../errors.ts';
import type { Ledger, SessionSummary } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { toldOfSession } from '../ledger/run-standing.ts';
import { callStatus, foldSession, hasResult, type TurnFacts } from '../ledger/turn-facts.ts';
import { hasChildNews, placedChildrenInPlace } from './child-standing.ts';
import { INTENDED } from './place-child.ts';
import { placedParent } from './placed-work.ts';
import { placedSession } from './pool-desk.ts';
import type { QueuedWake } from './work-pool.ts';

/**
 * Runs of a pool that are paused and have something to do, which nobody may ever tell them: a request for approval ran
 * out of time; or whoever decided, gave a text or ended a child went before the wake was durable. Also children that
 * were intended and that the queue does not know of, and turns that were left open ten minutes ago and more, which it
 * may have lost. A session that cannot be read keeps nobody from the others. Cost: one listing, and one read of each
 * open session that nobody has and of the children it waits for.
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
    try {
      wakes.push(...(await wakesFor(ledger, open, { pool, now })));
    } catch (error) {
      if (!isSwarmError(error) || !UNREADABLE.has(error.code)) throw error;
    }
  }
  return wakes;
}

const UNREADABLE: ReadonlySet<string> = new Set(['ledger-corrupt', 'ledger-newer-schema']);

async function wakesFor(
  ledger: Ledger,
  { sessionId, head, updatedAt }: SessionSummary,
  { pool, now }: { readonly pool: string; readonly now: number },
): Promise<readonly QueuedWake[]> {
  const { openTurn } = foldSession(await ledger.read(sessionId));
  if (openTurn === undefined) return [];
  const session = await placedSession(ledger, sessionId);
  if (!openTurn.paused) {
    // Its worker died, and the queue has no entry of it any more.
    const isLost = now - updatedAt > LOST_MS && (await isOfPool(ledger, session, pool));
    return isLost ? [{ session, cause: `lost ${head.seq}` }] : [];
  }
  if (!isPausedIn(await ledger.read(session), pool)) return [];
  const due = dueIn(openTurn, now);
  const isWanted = due > 0 || (await hasChildNews(ledger, sessionId));
  if (isWanted) return [{ session, cause: `sleeper ${sessionId} ${head.seq} ${due}` }];
  return neverBegun(ledger, sessionId, openTurn);
}

/** Children that a turn waits for and that have no record. Those the queue has are not in it twice. */
async function neverBegun(ledger: Ledger, parent: string, turn: TurnFacts): Promise<readonly QueuedWake[]> {
  const wakes: QueuedWake[] = [];
  for (const session of placedChildrenInPlace(turn.children)) {
    if ((await ledger.head(session)) === undefined) wakes.push({ session, parent, cause: INTENDED });
  }
  return wakes;
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
