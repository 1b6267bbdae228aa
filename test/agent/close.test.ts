import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { createRuntime } from '../../src/runtime.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { portOf } from '../support/edited-ledger.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** The same ledger for a runtime that is closed before another uses it. */
const lent = (ledger: Ledger): Ledger => ({ ...portOf(ledger), close: async () => undefined });

const closedError = { status: 'failed', error: { kind: 'runtime-closed' } };

describe.each(LEDGER_KINDS)('closing a runtime (%s)', (kind) => {
  it('with time to drain lets turns finish', async () => {
    const gate = createGate();
    const clock = fakeClock();
    const { agent } = await servedAgent([reply().call('work', { id: 'a' }), reply().text('Done.')], {
      tools: [
        createToolSpy().tool('work', async () => {
          await gate.pass();
        }),
      ],
    });
    const { runtime } = watchedRuntime({ clock, ledger: await openLedger(kind, clock) });
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const closing = runtime.close({ drainMs: 30_000 });
    expect(() => runtime.run(agent, 'More.')).toThrow(expect.objectContaining({ code: 'runtime-closed' }));
    gate.open();
    await closing;
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(clock.pending).toBe(0);
  });

  it('at the end of that time leaves turns open, and another runtime finishes them', async () => {
    const clock = fakeClock();
    const spy = createToolSpy();
    const { server, agent } = await servedAgent(
      [reply().call('quick', { id: 'a' }).call('heeding', { id: 'b' }), reply().text('Picked up.')],
      {
        tools: [
          spy.tool('quick'),
          spy.tool(
            'heeding',
            (_, { signal }) =>
              new Promise((_resolve, reject) => {
                signal.addEventListener('abort', () => reject(signal.reason), { once: true });
              }),
          ),
        ],
      },
    );
    const ledger = await openLedger(kind, clock);
    const first = watchedRuntime({ clock, ledger: lent(ledger) });
    const run = first.runtime.run(agent, 'Go.', { sessionId: 'kept' });
    await eventSeen(run, 'tool.settled');
    const closing = first.runtime.close({ drainMs: 30_000 });
    await clock.advance(30_000);
    await closing;
    expect(await run.result).toMatchObject(closedError);
    const left = await ledger.read('kept');
    expect(ofType(left, 'turn.closed')).toEqual([]);
    expect(ofType(left, 'tool.settled').map(({ data }) => data.status)).toEqual(['success', 'aborted']);
    const { runtime, misfits } = watchedRuntime({ clock, ledger });
    expect(await runtime.resume(agent, 'kept').result).toMatchObject({
      status: 'completed',
      text: 'Picked up.',
      steps: 2,
      toolCalls: 2,
    });
    expect(spy.entries.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(violationsOf({ records: await ledger.read('kept') })).toEqual([]);
    expect(misfits).toEqual([]);
    server.assertPlayedOut();
  });
});

interface Phase {
  readonly title: string;
  readonly reached: Parameters<typeof eventSeen>[1];
  readonly script: () => Parameters<typeof scriptedAgent>[0];
  readonly needsApproval?: boolean;
  /** Left of a wait that was under way. */
  readonly waitMs?: number;
  /** Entries of the tool after the resume. */
  readonly entries: number;
}

const PHASES: readonly Phase[] = [
  {
    title: 'in the middle of an answer',
    reached: 'attempt.started',
    script: () => [reply().text('Half').stall(), reply().call('work', { id: 'a' }), reply().text('Done.')],
    entries: 1,
  },
  {
    title: 'between two attempts',
    reached: 'attempt.retry-scheduled',
    script: () => [
      failure({ kind: 'overloaded', retryAfterMs: 60_000 }),
      reply().call('work', { id: 'a' }),
      reply().text('Done.'),
    ],
    waitMs: 60_000,
    entries: 1,
  },
  {
    title: 'while a person is asked',
    reached: 'approval.requested',
    script: () => [reply().call('work', { id: 'a' }), reply().text('Done.')],
    needsApproval: true,
    entries: 1,
  },
];

describe('a turn that is closed upon', () => {
  it.each(PHASES)('$title goes on in another runtime', async (phase) => {
    const { reached, script, needsApproval, waitMs = 0, entries } = phase;
    const clock = fakeClock();
    const spy = createToolSpy();
    const { model, agent } = scriptedAgent(script(), {
      tools: [spy.tool('work', undefined, { needsApproval: needsApproval ?? false })],
    });
    const ledger = await openLedger('memory', clock);
    const first = watchedRuntime({ clock, ledger: lent(ledger) });
    const run = first.runtime.run(agent, 'Go.', { sessionId: 'kept' });
    await eventSeen(run, reached);
    await first.runtime.close();
    expect(await run.result).toMatchObject(closedError);
    expect(clock.pending).toBe(0);
    expect(first.misfits).toEqual([]);
    const { runtime, misfits } = watchedRuntime({ clock, ledger });
    const again = runtime.resume(agent, 'kept');
    if (needsApproval === true) {
      const [request] = await runtime.approvals.pending();
      await runtime.approvals.decide(request?.id ?? '', { decision: 'approve' });
    }
    if (waitMs > 0) await clock.whenPending();
    await clock.advance(waitMs);
    expect(await again.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(spy.entries).toHaveLength(entries);
    expect(violationsOf({ records: await ledger.read('kept') })).toEqual([]);
    expect(misfits).toEqual([]);
    model.assertPlayedOut();
  });

  it('with calls that wait for their place keeps them for the resume', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const { model, agent } = scriptedAgent(
      [reply().call('work', { id: 'a' }).call('work', { id: 'b' }), reply().text('Done.')],
      {
        tools: [
          spy.tool('work', async ({ id }, { signal }) => {
            if (id === 'a') await gate.pass(signal);
            return `work ${id}`;
          }),
        ],
        limits: { toolConcurrency: 1 },
      },
    );
    const ledger = await openLedger('memory');
    const first = watchedRuntime({ ledger: lent(ledger) });
    first.runtime.run(agent, 'Go.', { sessionId: 'kept' });
    await gate.reached;
    await first.runtime.close();
    expect(ofType(await ledger.read('kept'), 'tool.refused')).toEqual([]);
    const { runtime, misfits } = watchedRuntime({ ledger });
    expect(await runtime.resume(agent, 'kept').result).toMatchObject({ status: 'completed' });
    expect(spy.entries.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(violationsOf({ records: await ledger.read('kept') })).toEqual([]);
    expect(misfits).toEqual([]);
    model.assertPlayedOut();
  });

  it('with a tool that does not come back shows it as indeterminate', async () => {
    const clock = fakeClock();
    const stubborn = createGate();
    const { agent } = scriptedAgent([reply().call('stubborn', { id: 'a' })], {
      tools: [
        createToolSpy().tool('stubborn', async () => {
          await stubborn.pass();
        }),
      ],
      limits: { tools: { graceMs: 5_000 } },
    });
    const ledger = await openLedger('memory', clock);
    const first = watchedRuntime({ clock, ledger: lent(ledger) });
    first.runtime.run(agent, 'Go.', { sessionId: 'kept' });
    await stubborn.reached;
    const closing = first.runtime.close();
    await clock.advance(5_000);
    await closing;
    expect(first.misfits).toEqual([]);
    const { runtime } = watchedRuntime({ clock, ledger });
    const [report] = await runtime.recover('kept');
    expect(report?.indeterminate.map(({ toolName }) => toolName)).toEqual(['stubborn']);
    expect(await runtime.resume(agent, 'kept').result).toMatchObject({
      status: 'paused',
      reason: 'indeterminate',
    });
  });

  it('before it began is refused, and nothing of it is stored', async () => {
    const gate = createGate();
    const { model, agent } = scriptedAgent([reply().text('One.').wait(gate)]);
    const ledger = await openLedger('memory');
    const { runtime, misfits } = watchedRuntime({ ledger: lent(ledger) });
    const first = runtime.run(agent, 'First.', { sessionId: 'shared' });
    await gate.reached;
    const waiting = runtime.run(agent, 'Second.', { sessionId: 'shared' });
    const fresh = runtime.run(agent, 'Third.', { sessionId: 'other' });
    await runtime.close();
    for (const run of [first, waiting, fresh]) expect(await run.result).toMatchObject(closedError);
    expect(model.requests).toHaveLength(1);
    expect(ofType(await ledger.read('shared'), 'turn.opened')).toHaveLength(1);
    expect(await ledger.read('other')).toEqual([]);
    expect(misfits).toEqual([]);
  });
});

describe('a closed runtime', () => {
  it('is closed once, however often it is asked', async () => {
    const ledger = await openLedger('memory');
    let closes = 0;
    const runtime = createRuntime({
      ledger: {
        ...portOf(ledger),
        async close() {
          closes += 1;
        },
      },
    });
    await Promise.all([runtime.close(), runtime.close({ drainMs: 10 }), runtime[Symbol.asyncDispose]()]);
    expect(closes).toBe(1);
  });

  it('throws for what is asked of it afterwards', async () => {
    const { agent } = scriptedAgent([]);
    const runtime = createRuntime();
    await runtime.close();
    const code = expect.objectContaining({ code: 'runtime-closed' });
    expect(() => runtime.run(agent, 'Go.')).toThrow(code);
    expect(() => runtime.resume(agent, 's-1')).toThrow(code);
    await expect(runtime.abandon('s-1', 'enough')).rejects.toEqual(code);
  });
});
