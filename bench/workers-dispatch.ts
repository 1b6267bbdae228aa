import { once } from 'node:events';
import { connectNats } from '../src/nats/client.ts';
import { askJetStream } from '../src/nats/jet-stream-api.ts';
import { type NatsServer, startNatsServer } from '../test/support/nats-server.ts';
import { machineMs } from './machine-clock.ts';
import type { Received } from './queue-child.ts';
import { endProgram, startPool, startProgram, startProvider } from './workers-processes.ts';

export const WORKERS = 4;
/** Turns or messages at once, of each. */
export const PLACES = 8;
/** Time in which turns or messages are given. */
const GIVEN_S = 5;
/** Given before, a few at once: a worker compiles what it runs often for its first thousand turns. */
const WARM_UP = 3_200;
const WARM_UP_AT_ONCE = 8;

async function warmUp(give: (name: string) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < WARM_UP; at += WARM_UP_AT_ONCE) {
    await Promise.all(Array.from({ length: WARM_UP_AT_ONCE }, (_, index) => give(`warm ${at + index}`)));
  }
}

/** Calls `give` `perSecond` times a second, and tells when each call was, in milliseconds of `machineMs`. */
async function paced(
  perSecond: number,
  count: number,
  give: (at: number) => void,
): Promise<readonly number[]> {
  const startedMs = performance.now();
  const given: number[] = [];
  for (let at = 0; at < count; at++) {
    const earlyMs = (at / perSecond) * 1_000 - (performance.now() - startedMs);
    if (earlyMs > 0) await new Promise((resolve) => setTimeout(resolve, earlyMs));
    given.push(machineMs());
    give(at);
  }
  return given;
}

/** A pool that has worked for a while, and rounds of runs given to it. */
export async function startDispatch(server: NatsServer) {
  const provider = await startProvider(0);
  const pool = await startPool(server, provider, { workers: WORKERS, concurrency: PLACES });
  const give = (name: string) => pool.runtime.run(pool.clerk, name).result;
  await warmUp(give);
  let rounds = 0;
  return {
    /** Time from giving a run to the first request of a worker to its provider, of each run of a round. */
    async round(perSecond: number): Promise<readonly number[]> {
      rounds += 1;
      const nameOf = (at: number) => `turn ${rounds}.${at}`;
      const results: Promise<unknown>[] = [];
      const given = await paced(perSecond, GIVEN_S * perSecond, (at) => {
        results.push(give(nameOf(at)));
      });
      await Promise.all(results);
      const requests = await provider.requests();
      return given.map((givenAt, at) => (requests[nameOf(at)]?.[0] ?? Number.NaN) - givenAt);
    },
    async [Symbol.asyncDispose]() {
      await pool[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** The same from publishing to a work queue to its consumers, as many and on as many places, with nothing else. */
export async function bareQueueMs(perSecond: number): Promise<readonly number[]> {
  await using server = await startNatsServer();
  await using client = connectNats(server.url);
  await client.connected(AbortSignal.timeout(10_000));
  const [stream, consumer] = ['BARE', 'pool'];
  const settings = { name: stream, subjects: ['bare'], retention: 'workqueue', storage: 'file' };
  await askJetStream(client, `STREAM.CREATE.${stream}`, settings);
  const config = { durable_name: consumer, ack_policy: 'explicit' };
  await askJetStream(client, `CONSUMER.CREATE.${stream}.${consumer}`, { stream_name: stream, config });
  const args = [server.url, stream, consumer, PLACES] as const;
  const consumers = await Promise.all(
    Array.from({ length: WORKERS }, () => startProgram('queue-child.ts', ...args)),
  );
  const give = (name: string) => client.request('bare', Buffer.from(name));
  await warmUp(give);
  const stored: Promise<unknown>[] = [];
  const given = await paced(perSecond, GIVEN_S * perSecond, (at) => {
    stored.push(give(`turn ${at}`));
  });
  await Promise.all(stored);
  const received: Record<string, number> = {};
  for (const { child } of consumers) {
    const answer = once(child, 'message');
    child.send('received');
    // The one thing it says once it has begun.
    Object.assign(received, ((await answer) as [Received])[0]);
    await endProgram(child);
  }
  return given.map((givenAt, at) => (received[`turn ${at}`] ?? Number.NaN) - givenAt);
}
