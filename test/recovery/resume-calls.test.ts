import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { RecordType } from '../../src/ledger/records.ts';
import type { GateContext } from '../../src/lifecycle/hooks.ts';
import { settlePromises } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { type Crash, type CrashedRunSetup, crashedRun } from './fixtures/crashed-run.ts';

const call = (id = 'a') => reply().call('read', { id });
const diesAt = (record: RecordType, when: Crash['when'] = 'after', skip = 0): Crash => ({
  record,
  when,
  skip,
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

describe.each(LEDGER_KINDS)('a step with a call that asks and one that does not (%s)', (kind) => {
  it('T5 the ungated one runs before the restart, and its result is in the request after it', async () => {
    const { agent, spy, model, ledger, restart } = await crashedRun({
      ledger: await openLedger(kind),
      script: [reply().call('write', { id: 'a' }).call('read', { id: 'b' }), reply().text('Done.')],
      tools: ['read', 'write'],
      asks: ['write'],
      crash: diesAt('tool.settled'),
    });
    const { runtime } = restart();
    const [request] = await runtime.approvals.pending();
    await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect((await runtime.resume(agent, 'kept').result).status).toBe('completed');
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['read', 'write']);
    const results = model.requests[1]?.messages.filter(({ role }) => role === 'tool');
    expect(results?.map(({ text }) => text)).toEqual(['write a', 'read b']);
    expect(violationsOf({ records: await ledger.read('kept') })).toEqual([]);
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

  it('one beside a call nobody knows of can be decided while its turn is about to pause again', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const read = spy.tool('read', undefined, {
      recovery: 'reconcile',
      async reconcile() {
        await gate.pass();
        return { type: 'unknown' };
      },
    });
    const { agent, restart } = await crashedRun({
      script: [reply().call('read', { id: 'a' }).call('write', { id: 'b' }), reply().text('Done.')],
      agent: { tools: [read, spy.tool('write', undefined, { needsApproval: true })] },
      crash: diesAt('tool.settled', 'before'),
    });
    const { runtime } = restart();
    const pausing = runtime.resume(agent, 'kept');
    await gate.reached;
    const deciding = runtime.approvals.decide('kept.1.1.1.ask', { decision: 'approve' });
    for (let turns = 0; turns < 20; turns += 1) await settlePromises();
    gate.open();
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
