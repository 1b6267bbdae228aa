import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import type { ScriptedResponse } from '../../src/testing/script.ts';
import { violationsOf } from '../invariants/session.ts';
import { portOf } from '../support/edited-ledger.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** A store that outlives the runtimes that close it. */
const kept = (ledger: Ledger): Ledger => ({ ...portOf(ledger), close: async () => undefined });

const call = (id = 'a') => reply().call('read', { id });

describe.each(LEDGER_KINDS)('a runtime that closes (%s)', (kind) => {
  it('lets a turn finish that is done in time', async () => {
    const ledger = await openLedger(kind);
    const gate = createGate();
    const { agent } = scriptedAgent([call(), reply().text('Done.')], {
      tools: [createToolSpy().tool('read', () => gate.pass())],
    });
    const runtime = createRuntime({ ledger: kept(ledger) });
    const run = runtime.run(agent, 'Go.', { sessionId: 'kept' });
    await gate.reached;
    const closing = runtime.close({ drainMs: 60_000 });
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    await closing;
    expect(await ledger.listOpen()).toEqual([]);
    await ledger.close();
  });

  it('leaves a turn open that is not, for another to take up where it was', async () => {
    const ledger = await openLedger(kind);
    const clock = fakeClock();
    const spy = createToolSpy();
    const { agent, model } = scriptedAgent([call(), reply().text('Half').stall(), reply().text('Done.')], {
      tools: [spy.tool('read')],
    });
    const runtime = createRuntime({ ledger: kept(ledger), clock });
    const run = runtime.run(agent, 'Go.', { sessionId: 'kept' });
    for await (const text of run.text()) if (text !== '') break;
    const closing = runtime.close({ drainMs: 1_000 });
    await clock.whenPending(2);
    await clock.advance(1_000);
    expect(await run.result).toMatchObject({
      status: 'failed',
      error: { kind: 'runtime-closed' },
      text: 'Half',
    });
    await closing;
    expect(ofType(await ledger.read('kept'), 'turn.closed')).toEqual([]);
    await using next = createRuntime({ ledger });
    expect(await next.recover()).toMatchObject([
      { sessionId: 'kept', owned: false, unanswered: false, steps: 2 },
    ]);
    expect(await next.resume(agent, 'kept').result).toMatchObject({
      status: 'completed',
      text: 'Done.',
      steps: 2,
    });
    expect(spy.entries).toHaveLength(1);
    expect(model.requests).toHaveLength(3);
    expect(violationsOf({ records: await ledger.read('kept') })).toEqual([]);
  });
});

describe('a runtime that closes', () => {
  /** Closes a runtime over a turn as soon as its call runs, and takes the turn up in another. */
  async function closedOver(act: (signal: AbortSignal) => unknown, script: readonly ScriptedResponse[]) {
    const ledger = await openLedger('memory');
    const clock = fakeClock();
    const entered = Promise.withResolvers<void>();
    const spy = createToolSpy(() => entered.resolve());
    const { agent, model } = scriptedAgent(script, {
      tools: [
        spy.tool('read', (_, { signal }) => act(signal)),
        spy.tool('write', undefined, { needsApproval: true }),
      ],
    });
    const runtime = createRuntime({ ledger: kept(ledger), clock });
    const run = runtime.run(agent, 'Go.', { sessionId: 'kept' });
    await entered.promise;
    const closing = runtime.close();
    // Nothing but the time a tool has to come back can be waited for.
    while (clock.pending === 0 && (await isPending(closing))) await ledger.position();
    await clock.advance(5_000);
    await closing;
    const next = createRuntime({ ledger, clock });
    return { ledger, agent, model, spy, run, next };
  }

  async function isPending(work: Promise<unknown>): Promise<boolean> {
    return (
      (await Promise.race([work.then(() => 'over'), new Promise((resolve) => setImmediate(resolve))])) !==
      'over'
    );
  }

  it('records the outcome of a tool that comes back when it is told to', async () => {
    const heeding = (signal: AbortSignal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    const { next, agent, model, spy } = await closedOver(heeding, [call(), reply().text('Done.')]);
    expect(await next.recover()).toMatchObject([{ indeterminate: [] }]);
    expect((await next.resume(agent, 'kept').result).status).toBe('completed');
    expect(spy.entries).toHaveLength(1);
    expect(model.requests[1]?.lastText).toContain('unknown');
    await next.close();
  });

  it('says of one that does not that nobody knows', async () => {
    const { next, agent, spy, ledger } = await closedOver(
      () => new Promise(() => {}),
      [call(), reply().text('Done.')],
    );
    expect(ofType(await ledger.read('kept'), 'tool.indeterminate')).toHaveLength(1);
    expect(await next.recover()).toMatchObject([{ indeterminate: [{ toolName: 'read' }] }]);
    expect(await next.resume(agent, 'kept').result).toMatchObject({
      status: 'paused',
      reason: 'indeterminate',
    });
    const settled = next.resume(agent, 'kept', { indeterminate: () => ({ settle: 'read' }) });
    expect((await settled.result).status).toBe('completed');
    expect(spy.entries).toHaveLength(1);
    await next.close();
  });

  it('keeps requests open, and calls that had not begun', async () => {
    const step = reply().call('write', { id: 'a' }).call('read', { id: 'b' });
    const { next, agent, spy, ledger } = await closedOver(() => 'read', [step, reply().text('Done.')]);
    const [request] = await next.approvals.pending();
    expect(request?.toolName).toBe('write');
    await next.approvals.decide(request?.id ?? '', { decision: 'approve' });
    expect((await next.resume(agent, 'kept').result).status).toBe('completed');
    expect(spy.entries.map(({ toolName }) => toolName)).toEqual(['read', 'write']);
    expect(violationsOf({ records: await ledger.read('kept') })).toEqual([]);
    await next.close();
  });

  it('refuses what waits in a mailbox, and what comes later', async () => {
    const model = scriptedAgent([reply().text('Half').stall()]).model;
    const agent = defineAgent({ name: 'worker', instructions: 'Work.', model });
    const ledger = await openLedger('memory');
    const runtime = createRuntime({ ledger: kept(ledger) });
    const first = runtime.run(agent, 'Go.', { sessionId: 'kept' });
    const second = runtime.run(agent, 'And?', { sessionId: 'kept' });
    for await (const text of first.text()) if (text !== '') break;
    await Promise.all([runtime.close(), runtime.close({ drainMs: 1 })]);
    expect(await second.result).toMatchObject({ status: 'failed', error: { kind: 'runtime-closed' } });
    expect(() => runtime.run(agent, 'Late.')).toThrow(expect.objectContaining({ code: 'runtime-closed' }));
    expect(() => runtime.resume(agent, 'kept')).toThrow(expect.objectContaining({ code: 'runtime-closed' }));
    expect(ofType(await ledger.read('kept'), 'turn.opened')).toHaveLength(1);
  });
});
