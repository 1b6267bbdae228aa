import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { NatsServer } from '../test/support/nats-server.ts';
import { machineMs } from './machine-clock.ts';
import { type Provider, startPool, startProvider } from './workers-processes.ts';

/** The lease of the measurement; the default is 30,000, and nothing else depends on it. */
export const LEASE_MS = 3_000;
/** Longer than anything that is measured: a turn ends only because it is given up or taken over. */
const MODEL_MS = 60_000;
const TIMES = 3;

/** Time from the end of a worker by SIGKILL to the request of another one for the turn that it had. */
export function takeoverMs(server: NatsServer): Promise<readonly number[]> {
  return measure(server, async (worker) => void worker.kill('SIGKILL'));
}

/** The same where the worker is told to go twice: at first it waits for its turn, then it leaves it open. */
export function handoverMs(server: NatsServer): Promise<readonly number[]> {
  return measure(server, async (worker) => {
    const drains = once(worker, 'message');
    worker.kill('SIGTERM');
    await drains;
    worker.kill('SIGTERM');
  });
}

async function measure(
  server: NatsServer,
  end: (worker: ChildProcess) => Promise<void>,
): Promise<readonly number[]> {
  const measured: number[] = [];
  for (let time = 0; time < TIMES; time++) measured.push(await measureOnce(server, end));
  return measured;
}

async function measureOnce(
  server: NatsServer,
  end: (worker: ChildProcess) => Promise<void>,
): Promise<number> {
  await using provider = await startProvider(MODEL_MS);
  await using pool = await startPool(server, provider, { workers: 1, concurrency: 1, leaseMs: LEASE_MS });
  const run = pool.runtime.run(pool.clerk, 'turn');
  run.result.catch(() => undefined);
  await requestsOf(provider, 1);
  // Whoever takes over was there before, and has room.
  await pool.startAnother();
  const [worker] = pool.workers;
  if (worker === undefined) throw new Error('no worker');
  await end(worker);
  const endedAt = machineMs();
  const [, again = Number.NaN] = await requestsOf(provider, 2);
  return again - endedAt;
}

/** When the first so many requests about the turn came, once they have. */
async function requestsOf(provider: Provider, count: number): Promise<readonly number[]> {
  for (;;) {
    const { turn = [] } = await provider.requests();
    if (turn.length >= count) return turn;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
