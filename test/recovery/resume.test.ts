import { describe, expect, it } from 'vitest';
import type { RecordType } from '../../src/ledger/records.ts';
import { createRuntime } from '../../src/runtime.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { type Crash, crashedRun } from './fixtures/crashed-run.ts';

const call = (id = 'a') => reply().call('read', { id });
const diesAt = (record: RecordType, when: Crash['when'] = 'after', skip = 0): Crash => ({
  record,
  when,
  skip,
});

describe.each(LEDGER_KINDS)('taking up a turn (%s)', (kind) => {
  it('sends a request without an answer again, as a further attempt of the same step', async () => {
    const { ledger, agent, model, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [reply().text('Never read.'), reply().text('Done.').usage(10, 2)],
      crash: diesAt('assistant.message', 'before'),
    });
    const { runtime, misfits } = restart();
    expect(await runtime.recover('kept')).toMatchObject([{ unanswered: true, steps: 1 }]);
    const result = await runtime.resume(agent, 'kept').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', steps: 1, toolCalls: 0 });
    // What the lost attempt cost is unknown, so the total is.
    expect(result.usage).toMatchObject({ total: {}, reported: { inputTokens: 10 } });
    expect(model.requests[1]?.messages).toEqual(model.requests[0]?.messages);
    const records = await ledger.read('kept');
    expect(ofType(records, 'attempt.started').map(({ data }) => data.attempt)).toEqual([1, 2]);
    expect(ofType(records, 'attempt.failed').map(({ data }) => data.failure.detail)).toEqual(['interrupted']);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('keeps steps, calls and usage of the earlier process in the count', async () => {
    const { agent, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [call().usage(100, 10), reply().text('Done.').usage(200, 20)],
      crash: diesAt('tool.settled'),
    });
    expect(await restart().runtime.resume(agent, 'kept').result).toMatchObject({
      status: 'completed',
      steps: 2,
      toolCalls: 1,
      usage: { total: { inputTokens: 300, outputTokens: 30 }, byAgent: { worker: { inputTokens: 300 } } },
    });
  });
});

describe('a request sent again', () => {
  it('is sent at most as often as a step may attempt, however many processes die over it', async () => {
    const limits = { attempts: { max: 2 } };
    const { ledger, agent, model, restart } = await crashedRun({
      script: [reply().text('One.'), reply().text('Two.'), reply().text('Three.')],
      crash: diesAt('assistant.message', 'before'),
      agent: { limits },
    });
    await restart(diesAt('assistant.message', 'before')).resumeToCrash();
    const { runtime, misfits } = restart();
    expect(await runtime.resume(agent, 'kept').result).toMatchObject({
      status: 'failed',
      error: { kind: 'network', detail: 'interrupted' },
    });
    expect(model.requests).toHaveLength(2);
    const records = await ledger.read('kept');
    expect(ofType(records, 'step.closed').map(({ data }) => [data.status, data.attempts])).toEqual([
      ['failed', 2],
    ]);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('waits out what is left of the time its provider asked for', async () => {
    const clock = fakeClock();
    const { agent, model, restart } = await crashedRun({
      clock,
      script: [failure({ kind: 'overloaded', retryAfterMs: 10_000 }), reply().text('Done.')],
      crash: diesAt('attempt.retry-scheduled'),
    });
    await clock.advance(4_000);
    const run = restart().runtime.resume(agent, 'kept');
    await clock.whenPending();
    await clock.advance(5_999);
    expect(model.requests).toHaveLength(1);
    await clock.advance(1);
    expect((await run.result).status).toBe('completed');
    expect(model.requests).toHaveLength(2);
  });

  it('does not carry what the attempt before had shown', async () => {
    const { agent, model, restart, ledger } = await crashedRun({
      script: [reply().text('Half of').stall(), reply().text('All of it.'), reply().text('Hello.')],
    });
    expect(ofType(await ledger.read('kept'), 'assistant.message').map(({ data }) => data.partial)).toEqual([
      true,
    ]);
    const { runtime } = restart();
    expect(await runtime.resume(agent, 'kept').result).toMatchObject({ text: 'All of it.' });
    await runtime.run(agent, 'And?', { sessionId: 'kept' }).result;
    expect(model.requests.map(({ messages }) => messages.map(({ text }) => text))).toEqual([
      ['Go.'],
      ['Go.'],
      ['Go.', 'All of it.', 'And?'],
    ]);
  });

  it('ends its step when the turn is cancelled before it is sent', async () => {
    const { agent, model, ledger, restart } = await crashedRun({
      script: [reply().text('Never read.')],
      crash: diesAt('attempt.started'),
    });
    const { runtime, misfits } = restart();
    const run = runtime.resume(agent, 'kept');
    run.cancel('never mind');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'never mind' });
    expect(model.requests).toHaveLength(0);
    const records = await ledger.read('kept');
    expect(ofType(records, 'step.closed').map(({ data }) => data.status)).toEqual(['aborted']);
    expect(ofType(records, 'attempt.failed')).toHaveLength(1);
    expect(misfits).toEqual([]);
  });
});

describe('budgets of a turn that is taken up', () => {
  it('go on where nothing else is said', async () => {
    const { agent, model, restart } = await crashedRun({
      script: [call('a'), call('b'), reply().text('Too late.')],
      options: { budget: { steps: 2 } },
      crash: diesAt('tool.settled'),
    });
    expect(await restart().runtime.resume(agent, 'kept').result).toMatchObject({
      status: 'failed',
      error: { kind: 'step-limit' },
      steps: 2,
    });
    expect(model.requests).toHaveLength(2);
  });

  it('yield to what the resume says', async () => {
    const { agent, restart } = await crashedRun({
      script: [call('a'), call('b'), reply().text('In time.')],
      options: { budget: { steps: 2 } },
      crash: diesAt('tool.settled'),
    });
    const run = restart().runtime.resume(agent, 'kept', { budget: { steps: 3 } });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'In time.', steps: 3 });
  });

  it('count a call that had not begun once', async () => {
    const { agent, spy, restart } = await crashedRun({
      script: [call('a'), reply().text('Done.')],
      options: { budget: { toolCalls: 1 } },
      crash: diesAt('assistant.message'),
    });
    expect((await restart().runtime.resume(agent, 'kept').result).status).toBe('completed');
    expect(spy.entries.map(({ id }) => id)).toEqual(['a']);
  });

  it('count a call that had run', async () => {
    const { agent, spy, model, restart } = await crashedRun({
      script: [call('a'), call('b'), reply().text('Done.')],
      options: { budget: { toolCalls: 1 } },
      crash: diesAt('tool.settled'),
    });
    expect((await restart().runtime.resume(agent, 'kept').result).status).toBe('completed');
    expect(spy.entries.map(({ id }) => id)).toEqual(['a']);
    expect(model.requests[2]?.lastText).toContain('toolCalls budget');
  });

  it('an infinite one is none', async () => {
    const { agent } = scriptedAgent([reply().text('Done.')]);
    await using runtime = createRuntime();
    const run = runtime.run(agent, 'Go.', { budget: { steps: Number.POSITIVE_INFINITY } });
    expect((await run.result).status).toBe('completed');
  });
});
