import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { startWorker } from '../../src/nats/worker.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';
import { queueOf } from './pool-world.ts';

const agent = (instructions = 'Do.', name = 'clerk') =>
  defineAgent({ name, instructions, model: scriptedModel({ script: [reply().stall()] }) });

describe.skipIf(isNatsMissing())('a pool refuses', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  function giver(ns: string): Runtime {
    const pool = natsPool({ connection: server.url, ns });
    const agents = { clerk: agent() };
    const runtime = createRuntime({ ledger: openLedgerOn(server, { ns }), agents, pool });
    onTestFinished(() => runtime.close());
    return runtime;
  }

  const clientTools = [
    defineTool({ name: 'own', description: 'Own.', inputSchema: { type: 'object' }, execute: () => 'x' }),
  ];

  test.each([
    ['a context', { context: { user: 'me' } }, 'context'],
    ['tools of the run', { clientTools }, 'clientTools'],
    ['a function', { discovery: { activationNote: () => 'x' } }, 'discovery.activationNote'],
  ])('%s, which cannot travel', (_, options, name) => {
    const runtime = giver(freshNamespace());
    expect(() => runtime.run('clerk', 'Go.', options as never)).toThrow(
      expect.objectContaining({ code: 'not-queueable', message: expect.stringContaining(name) }),
    );
  });

  test('a runtime without a ledger, whose runs no worker would see', () => {
    const pool = natsPool({ connection: server.url });
    onTestFinished(() => pool.close());
    expect(() => createRuntime({ agents: { clerk: agent() }, pool })).toThrow(
      expect.objectContaining({ code: 'invalid-definition', message: expect.stringContaining('ledger') }),
    );
  });

  test('what no worker can find by its name', () => {
    const runtime = giver(freshNamespace());
    expect(() => runtime.run('nobody', 'Go.')).toThrow(expect.objectContaining({ code: 'unknown-agent' }));
    expect(() => runtime.run(agent('Do.', 'stranger'), 'Go.')).toThrow(
      expect.objectContaining({ code: 'unknown-agent' }),
    );
    expect(() => runtime.run(agent('Other.'), 'Go.')).toThrow(
      expect.objectContaining({ code: 'not-queueable' }),
    );
  });

  test.each([
    ['another definition', { clerk: agent('Do it otherwise.') }, 'definition-mismatch'],
    ['no definition', {}, 'unknown-agent'],
  ])(
    'a run for which its worker has %s: it fails, and is a dead letter that is told',
    async (_, agents, kind) => {
      const ns = freshNamespace();
      const run = giver(ns).run('clerk', 'Go.');
      const own = createRuntime({ ledger: openLedgerOn(server, { ns }), agents });
      const told: unknown[] = [];
      const worker = await startWorker({
        connection: server.url,
        ns,
        runtime: own,
        onDead: (letter) => told.push(letter),
      });
      onTestFinished(async () => {
        await worker.close();
        await own.close();
      });
      expect(await run.result).toMatchObject({ status: 'failed', error: { kind } });
      await expect.poll(() => told, { timeout: 5_000 }).toMatchObject([{ reason: kind }]);
      expect(await queueOf(server, ns)).toEqual([]);
    },
  );

  test('to go on with a run that was cancelled while it waited, whichever entry comes first', async () => {
    const ns = freshNamespace();
    const runtime = giver(ns);
    const run = runtime.run('clerk', 'Go.');
    await expect.poll(() => queueOf(server, ns), { timeout: 5_000 }).toHaveLength(1);
    // As of one that cannot tell the ledger itself: somebody else has the session just then.
    const pool = natsPool({ connection: server.url, ns });
    onTestFinished(() => pool.close());
    const stop = { run: run.id, target: 'clerk', reason: 'never mind' };
    await pool.wake({ session: run.sessionId, cause: `stop ${run.id}`, stop });
    expect(await queueOf(server, ns)).toHaveLength(2);
    const own = createRuntime({ ledger: openLedgerOn(server, { ns }), agents: { clerk: agent() } });
    const worker = await startWorker({ connection: server.url, ns, runtime: own, concurrency: 2 });
    onTestFinished(async () => {
      await worker.close();
      await own.close();
    });
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'never mind' });
    await expect.poll(() => queueOf(server, ns), { timeout: 5_000 }).toEqual([]);
  });
});
