import type { NatsServer } from '../test/support/nats-server.ts';
import { PLACES } from './workers-dispatch.ts';
import { startPool, startProvider } from './workers-processes.ts';

/** Time the model takes: far more than a turn takes of a processor, so that places are what there is too little of. */
export const MODEL_MS = 4_000;
/** Turns that each place of the larger pool gets. */
const ROUNDS = 2;
const MOST_PLACES = 4 * PLACES;

/** Turns a second of a pool of so many workers, each turn waiting for its model. */
export async function turnsPerSecond(server: NatsServer, workers: number): Promise<number> {
  await using provider = await startProvider(MODEL_MS);
  await using pool = await startPool(server, provider, { workers, concurrency: PLACES });
  const give = async (count: number) => {
    const given = Array.from({ length: count }, (_, at) => pool.runtime.run(pool.clerk, `turn ${at}`));
    for (const { result } of given) {
      const { status } = await result;
      if (status !== 'completed') throw new Error(status);
    }
  };
  await give(workers * PLACES);
  const startedMs = performance.now();
  await give(ROUNDS * MOST_PLACES);
  return (ROUNDS * MOST_PLACES * 1_000) / (performance.now() - startedMs);
}
