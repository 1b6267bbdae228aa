import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connectNats } from '../../src/nats/client.ts';
import { createLedgerSubjects } from '../../src/nats/ledger-subjects.ts';
import { scanTurns } from '../../src/nats/scan-turns.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, startLedgerServer } from './ledger-server.ts';

/** As short as the server can count, for what takes five times as long. */
const EVERY_MS = 1_000;

describe.skipIf(isNatsMissing())('the look for what sleeps', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  function worker(subject: string) {
    const client = connectNats(server.url);
    const leave = new AbortController();
    const looks: number[] = [];
    const look = async () => void looks.push(performance.now());
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
});
