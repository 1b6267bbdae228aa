import { setTimeout as wait } from 'node:timers/promises';
import { events } from '../invariants/bus.ts';
import { type Check, checkSwarm } from '../invariants/swarm.ts';
import type { SwarmWitness } from '../invariants/witness.ts';
import type { Pool } from './pool.ts';
import { queuedTurns } from './queue.ts';
import type { Watch } from './watch.ts';
import { witnessOf } from './witness-of.ts';

/** Time everything has to come to its end once nothing goes wrong any more. */
const SETTLES_MS = 60_000;
/** Time the bus then has to have told all of it. */
const TELLS_MS = 10_000;

/** Resolves when nothing is open and the queue is empty, or when that takes too long. */
export function settled(pool: Pool, isOpen: () => boolean): Promise<void> {
  return until(async () => !isOpen() && (await queuedTurns(pool)) === 0, SETTLES_MS);
}

/** Ends the workers once the bus has told everything, and checks all that is left. */
export async function lookBack(
  pool: Pool,
  watch: Watch,
): Promise<{ readonly checks: readonly Check[]; readonly witness: SwarmWitness }> {
  await until(() => isTold(pool, watch), TELLS_MS);
  const exitCodes = await Promise.all(pool.workers.map((worker) => worker.end(SETTLES_MS)));
  const witness = await witnessOf(pool, watch, exitCodes);
  return { checks: checkSwarm(witness), witness };
}

/** Whether the subscriber was given every event that is owed to it. */
async function isTold({ ledger }: Pool, { delivered }: Watch): Promise<boolean> {
  const summaries = await ledger.sessions();
  const records = await Promise.all(summaries.map(({ sessionId }) => ledger.read(sessionId)));
  const sessions = Map.groupBy(records.flat(), ({ session }) => session);
  return events(sessions, delivered, 'delivered').length === 0;
}

/** Resolves once it holds, or when it has had its time. */
async function until(holds: () => Promise<boolean>, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (Date.now() < deadline && !(await holds().catch(() => false))) await wait(100);
}
