import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { eventSeen, eventsOf, ofType } from '../support/run-events.ts';
import { servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const GRACE_MS = 5_000;

describe.each(LEDGER_KINDS)('stopping a turn in its tools (%s)', (kind) => {
  it('T23 a tool that ignores the signal is abandoned after the grace period', async () => {
    const stubborn = createGate();
    const spy = createToolSpy();
    const clock = fakeClock();
    const { server, agent } = await servedAgent([reply().call('stubborn', { id: 'a' })], {
      tools: [
        spy.tool('stubborn', async () => {
          await stubborn.pass();
          return 'too late';
        }),
      ],
      limits: { tools: { graceMs: GRACE_MS } },
    });
    const { runtime, ledger, misfits } = watchedRuntime({ clock, ledger: await openLedger(kind, clock) });
    const run = runtime.run(agent, 'Go.');
    await stubborn.reached;
    run.cancel();
    await clock.advance(GRACE_MS - 1);
    expect(ofType(await ledger.read(run.sessionId), 'tool.settled')).toEqual([]);
    await clock.advance(1);
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    const records = await ledger.read(run.sessionId);
    expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).toEqual(['abandoned']);
    expect(violationsOf({ records })).toEqual([]);
    expect(server.requests).toHaveLength(1);
    expect(misfits).toEqual([]);
  });

  it('T23 what an abandoned tool returns later is dropped and reported', async () => {
    const stubborn = createGate();
    const clock = fakeClock();
    const { server, agent } = await servedAgent(
      [reply().call('stubborn', { id: 'a' }), reply().text('Well.')],
      {
        tools: [
          createToolSpy().tool('stubborn', async () => {
            await stubborn.pass();
            return 'too late';
          }),
        ],
      },
    );
    const { runtime, ledger } = watchedRuntime({ clock, ledger: await openLedger(kind, clock) });
    const run = runtime.run(agent, 'Go.');
    await stubborn.reached;
    run.cancel();
    await clock.advance(GRACE_MS);
    await run.result;
    const before = await ledger.position();
    stubborn.open();
    const stop = new AbortController();
    for await (const { record } of ledger.tail(before, stop.signal)) {
      expect(record).toMatchObject({ type: 'tool.late', data: { toolName: 'stubborn' } });
      break;
    }
    await runtime.run(agent, 'Go on.', { sessionId: run.sessionId }).result;
    const records = await ledger.read(run.sessionId);
    expect(JSON.stringify(records)).not.toContain('too late');
    expect(server.requests[1]?.messages.find(({ role }) => role === 'tool')?.text).toContain(
      'did not return',
    );
    expect(violationsOf({ records })).toEqual([]);
  });

  it('T24 an abort in a tool sends nothing more, and the message that waited is told undelivered', async () => {
    const spy = createToolSpy();
    const { server, agent } = await servedAgent([reply().call('work', { id: 'a' })], {
      tools: [
        spy.tool(
          'work',
          (_, { signal }) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason), { once: true });
            }),
        ),
      ],
    });
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    await eventSeen(run, 'tool.dispatched');
    const steered = run.steer('And then this.');
    await eventSeen(run, 'steering.accepted');
    run.cancel('stop');
    run.cancel('stop again');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'stop' });
    expect(await steered).toMatchObject({ delivered: false });
    const events = await eventsOf(run);
    expect(events.filter(({ type }) => type === 'turn.closed')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'steering.undelivered')).toHaveLength(1);
    expect(server.requests).toHaveLength(1);
    expect(violationsOf({ records: await ledger.read(run.sessionId) })).toEqual([]);
    expect(misfits).toEqual([]);
  });
});
