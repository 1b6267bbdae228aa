import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

describe('stopping after the step', () => {
  it('MA-18 the step and its tools finish, and nothing more is asked', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const { server, agent } = await servedAgent(
      [reply().text('Two things.').call('slow', { id: 'a' }).call('slow', { id: 'b' })],
      {
        tools: [
          spy.tool('slow', async ({ id }) => {
            await gate.pass();
            return `slow ${id}`;
          }),
        ],
      },
    );
    const { runtime, ledger, misfits } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    run.stopAfterStep();
    run.stopAfterStep();
    gate.open();
    expect(await run.result).toMatchObject({
      status: 'completed',
      stopReason: 'after-step-stop',
      text: 'Two things.',
      steps: 1,
      toolCalls: 2,
    });
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).toEqual(['success', 'success']);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
    server.assertPlayedOut();
  });

  it('MA-18 said before the turn is open, one step is taken', async () => {
    const { model, agent } = scriptedAgent([reply().call('nothing', {})]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    run.stopAfterStep();
    expect(await run.result).toMatchObject({ status: 'completed', stopReason: 'after-step-stop', steps: 1 });
    model.assertPlayedOut();
  });

  it('MA-18 said while a gate judges the next step, there is none', async () => {
    const gate = createGate();
    const { model, agent } = scriptedAgent([reply().call('nothing', {})], {
      hooks: {
        beforeContinue: async () => {
          await gate.pass();
          return undefined;
        },
      },
    });
    const { runtime, misfits } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    run.stopAfterStep();
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', stopReason: 'after-step-stop' });
    model.assertPlayedOut();
    expect(misfits).toEqual([]);
  });

  it('MA-18 a failed attempt is not made again', async () => {
    const gate = createGate();
    const { model, agent } = scriptedAgent([reply().wait(gate).error({ kind: 'overloaded' })]);
    const { runtime } = watchedRuntime({ limits: { attempts: { baseDelayMs: 0 } } });
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    run.stopAfterStep();
    gate.open();
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'overloaded' } });
    expect(model.requests).toHaveLength(1);
  });

  it('MA-18 a backoff is left at once, without the attempt it was for', async () => {
    const { model, agent } = scriptedAgent([failure({ kind: 'overloaded' })]);
    const { runtime, ledger, misfits } = watchedRuntime({ clock: fakeClock() });
    const run = runtime.run(agent, 'Go.');
    await eventSeen(run, 'attempt.retry-scheduled');
    run.stopAfterStep();
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'overloaded' } });
    expect(model.requests).toHaveLength(1);
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'step.closed').map(({ data }) => data.status)).toEqual(['failed']);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('MA-18 a text that waits is told undelivered', async () => {
    const gate = createGate();
    const { agent } = scriptedAgent([reply().text('So').wait(gate).text(' far.')]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const steered = run.steer('More.');
    await eventSeen(run, 'steering.accepted');
    run.stopAfterStep();
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', stopReason: 'after-step-stop' });
    expect(await steered).toMatchObject({ delivered: false });
  });
});

describe('a gate before the end', () => {
  it('may ask for one more step, and its reason is what the model is told', async () => {
    let judged = 0;
    const { server, agent } = await servedAgent([reply().text('Draft.'), reply().text('Final.')], {
      hooks: {
        name: 'review',
        beforeComplete: ({ text }) => {
          judged += 1;
          return text === 'Draft.' ? { refuse: 'Name your sources.' } : undefined;
        },
      },
    });
    const { runtime, ledger, misfits } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Final.', steps: 2 });
    expect(judged).toBe(2);
    expect(server.requests[1]?.messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'Go.'],
      ['assistant', 'Draft.'],
      ['user', 'Name your sources.'],
    ]);
    expect(violationsOf({ records: await ledger.read(run.sessionId) })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('that never has enough ends at the step limit', async () => {
    const { model, agent } = scriptedAgent(() => reply().text('Draft.'), {
      hooks: { beforeComplete: () => ({ refuse: 'More.' }) },
      limits: { steps: 3 },
    });
    const { runtime } = watchedRuntime();
    expect(await runtime.run(agent, 'Go.').result).toMatchObject({
      status: 'failed',
      error: { kind: 'step-limit' },
      text: 'Draft.',
    });
    expect(model.requests).toHaveLength(3);
  });
});
