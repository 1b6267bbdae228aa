import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { connectNats } from '../../src/nats/client.ts';
import { openDeadLetters } from '../../src/nats/dead-letters.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { startWorker } from '../../src/nats/worker.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';
import { queueOf } from './pool-world.ts';

const WITHIN = { timeout: 20_000, interval: 25 };

describe.skipIf(isNatsMissing())('a pool among others', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** A worker of a pool and a runtime that gives it runs; its agent says where it is. */
  async function poolOf(ns: string, pool: string, says: string) {
    const model = scriptedModel({ script: () => reply().text(says) });
    const agents = { clerk: defineAgent({ name: 'clerk', instructions: 'Say where.', model }) };
    const connection = server.url;
    const runtimeOf = () => {
      const options = { ledger: openLedgerOn(server, { ns }), agents };
      const runtime = createRuntime({ ...options, pool: natsPool({ connection, ns, pool }) });
      onTestFinished(() => runtime.close());
      return runtime;
    };
    const worker = await startWorker({ connection, ns, pool, runtime: runtimeOf(), concurrency: 1 });
    onTestFinished(() => worker.close());
    return { runtime: runtimeOf(), worker };
  }

  test.each([
    ['joined the same way', ['prod', 'eu-night'], ['prod-eu', 'night']],
    ['of what subjects are made of', ['a.b', '*'], ['a', 'b=w>']],
    ['long and foreign', ['n'.repeat(200), 'ä ö'], ['n'.repeat(201), '事 😀']],
    ['empty', ['', 'x'], ['x', '']],
  ] as const)('NB-10 names that are %s are two pools', async (_, [ns, pool], [otherNs, otherPool]) => {
    const one = await poolOf(ns, pool, 'one');
    const other = await poolOf(otherNs, otherPool, 'other');
    expect(await one.runtime.run('clerk', 'Go.').result).toMatchObject({ text: 'one' });
    expect(await other.runtime.run('clerk', 'Go.').result).toMatchObject({ text: 'other' });
    const worked = () => [one, other].map(({ worker }) => worker.counts().worked);
    await expect.poll(worked, WITHIN).toEqual([1, 1]);
  });

  test('NB-15 what no letter can hold whole is buried by its beginning, and others are worked on', async () => {
    const ns = freshNamespace();
    await using client = connectNats(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    await client.request(`swm.v1.${ns}.q.turn.default.s-huge`, Buffer.from('"'.repeat(1_000_000)));
    await client.request(`swm.v1.${ns}.q.turn.default.s-bytes`, Buffer.alloc(400_000, 0xff));
    const { runtime, worker } = await poolOf(ns, 'default', 'here');
    expect(await runtime.run('clerk', 'Go.').result).toMatchObject({ text: 'here' });
    await expect.poll(() => queueOf(server, ns), WITHIN).toEqual([]);
    expect(worker.counts().dead).toBe(2);
    const { value: letter } = await openDeadLetters(client, { ns }).list().next();
    expect(letter).toMatchObject({ reason: 'malformed', queued: undefined });
    expect(letter?.message).toContain('of its 1000000 bytes the beginning is kept');
    expect(letter?.body.length).toBeGreaterThan(100_000);
  });
});
