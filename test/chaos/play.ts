import { setTimeout as wait } from 'node:timers/promises';
import type { Check } from '../invariants/swarm.ts';
import type { SwarmWitness } from '../invariants/witness.ts';
import { agentsOf } from './agents.ts';
import { carryOut } from './faults.ts';
import { attendTo } from './person.ts';
import { type Pool, startPool } from './pool.ts';
import type { Schedule } from './schedule.ts';
import { lookBack, settled } from './settling.ts';
import { sessionOf, submit } from './submissions.ts';
import type { Task } from './tasks.ts';
import { watchPool } from './watch.ts';

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
  return { ...(await lookBack(pool, watch)), unsettled };
}

/** Gives the tasks and does the faults, each at its time, and waits until every task has its end. */
async function settle(pool: Pool, { tasks, faults, doubt }: Schedule): Promise<readonly string[]> {
  const { client: connection, ns, leaseMs, world } = pool;
  const agents = () => agentsOf(world);
  const targetOf = () => 'lead';
  await using person = await attendTo({
    ...{ connection, ns, leaseMs, agents, targetOf, doubt },
    steersDuring: 'slow',
  });
  const submitted: Task[] = [];
  const start = Date.now();
  const at = (atMs: number) => wait(Math.max(0, start + atMs - Date.now()));
  await Promise.all([
    ...tasks.map(async ({ atMs, task }) => {
      await at(atMs);
      await submit(pool, task);
      submitted.push(task);
    }),
    ...faults.map(async ({ atMs, fault }) => {
      await at(atMs);
      await carryOut(pool, fault, submitted);
    }),
  ]);
  const open = () => submitted.filter((task) => !person.told.has(sessionOf(task)));
  await settled(pool, () => open().length > 0);
  return open().map(({ id }) => id);
}
