import type { Queued, QueuedRun } from '../../src/agent/work-pool.ts';
import type { NatsClient } from '../../src/nats/client.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';

/** A run for a pool, and where that is. */
export interface EnqueuedRun extends QueuedRun {
  readonly ns?: string;
  readonly pool?: string;
}

/** Queues a run as a runtime with a pool does, whatever definition its worker has under the name. */
export function enqueueTurn(client: NatsClient, { ns, pool, ...run }: EnqueuedRun): Promise<Queued> {
  const place = { ...(ns === undefined ? {} : { ns }), ...(pool === undefined ? {} : { pool }) };
  return natsPool({ connection: client, ...place }).submit(run);
}
