import { sleep, systemClock } from '../clock.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { faultIn, readJson } from './jet-stream-api.ts';

/** What a worker looks for from time to time. */
export interface ScanOptions {
  readonly client: NatsClient;
  /** Of the sign that one of the pool is looking. */
  readonly subject: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  look(): Promise<unknown>;
}

/**
 * Looks every 5 s for what sleeps and has something to do: one worker of a pool at a time, whoever leaves a sign first;
 * the server forgets it by then. Never rejects.
 */
export async function scanTurns({ client, subject, signal, look }: ScanOptions): Promise<void> {
  // Workers that start together look one after the other.
  const spread = 1 + Math.random() / 4;
  while (await sleep(systemClock, NATS_LIMITS.scanMs * spread, signal)) {
    if (client.state.type !== 'connected') continue;
    try {
      if (await isFirst(client, subject)) await look();
    } catch {
      // The next look, here or elsewhere, finds the same.
    }
  }
}

async function isFirst(client: NatsClient, subject: string): Promise<boolean> {
  const headers = {
    'Nats-TTL': `${Math.round(NATS_LIMITS.scanMs / 1_000)}s`,
    'Nats-Expected-Last-Subject-Sequence': '0',
  };
  const answer = await client.request(subject, Buffer.from('{"v":1}', 'utf8'), { headers });
  return faultIn(readJson(answer.data)) === undefined;
}
