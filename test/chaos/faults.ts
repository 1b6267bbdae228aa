import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from './pool.ts';
import { redeliver, resubmit } from './queue.ts';
import type { Fault } from './schedule.ts';
import { slowDisk } from './slow-disk.ts';
import type { Task } from './tasks.ts';
import type { WorkerProcess } from './worker-process.ts';

/**
 * Does a fault, and puts the process back that it took. False where it was not done: a worker that is gone or stands
 * still already is left alone, and so is a broker.
 */
export async function carryOut(pool: Pool, fault: Fault, submitted: readonly Task[]): Promise<boolean> {
  switch (fault.type) {
    case 'kill':
      return withWorker(pool, fault.worker, async (worker) => {
        await worker.kill();
        if (await isOpenAfter(pool, fault.forMs)) await worker.start();
      });
    case 'freeze':
      return withWorker(pool, fault.worker, async (worker) => {
        worker.freeze();
        await isOpenAfter(pool, fault.forMs);
        worker.thaw();
      });
    case 'end':
      return withWorker(pool, fault.worker, async (worker) => {
        await worker.end(pool.leaseMs + 20_000);
        if (!pool.closing.aborted) await worker.start();
      });
    case 'broker':
      return withBroker(pool, async () => {
        await pool.server.kill();
        if (await isOpenAfter(pool, fault.forMs)) await pool.server.start();
      });
    case 'slow-disk':
      return withBroker(pool, () => slowDisk(pool.server, fault.flushMs, fault.forMs));
    case 'redeliver':
      return wasDone(redeliver(pool));
    case 'resubmit': {
      const task = submitted.at(-1);
      return task === undefined ? false : wasDone(resubmit(pool, task));
    }
  }
}

/** Waits. False when the pool is being cleaned up: nothing is to be started then. */
async function isOpenAfter({ closing }: Pool, ms: number): Promise<boolean> {
  await wait(ms, undefined, { signal: closing }).catch(() => undefined);
  return !closing.aborted;
}

/** While the broker is away nothing can be put into its queue. */
function wasDone(deed: Promise<void>): Promise<boolean> {
  return deed.then(
    () => true,
    () => false,
  );
}

const busyWorkers = new WeakSet<WorkerProcess>();
const busyBrokers = new WeakSet<Pool>();

async function withWorker(
  { workers }: Pool,
  index: number,
  act: (worker: WorkerProcess) => Promise<void>,
): Promise<boolean> {
  const worker = workers[index];
  if (worker === undefined || busyWorkers.has(worker)) return false;
  busyWorkers.add(worker);
  await act(worker);
  busyWorkers.delete(worker);
  return true;
}

async function withBroker(pool: Pool, act: () => Promise<void>): Promise<boolean> {
  if (busyBrokers.has(pool)) return false;
  busyBrokers.add(pool);
  await act();
  busyBrokers.delete(pool);
  return true;
}
