import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connectNats } from '../../src/nats/client.ts';
import { OWNER_STREAM } from '../../src/nats/ledger-streams.ts';
import { createLedgerSubjects } from '../../src/nats/ledger-subjects.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { scanTurns } from '../../src/nats/scan-turns.ts';
import { createStreamReader } from '../../src/nats/stream-reader.ts';
import { startWorker } from '../../src/nats/worker.ts';
import { createRuntime } from '../../src/runtime.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

/** As short as the server can count, for what takes five times as long. */
const EVERY_MS = 1_000;

describe.skipIf(isNatsMissing())('the look for what sleeps', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  function worker(subject: string, isFailing = false) {
    const client = connectNats(server.url);
    const leave = new AbortController();
    const looks: number[] = [];
    const look = async () => {
      looks.push(performance.now());
      if (isFailing) throw new Error('the ledger is away');
    };
    const ended = scanTurns({ client, subject, everyMs: EVERY_MS, signal: leave.signal, look });
    onTestFinished(async () => {
      leave.abort();
      await ended;
      await client.close();
    });
    return { looks, leave: () => leave.abort() };
  }

  test('one worker of a pool looks, and another one when it is gone', async () => {
    const subject = createLedgerSubjects({ ns: freshNamespace() }).owner('scan=wdefault');
    const workers = [worker(subject), worker(subject), worker(subject)];
    const counts = () => workers.map(({ looks }) => looks.length);
    await expect.poll(() => Math.max(...counts()), { timeout: 10_000 }).toBe(4);
    const first = workers.find(({ looks }) => looks.length > 0);
    expect(counts().toSorted()).toEqual([0, 0, 4]);
    first?.leave();
    const others = workers.filter((one) => one !== first);
    await expect
      .poll(() => others.filter(({ looks }) => looks.length > 1).length, { timeout: 15_000 })
      .toBe(1);
    expect(others.filter(({ looks }) => looks.length > 0)).toHaveLength(1);
    expect(first?.looks.length).toBeLessThanOrEqual(5);
  });

  test('one that fails to look leaves it to another', async () => {
    const subject = createLedgerSubjects({ ns: freshNamespace() }).owner('scan=wdefault');
    const failing = worker(subject, true);
    await expect.poll(() => failing.looks.length, { timeout: 10_000 }).toBe(1);
    const other = worker(subject);
    // Both may come first when the sign is gone, but the one that fails not for ever.
    await expect.poll(() => other.looks.length, { timeout: 40_000 }).toBeGreaterThan(1);
  });

  test('a worker looks for the pool of its runtime, and not at all where that has none', async () => {
    const ns = freshNamespace();
    const connection = server.url;
    const subjects = createLedgerSubjects({ ns });
    for (const [pool, of] of [
      ['a', undefined],
      ['b', 'c'],
    ] as const) {
      const runtime = createRuntime({
        ledger: openLedgerOn(server, { ns }),
        ...(of === undefined ? {} : { pool: natsPool({ connection, ns, pool: of }) }),
      });
      const started = await startWorker({ connection, ns, pool, runtime, concurrency: 1 });
      onTestFinished(async () => {
        await started.close();
        await runtime.close();
      });
    }
    await using client = connectNats(connection);
    const reader = createStreamReader(client, OWNER_STREAM);
    const signOf = async (pool: string) =>
      (await reader.last(subjects.owner(`scan=w${pool}`)))?.sequence ?? 0;
    await expect.poll(() => signOf('c'), { timeout: 10_000 }).toBeGreaterThan(0);
    const first = await signOf('c');
    // By its second look every worker had its first.
    await expect.poll(() => signOf('c'), { timeout: 10_000 }).toBeGreaterThan(first);
    expect([await signOf('a'), await signOf('b')]).toEqual([0, 0]);
  });
});
