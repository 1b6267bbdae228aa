import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { RecordType } from '../../src/ledger/records.ts';
import type { GateContext } from '../../src/lifecycle/hooks.ts';
import { createRuntime } from '../../src/runtime.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../support/invariants.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { type Crash, type CrashedRunSetup, crashedRun } from './fixtures/crashed-run.ts';

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

describe('tools of a turn that is taken up', () => {
  const twoCalls = [reply().call('read', { id: 'a' }).call('gone', { id: 'b' }), reply().text('Done.')];

  it('what a newer definition adds stays out of it', async () => {
    const { spy, model, restart } = await crashedRun({
      script: [call(), reply().text('Done.'), reply().text('Hello.')],
      crash: diesAt('tool.settled'),
    });
    const newer = defineAgent({
      name: 'worker',
      instructions: 'Work.',
      model,
      tools: [spy.tool('read'), spy.tool('write')],
    });
    const { runtime } = restart();
    await runtime.resume(newer, 'kept').result;
    await runtime.run(newer, 'Hello.', { sessionId: 'kept' }).result;
    expect(model.requests.map(({ toolNames }) => toolNames)).toEqual([['read'], ['read'], ['read', 'write']]);
  });

  it('one that is gone refuses its call, and the others run', async () => {
    const { spy, model, ledger, restart } = await crashedRun({
      script: twoCalls,
      tools: ['read', 'gone'],
      crash: diesAt('assistant.message'),
    });
    const without = defineAgent({
      name: 'worker',
      instructions: 'Work.',
      model,
      tools: [spy.tool('read')],
    });
    const { runtime, misfits } = restart();
    expect((await runtime.resume(without, 'kept').result).status).toBe('completed');
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['read']);
    const records = await ledger.read('kept');
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['unknown-tool']);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('one that asked a person and is gone ends its request with its call', async () => {
    const { spy, model, ledger, restart } = await crashedRun({
      script: twoCalls,
      tools: ['read', 'gone'],
      asks: ['gone'],
      crash: diesAt('permission.requested'),
    });
    const without = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [spy.tool('read')] });
    const { runtime, misfits } = restart();
    const run = runtime.resume(without, 'kept', { indeterminate: () => 'abandon' });
    expect((await run.result).status).toBe('completed');
    const records = await ledger.read('kept');
    expect(ofType(records, 'permission.cancelled')).toHaveLength(1);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });
});

describe('requests of a turn that is taken up', () => {
  const asking: CrashedRunSetup = {
    script: [call(), reply().text('Done.')],
    asks: ['read'],
  };

  it('one that was cancelled with its process is asked again, and is open again for the next', async () => {
    const { agent, spy, ledger, restart } = await crashedRun({
      ...asking,
      crash: diesAt('permission.cancelled'),
      cancels: 'permission.requested',
    });
    await restart(diesAt('permission.requested')).resumeToCrash();
    const { runtime, misfits } = restart();
    expect(await runtime.recover('kept')).toMatchObject([{ parked: [{ callId: 'kept.1.1.0' }] }]);
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect((await runtime.resume(agent, 'kept').result).status).toBe('completed');
    expect(spy.entries).toHaveLength(1);
    expect(violationsOf({ records: await ledger.read('kept') })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('one beside a call nobody knows of can be decided while the turn pauses again', async () => {
    const { agent, spy, restart } = await crashedRun({
      script: [reply().call('read', { id: 'a' }).call('write', { id: 'b' }), reply().text('Done.')],
      tools: ['read', 'write'],
      asks: ['write'],
      crash: diesAt('tool.settled', 'before'),
    });
    const { runtime } = restart();
    const pausing = runtime.resume(agent, 'kept');
    const deciding = runtime.approvals.decide('kept.1.1.1.ask', { decision: 'approve' });
    expect((await pausing.result).status).toBe('paused');
    await deciding;
    const run = runtime.resume(agent, 'kept', { indeterminate: () => ({ settle: 'read a' }) });
    expect((await run.result).status).toBe('completed');
    expect(spy.entries.map(({ id }) => id)).toEqual(['a', 'b']);
  });
});

describe('a call whose outcome is unknown', () => {
  const lost = (more: Partial<CrashedRunSetup> = {}) =>
    crashedRun({
      script: [
        reply().call('read', { id: 'a' }).call('write', { id: 'b' }).call('read', { id: 'c' }),
        reply().text('Done.'),
      ],
      tools: ['read', 'write'],
      agent: { limits: { toolConcurrency: 1 } },
      crash: diesAt('tool.dispatched'),
      ...more,
    });

  it('MA-09 lets nothing beside it begin until somebody decides', async () => {
    const { agent, spy, model, restart } = await lost();
    const { runtime } = restart();
    const paused = await runtime.resume(agent, 'kept').result;
    expect(paused).toMatchObject({
      status: 'paused',
      reason: 'indeterminate',
      calls: [{ toolName: 'read' }],
    });
    expect([spy.entries.length, model.requests.length]).toEqual([0, 1]);
    const run = runtime.resume(agent, 'kept', { indeterminate: () => ({ settle: 'what it said' }) });
    expect((await run.result).status).toBe('completed');
    expect(spy.entries.map(({ id }) => id)).toEqual(['b', 'c']);
    const results = model.requests[1]?.messages.filter(({ role }) => role === 'tool');
    expect(results?.map(({ text }) => text)).toEqual(['what it said', 'write b', 'read c']);
  });

  it('MA-09 does not keep a run waiting for a person who is asked beside it', async () => {
    const { agent, restart } = await crashedRun({
      script: [reply().call('read', { id: 'a' }).call('write', { id: 'b' })],
      tools: ['read', 'write'],
      asks: ['write'],
      // The read is entered and its outcome never written; the write waits for a person.
      crash: diesAt('tool.settled', 'before'),
    });
    const paused = await restart().runtime.resume(agent, 'kept').result;
    expect(paused).toMatchObject({
      status: 'paused',
      reason: 'indeterminate',
      calls: [{ toolName: 'read' }],
      approvals: [{ toolName: 'write' }],
    });
  });

  const untilStopped = (signal: AbortSignal) =>
    new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });

  it('MA-09 is given up where its turn is cancelled before it runs again', async () => {
    const { agent, spy, ledger, restart } = await crashedRun({
      script: [call()],
      crash: diesAt('tool.dispatched'),
    });
    const { runtime, misfits } = restart();
    const gated = {
      ...agent,
      hooks: { beforeToolExecute: (_: unknown, ctx: GateContext) => untilStopped(ctx.signal) },
    };
    const run = runtime.resume(gated, 'kept', { indeterminate: () => 'retry' });
    for await (const event of run.events()) if (event.type === 'tool.reconciled') break;
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(spy.entries).toEqual([]);
    const records = await ledger.read('kept');
    expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).toEqual(['abandoned']);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('MA-09 is given up where its turn is cancelled while its tool is asked about it', async () => {
    const asked = Promise.withResolvers<void>();
    const spy = createToolSpy();
    const read = spy.tool('read', undefined, {
      recovery: 'reconcile',
      async reconcile(_, { signal }) {
        asked.resolve();
        await untilStopped(signal);
        return { type: 'unknown' };
      },
    });
    const { agent, ledger, restart } = await crashedRun({
      script: [call()],
      agent: { tools: [read] },
      crash: diesAt('tool.dispatched'),
    });
    const { runtime, misfits } = restart();
    const run = runtime.resume(agent, 'kept');
    await asked.promise;
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(spy.entries).toEqual([]);
    const records = await ledger.read('kept');
    expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).toEqual(['abandoned']);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });
});
