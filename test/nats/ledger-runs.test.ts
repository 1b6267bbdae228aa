import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedServer } from '../../src/testing/scripted-server.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { violationsOf } from '../invariants/session.ts';
import { startProgram } from '../support/child-process.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { ofType } from '../support/run-events.ts';
import { freshNamespace, openLedgerOn, startLedgerServer } from './ledger-server.ts';

describe.skipIf(isNatsMissing())('runs on a JetStream ledger', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startLedgerServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function runtimeOn(ns: string): Promise<Runtime> {
    const runtime = createRuntime({ ledger: openLedgerOn(server, { ns }) });
    onTestFinished(() => runtime.close());
    return runtime;
  }

  test('a run with tools ends as on any ledger, its events in order', async () => {
    const script = [reply().call('pay', { id: 'a' }).call('pay', { id: 'b' }), reply().text('Paid.')];
    const provider = await scriptedServer({ script });
    onTestFinished(() => provider.close());
    const runtime = await runtimeOn(freshNamespace());
    const run = runtime.run(payer(provider.baseURL), 'Go.');
    const types: string[] = [];
    for await (const event of run.events()) types.push(event.type);
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Paid.', toolCalls: 2 });
    expect(types[0]).toBe('session.opened');
    expect(types.at(-1)).toBe('turn.closed');
    const records = await runtime.sessions.read(run.sessionId);
    expect(violationsOf({ records })).toEqual([]);
  });

  test('a broker that is killed in the middle of a run costs it nothing but the time', async () => {
    const provider = await scriptedServer({
      script: [
        ...Array.from({ length: 8 }, (_, id) => reply().call('pay', { id: `${id}` })),
        reply().text('Paid.'),
      ],
    });
    onTestFinished(() => provider.close());
    const runtime = await runtimeOn(freshNamespace());
    let entered = 0;
    const agent = payer(provider.baseURL, async () => {
      entered += 1;
      if (entered % 3 !== 0) return;
      await server.kill();
      await server.start();
    });
    const run = runtime.run(agent, 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Paid.', toolCalls: 8 });
    expect(entered).toBe(8);
    expect(violationsOf({ records: await runtime.sessions.read(run.sessionId) })).toEqual([]);
  });

  test('NB-12 a killed process is taken up by another, no tool entered twice, the unknown one in doubt', async () => {
    const step = reply().call('stall', { id: 'a' }).call('pay', { id: 'b' }).call('pay', { id: 'c' });
    const provider = await scriptedServer({ script: [step, reply().text('Done.')] });
    onTestFinished(() => provider.close());
    const ns = freshNamespace();
    const args = [`${server.url}#${ns}`, provider.baseURL, 's-killed'];
    const runtime = await runtimeOn(ns);
    const first = startProgram('programs/paying-agent.ts', args);
    await first.said('entered stall a');
    const settled = async () => ofType(await runtime.sessions.read('s-killed'), 'tool.settled');
    while ((await settled()).length < 2) await first.said('entered pay');
    await first.kill();
    await expect.poll(async () => (await runtime.sessions.list())[0]?.owned, { timeout: 20_000 }).toBe(false);
    const [report] = await runtime.recover('s-killed');
    expect(report?.indeterminate.map(({ toolName }) => toolName)).toEqual(['stall']);

    const second = startProgram('programs/paying-agent.ts', [...args, 'resume']);
    const blocked: unknown = JSON.parse(await second.said('result'));
    expect(blocked).toMatchObject({ status: 'paused', reason: 'indeterminate' });
    await second.ended;
    await expect(second.said('entered')).rejects.toThrow('ended without');

    const resumed = runtime.resume(payer(provider.baseURL), 's-killed', {
      indeterminate: () => ({ settle: 'it went through' }),
    });
    expect(await resumed.result).toMatchObject({ status: 'completed', text: 'Done.' });
    const records = await runtime.sessions.read('s-killed');
    expect(violationsOf({ records })).toEqual([]);
    expect(ofType(records, 'tool.dispatched')).toHaveLength(3);
    expect(new Set(records.map(({ epoch }) => epoch)).size).toBe(3);
  });

  test('steering from another process reaches the turn under way', async () => {
    const provider = await scriptedServer({
      script: [reply().call('pay', { id: 'a' }), reply().text('Left.')],
    });
    onTestFinished(() => provider.close());
    const ns = freshNamespace();
    const [here, there] = [await runtimeOn(ns), await runtimeOn(ns)];
    const entered = Promise.withResolvers<void>();
    const steered = Promise.withResolvers<void>();
    const agent = payer(provider.baseURL, async () => {
      entered.resolve();
      await steered.promise;
    });
    const run = here.run(agent, 'Go.');
    await entered.promise;
    await there.sessions.steer(run.sessionId, 'Turn left.');
    steered.resolve();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Left.' });
    expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain('Turn left.');
  });
});

function payer(baseURL: string, act: () => Promise<void> = async () => {}) {
  const tool = (name: string) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      inputSchema: z.object({ id: z.string() }),
      async execute({ id }) {
        await act();
        return `${name} ${id}`;
      },
    });
  return defineAgent({
    name: 'payer',
    instructions: 'Pay.',
    model: openaiCompatible({ baseURL, model: 'scripted' }),
    tools: [tool('pay'), tool('ask'), tool('stall')],
  });
}
