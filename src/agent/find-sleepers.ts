import { isSwarmError } from '../errors.ts';
import type { Ledger, OpenSummary } from '../ledger/ledger.ts';
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
 * may have lost. A session that cannot be read keeps nobody from the others. Cost: one listing of what is open, and one
 * read of each such session that nobody has and of the children it waits for; those whose tree has no new fact since the
 * look that `memory` holds are not read, and not woken again at once.
 * @throws SwarmError of the ledger
 */
export async function findSleepers(
  ledger: Ledger,
  pool: string,
  now: number,
  memory: SleeperMemory = new Map(),
): Promise<readonly QueuedWake[]> {
  const looked: SleeperMemory = new Map();
  const wakes: QueuedWake[] = [];
  for (const one of await ledger.listOpen()) {
    if (one.owned) continue;
    const { treeVersion: version } = one;
    const known = memory.get(one.sessionId);
    const before = known?.version === version ? known : undefined;
    if (before !== undefined && now < before.until) looked.set(one.sessionId, before);
    else {
      const look = await lookAt(ledger, one, { pool, now });
      wakes.push(...look.wakes);
      looked.set(one.sessionId, { version, ...nextLook(look, before, now) });
    }
  }
  memory.clear();
  for (const [session, look] of looked) memory.set(session, look);
  return wakes;
}

/** When to look at a session again, by its id. */
export type SleeperMemory = Map<string, NextLook & { readonly version: number }>;

interface NextLook {
  /** Without a new fact it is not looked at before. */
  readonly until: number;
  /** Time from the last wake to the next one. */
  readonly pauseMs?: number;
}

/**
 * One that was woken without a new fact is woken again, ever more seldom: the wake may be lost, or nobody knows its agent,
 * and each wake is one more dead letter.
 */
function nextLook({ wakes, until }: Look, before: NextLook | undefined, now: number): NextLook {
  if (wakes.length === 0) return { until };
  const pauseMs = Math.min(LOST_MS, (before?.pauseMs ?? FIRST_PAUSE_MS / 2) * 2);
  return { until: Math.min(until, now + pauseMs), pauseMs };
}

interface Look {
  readonly wakes: readonly QueuedWake[];
  /** When it may find something else without a new fact. */
  readonly until: number;
}

const NOTHING: Look = { wakes: [], until: Number.POSITIVE_INFINITY };

async function lookAt(ledger: Ledger, open: OpenSummary, place: PlaceOfLook): Promise<Look> {
  try {
    return await wakesFor(ledger, open, place);
  } catch (error) {
    if (!isSwarmError(error) || !UNREADABLE.has(error.code)) throw error;
    return NOTHING;
  }
}

const UNREADABLE: ReadonlySet<string> = new Set(['ledger-corrupt', 'ledger-newer-schema']);

interface PlaceOfLook {
  readonly pool: string;
  readonly now: number;
}

async function wakesFor(
  ledger: Ledger,
  { sessionId, head, updatedAt }: OpenSummary,
  { pool, now }: PlaceOfLook,
): Promise<Look> {
  const { openTurn } = foldSession(await ledger.read(sessionId));
  if (openTurn === undefined) return NOTHING;
  const session = await placedSession(ledger, sessionId);
  if (!openTurn.paused) {
    const until = updatedAt + LOST_MS;
    if (now < until) return { wakes: [], until };
    // Its worker died, and the queue has no entry of it any more.
    const isLost = await isOfPool(ledger, session, pool);
    return isLost ? forEver([{ session, cause: `lost ${head.seq}` }]) : NOTHING;
  }
  if (!isPausedIn(await ledger.read(session), pool)) return NOTHING;
  const due = dueIn(openTurn, now);
  const isWanted = due > 0 || (await hasChildNews(ledger, sessionId));
  if (isWanted) return forEver([{ session, cause: `sleeper ${sessionId} ${head.seq} ${due}` }]);
  return { wakes: await neverBegun(ledger, sessionId, openTurn), until: nextExpiry(openTurn) };
}

/** Until there is a new fact. */
function forEver(wakes: readonly QueuedWake[]): Look {
  return { ...NOTHING, wakes };
}

function nextExpiry({ calls }: TurnFacts): number {
  const times = [...calls.values()].map((call) => {
    return hasResult(call) ? undefined : call.requested?.data.expiresAt;
  });
  return Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY));
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
const FIRST_PAUSE_MS = 5_000;

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
