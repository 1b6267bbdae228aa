import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { BudgetOptions } from '../../src/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { violationsOf } from '../invariants/session.ts';
import { eventsOf, ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const call = (id = 'a') => reply().call('work', { id }).usage(80, 20);

describe('bounds on steps', () => {
  it.each([
    ['budget.steps', { budget: { steps: 1 } }, {}],
    ['limits.steps', {}, { steps: 1 }],
  ])('%s 1: calls of the only step are settled, then the run fails', async (_title, options, limits) => {
    const spy = createToolSpy();
    const { server, agent } = await servedAgent([call().call('work', { id: 'b' })], {
      tools: [spy.tool('work')],
      limits,
    });
    const { runtime, ledger, misfits } = watchedRuntime();
    const run = runtime.run(agent, 'Go.', options);
    expect(await run.result).toMatchObject({
      status: 'failed',
      error: { kind: 'step-limit' },
      steps: 1,
      toolCalls: 2,
    });
    expect(spy.entries.map(({ id }) => id)).toEqual(['a', 'b']);
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'tool.settled')).toHaveLength(2);
    expect(ofType(records, 'turn.closed')[0]?.data.stopReason).toBe('step-limit');
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
    server.assertPlayedOut();
  });

  it.each([
    ['budget.steps', { budget: { steps: 0 } }, {}],
    ['limits.steps', {}, { steps: 0 }],
  ])('T16 %s 0 asks nothing', async (_title, options, limits) => {
    const { model, agent } = scriptedAgent([], { limits });
    const { runtime, misfits } = watchedRuntime();
    expect(await runtime.run(agent, 'Go.', options).result).toMatchObject({
      status: 'failed',
      error: { kind: 'step-limit' },
      steps: 0,
    });
    expect(model.requests).toHaveLength(0);
    expect(misfits).toEqual([]);
  });

  it('a step limit that is just enough is no failure', async () => {
    const { agent } = scriptedAgent([call(), reply().text('Done.')], { limits: { steps: 2 } });
    const { runtime } = watchedRuntime();
    expect(await runtime.run(agent, 'Go.', { budget: { steps: 2 } }).result).toMatchObject({
      status: 'completed',
      steps: 2,
    });
  });

  it('an agent has its own limit beside that of the runtime', async () => {
    const endless = () => call();
    const narrow = scriptedAgent(endless, { limits: { steps: 2 } });
    const plain = scriptedAgent(endless);
    const { runtime } = watchedRuntime({ limits: { steps: 3 } });
    await Promise.all([runtime.run(narrow.agent, 'Go.').result, runtime.run(plain.agent, 'Go.').result]);
    expect([narrow.model.requests.length, plain.model.requests.length]).toEqual([2, 3]);
  });
});

describe('budgets of a run', () => {
  it.each([0, 1, 2])('toolCalls %d: calls beyond are never entered and are pairs that name it', async (n) => {
    const spy = createToolSpy();
    const { server, agent } = await servedAgent(
      [call('a').call('work', { id: 'b' }), call('c'), reply().text('Done.')],
      { tools: [spy.tool('work')] },
    );
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.', { budget: { toolCalls: n } });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.', toolCalls: 3 });
    expect(spy.entries.map(({ id }) => id)).toEqual(['a', 'b', 'c'].slice(0, n));
    const results = server.requests[2]?.messages.filter(({ role }) => role === 'tool') ?? [];
    for (const { text } of results.slice(n)) expect(text).toMatch(/did not run.*toolCalls budget/);
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(
      Array.from({ length: 3 - n }, () => 'tool-call-budget'),
    );
    expect(violationsOf({ records })).toEqual([]);
    expect((await eventsOf(run)).filter(({ type }) => type === 'budget.exceeded')).toHaveLength(1);
    server.assertPlayedOut();
  });

  it.each([
    [99, 1],
    [100, 1],
    [101, 2],
  ])('tokens %d: a step of 100 is followed by no other once they are used', async (tokens, steps) => {
    const spy = createToolSpy();
    const { model, agent } = scriptedAgent([call(), reply().text('Done.')], { tools: [spy.tool('work')] });
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.', { budget: { tokens } });
    const result = await run.result;
    expect(model.requests).toHaveLength(steps);
    expect(spy.entries).toHaveLength(1);
    if (steps === 2) expect(result.status).toBe('completed');
    else {
      expect(result).toMatchObject({ status: 'failed', error: { kind: 'token-budget' } });
      const records = await ledger.read(run.sessionId);
      expect(ofType(records, 'budget.exceeded').map(({ data }) => data)).toEqual([
        { budget: 'tokens', limit: tokens, used: 100 },
      ]);
      expect(ofType(records, 'turn.closed')[0]?.data.stopReason).toBe('budget');
    }
  });

  it('costUsd counts what the model costs', async () => {
    const model = scriptedModel({
      script: [reply().call('nothing', {}).usage(1_000_000, 100_000)],
      price: { input: 1, output: 10 },
    });
    const agent = defineAgent({ name: 'worker', instructions: 'Work.', model });
    const { runtime } = watchedRuntime();
    expect(await runtime.run(agent, 'Go.', { budget: { costUsd: 2 } }).result).toMatchObject({
      status: 'failed',
      error: { kind: 'cost-budget' },
      usage: { total: { costUsd: 2 } },
    });
  });

  it('wallMs ends the run in the middle of a tool, and says so', async () => {
    const clock = fakeClock();
    const entered = createGate();
    const { model, agent } = scriptedAgent([call()], {
      tools: [
        createToolSpy().tool('work', async (_, { signal }) => {
          await entered.pass(signal);
          signal.throwIfAborted();
        }),
      ],
    });
    const { runtime, ledger, misfits } = watchedRuntime({ clock });
    const run = runtime.run(agent, 'Go.', { budget: { wallMs: 60_000 } });
    await entered.reached;
    await clock.advance(60_000);
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'wall-clock-budget' } });
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'budget.exceeded').map(({ data }) => data)).toEqual([
      { budget: 'wallMs', limit: 60_000, used: 60_000 },
    ]);
    expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).toEqual(['aborted']);
    expect(violationsOf({ records })).toEqual([]);
    expect(model.requests).toHaveLength(1);
    expect(clock.pending).toBe(0);
    expect(misfits).toEqual([]);
  });

  it('wallMs 0 sends no request, however fast it would be answered', async () => {
    const clock = fakeClock();
    const { model, agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime } = watchedRuntime({ clock });
    const result = await runtime.run(agent, 'Go.', { budget: { wallMs: 0 } }).result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'wall-clock-budget' } });
    expect(model.requests).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('wallMs leaves no timer behind a run that was in time', async () => {
    const clock = fakeClock();
    const { agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime } = watchedRuntime({ clock });
    await runtime.run(agent, 'Go.', { budget: { wallMs: 60_000 } }).result;
    expect(clock.pending).toBe(0);
  });

  it.each([
    [0, 'failed'],
    [1, 'completed'],
  ])('agents %d counts the root', async (agents, status) => {
    const { model, agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime } = watchedRuntime();
    const result = await runtime.run(agent, 'Go.', { budget: { agents } }).result;
    expect(result).toMatchObject({ status, ...(agents === 0 ? { error: { kind: 'agent-budget' } } : {}) });
    expect(model.requests).toHaveLength(agents);
  });

  it.each<[string, BudgetOptions | Record<string, number>]>([
    ['a negative one', { steps: -1 }],
    ['one that is no number', { tokens: Number.NaN }],
    ['an unknown one', { minutes: 3 }],
  ])('%s is misuse and throws', (_title, budget) => {
    const { agent } = scriptedAgent([]);
    const { runtime } = watchedRuntime();
    expect(() => runtime.run(agent, 'Go.', { budget: budget as BudgetOptions })).toThrow(
      expect.objectContaining({ code: 'invalid-limit' }),
    );
  });
});

describe('an overflow of the context window', () => {
  it('is typed', async () => {
    const { server, agent } = await servedAgent([
      reply()
        .withStatus(400)
        .error({ kind: 'context-overflow', message: 'maximum context length is 8192 tokens' }),
    ]);
    const { runtime, ledger, misfits } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'context-overflow' } });
    const [closed] = ofType(await ledger.read(run.sessionId), 'turn.closed');
    expect(closed?.data.stopReason).toBe('context-budget-exhausted');
    expect(server.requests).toHaveLength(1);
    expect(misfits).toEqual([]);
  });
});
