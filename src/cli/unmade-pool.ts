import { isSwarmError } from '../errors.ts';
import type { NatsClient } from '../nats/client.ts';
import type { Cli } from './cli.ts';
import { quoteWord } from './shell-words.ts';

/** A pool as a command line names it. */
export interface NamedPool {
  readonly pool?: string | undefined;
  readonly ns?: string | undefined;
}

/**
 * Tells of a pool that has no queue: what is given to it waits for a worker that may never come, as its name may be
 * misspelt. Costs one question, and says nothing where that cannot be asked or is not answered.
 */
export async function tellUnmadePool(
  cli: Cli,
  client: NatsClient | undefined,
  { pool, ns }: NamedPool,
): Promise<void> {
  if (client === undefined || pool === undefined || !(await isUnmade(client, { pool, ns }))) return;
  await cli.err.say(
    `no worker has made the pool ${quoteWord(pool)} yet: what is given to it waits for the first`,
  );
}

async function isUnmade(client: NatsClient, place: NamedPool): Promise<boolean> {
  const { findPool } = await import('../nats/pool-consumer.ts');
  try {
    return (await findPool(client, place)).state === 'missing';
  } catch (error) {
    // Not allowed to ask, or cut off for the moment: nobody needs to hear of it twice.
    if (isSwarmError(error)) return false;
    throw error;
  }
}
