import { setTimeout as wait } from 'node:timers/promises';
import { events } from '../invariants/bus.ts';
import { type Check, checkSwarm } from '../invariants/swarm.ts';
import type { SwarmWitness } from '../invariants/witness.ts';
import { carryOut } from './faults.ts';
import { attendTo } from './person.ts';
import { type Pool, startPool } from './pool.ts';
import { queuedTurns } from './queue.ts';
import type { Schedule } from './schedule.ts';
import { sessionOf, submit } from './submissions.ts';
import type { Task } from './tasks.ts';
import { type Watch, watchPool } from './watch.ts';
import { witnessOf } from './witness-of.ts';

/** Time everything has to come to its end once nothing goes wrong any more. */
const SETTLES_MS = 60_000;
/** Time the bus then has to have told all of it. */
const TELLS_MS = 10_000;

/** What a schedule came to. */
export interface Played {
  readonly checks: readonly Check[];
  /** Tasks that came to no end in time. */
  readonly unsettled: readonly string[];
  readonly witness: SwarmWitness;
}

/** Plays a schedule on a pool of its own, and looks at everything it left. */
export async function playSchedule(schedule: Schedule, leaseSeconds: number, workers = 3): Promise<Played> {
  await using pool = await startPool({ workers, leaseSeconds, ns: `c${schedule.seed}` });
  await using watch = watchPool(pool);
  const unsettled = await settle(pool, schedule);
  await until(() => isTold(pool, watch), TELLS_MS);
  const exitCodes = await Promise.all(pool.workers.map((worker) => worker.end(SETTLES_MS)));
  const witness = await witnessOf(pool, watch, exitCodes);
  return { checks: checkSwarm(witness), unsettled, witness };
}

/** Gives the tasks and does the faults, each at its time, and waits until every task has its end. */
async function settle(pool: Pool, schedule: Schedule): Promise<readonly string[]> {
  await using person = await attendTo(pool, schedule.doubt);
  const submitted: Task[] = [];
  const start = Date.now();
  const at = (atMs: number) => wait(Math.max(0, start + atMs - Date.now()));
  await Promise.all([
    ...schedule.tasks.map(async ({ atMs, task }) => {
      await at(atMs);
      await submit(pool, task);
      submitted.push(task);
    }),
    ...schedule.faults.map(async ({ atMs, fault }) => {
      await at(atMs);
      await carryOut(pool, fault, submitted);
    }),
  ]);
  const open = () => submitted.filter((task) => !person.told.has(sessionOf(task)));
  await until(async () => open().length === 0 && (await queuedTurns(pool)) === 0, SETTLES_MS);
  return open().map(({ id }) => id);
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
