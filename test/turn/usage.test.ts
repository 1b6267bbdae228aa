import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { failure, type Reply, reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { ofType } from '../support/run-events.ts';
import { servedAgent } from '../support/scripted-agents.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const call = () => reply().call('nothing', {});

async function play(script: readonly ScriptedResponse[]) {
  const { agent } = await servedAgent(script, { limits: { attempts: { baseDelayMs: 0 } } });
  const { runtime, ledger } = watchedRuntime();
  const run = runtime.run(agent, 'Go.');
  const result = await run.result;
  const [closed] = ofType(await ledger.read(run.sessionId), 'turn.closed');
  return { result, usage: result.usage, closed };
}

describe('usage of a turn', () => {
  it('MA-24 is the sum of what the provider reported, in total and by agent', async () => {
    const { usage, closed } = await play([
      call().usage(100, 10, { cacheRead: 40, reasoning: 4 }),
      call().usage(200, 20),
      reply().text('Done.').usage(300, 30, { cacheRead: 250 }),
    ]);
    const sum = {
      inputTokens: 600,
      outputTokens: 60,
      totalTokens: 660,
      cacheReadTokens: 290,
      reasoningTokens: 4,
    };
    expect(usage).toEqual({ total: sum, byAgent: { worker: sum }, reported: sum });
    expect(closed?.data.usage).toEqual(sum);
  });

  const unusable: readonly [string, Reply][] = [
    ['none', reply().text('Done.')],
    ['counts left empty', reply().text('Done.').usage(null, null)],
    ['one side only', reply().text('Done.').usage(null, 30)],
    ['counts where nobody looks', reply().text('Done.').usage(300, 30, { place: 'x_groq' })],
  ];
  it.each(unusable)('MA-24 a step that reported %s yields no total, and no zeros', async (_title, last) => {
    const { result, usage, closed } = await play([call().usage(100, 10), last]);
    expect(result.status).toBe('completed');
    expect(usage.total).toEqual({});
    expect(usage.byAgent).toEqual({ worker: {} });
    expect(closed?.data).not.toHaveProperty('usage');
    // What is known is not lost, it is only no total.
    expect(usage.reported).toMatchObject({ inputTokens: 100, outputTokens: 10 });
  });

  it('MA-24 a retried step has no authoritative usage', async () => {
    const { usage, closed } = await play([
      call().usage(100, 10),
      failure({ kind: 'overloaded' }),
      reply().text('Done.').usage(200, 20),
    ]);
    expect(usage.total).toEqual({});
    expect(usage.reported).toMatchObject({ inputTokens: 300, outputTokens: 30 });
    expect(closed?.data).not.toHaveProperty('usage');
  });

  it('MA-24 a request that was turned away cost nothing', async () => {
    const { result, usage } = await play([call().usage(100, 10), failure({ kind: 'auth' })]);
    expect(result.status).toBe('failed');
    expect(usage.total).toMatchObject({ inputTokens: 100, outputTokens: 10 });
  });

  it('MA-24 an answer that broke off has an unknown cost', async () => {
    const { result, usage } = await play([call().usage(100, 10), reply().text('Half').destroy()]);
    expect(result.status).toBe('failed');
    expect(usage.total).toEqual({});
  });

  it('MA-24 retries that all failed have an unknown cost, turned away or not', async () => {
    const limited = failure({ kind: 'rate-limited' });
    const { usage } = await play([call().usage(100, 10), limited, limited]);
    expect(usage.total).toEqual({});
  });

  it('MA-24 a cancelled answer has an unknown cost', async () => {
    const gate = createGate();
    const { agent } = await servedAgent([call().usage(100, 10), reply().text('Half').wait(gate)]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled', usage: { total: {} } });
  });

  it('MA-24 nothing asked is nothing used', async () => {
    const { agent } = await servedAgent([]);
    const { runtime } = watchedRuntime();
    const { usage } = await runtime.run(agent, 'Go.', { signal: AbortSignal.abort() }).result;
    expect(usage).toEqual({ total: {}, byAgent: {}, reported: {} });
  });

  it.each(['own-chunk', 'finish-chunk', 'every-chunk'] as const)('reads usage in the %s', async (place) => {
    const { usage } = await play([reply().text('Done.', { deltas: 3 }).usage(100, 10, { place })]);
    expect(usage.total).toMatchObject({ inputTokens: 100, outputTokens: 10, totalTokens: 110 });
  });
});
