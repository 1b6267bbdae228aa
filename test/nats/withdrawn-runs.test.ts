import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reply } from '../../src/testing/reply.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { startLedgerServer } from './ledger-server.ts';
import { chain, expectSound, poolWorld, queueOf } from './pool-world.ts';

const WITHIN = { timeout: 10_000 };

describe.skipIf(isNatsMissing())('a run that is cancelled while it waits in a pool', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const world = (workers: number) =>
    poolWorld(
      server,
      () => reply().text('done').usage(10, 1),
      (url) => chain(url, ['payer']),
      workers,
    );

  test('ends without a worker, and none begins it', async () => {
    const { runtime, ns, provider, work } = await world(0);
    const run = runtime.run('payer', 'Go.');
    await expect.poll(() => queueOf(server, ns), WITHIN).toHaveLength(1);
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough', steps: 0 });
    await work();
    await expect.poll(() => queueOf(server, ns), WITHIN).toEqual([]);
    expect(provider.requests).toHaveLength(0);
    const facts = await runtime.sessions.read(run.sessionId);
    expect(facts.map(({ type }) => type)).toEqual(['run.settled']);
  });

  test('leaves its session to the next run', async () => {
    const { runtime, ns, work } = await world(0);
    const run = runtime.run('payer', 'Go.', { sessionId: 's-1' });
    await expect.poll(() => queueOf(server, ns), WITHIN).toHaveLength(1);
    run.cancel();
    await run.result;
    await work();
    const next = runtime.run('payer', 'Go on.', { sessionId: 's-1' });
    expect(await next.result).toMatchObject({ status: 'completed', text: 'done' });
    await expectSound(runtime, 's-1');
  });

  test('ends once, whoever is first, its worker or whoever cancels it', async () => {
    const { runtime, provider } = await world(2);
    for (let round = 0; round < 30; round += 1) {
      const before = provider.requests.length;
      const run = runtime.run('payer', 'Go.');
      for (let pause = 0; pause < round; pause += 1) await new Promise(setImmediate);
      run.cancel('enough');
      const { status, steps } = await run.result;
      const facts = await runtime.sessions.read(run.sessionId);
      const told = facts.filter(({ type }) => type === 'run.settled');
      // One that was never queued leaves no fact.
      expect(told.length, `round ${round}`).toBeLessThanOrEqual(1);
      expect(['cancelled', 'completed']).toContain(status);
      const wasBegun = facts.some(({ type }) => type === 'turn.opened');
      if (!wasBegun) expect([steps, provider.requests.length]).toEqual([0, before]);
      await expectSound(runtime, run.sessionId);
    }
  });
});
