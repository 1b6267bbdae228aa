import { describe, expect, it } from 'vitest';
import { type CallId, operationIdOf } from '../../src/ids.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { eventSeen, eventsOf, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

describe.each(LEDGER_KINDS)('calls of one step (%s)', (kind) => {
  it('TR-12 run at the same time, and the next request waits for the slowest', async () => {
    const gate = createGate();
    const all = createGate();
    let inside = 0;
    const spy = createToolSpy();
    const work = spy.tool('work', async ({ id }) => {
      inside += 1;
      if (inside === 5) all.open();
      // Passes only if all five are inside at once.
      await all.pass();
      if (id === 'slow') await gate.pass();
      return id;
    });
    const { model, agent } = scriptedAgent(
      [
        ['slow', 'a', 'b', 'c', 'd'].reduce((step, id) => step.call('work', { id }), reply()),
        reply().text('Done.'),
      ],
      { tools: [work] },
    );
    const { runtime, misfits } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    await eventSeen(run, 'tool.settled', 4);
    expect(model.requests).toHaveLength(1);
    gate.open();
    expect((await run.result).status).toBe('completed');
    expect(lastResults(model, 1)).toEqual(['slow', 'a', 'b', 'c', 'd']);
    expect(misfits).toEqual([]);
  });

  it('T26 results go to the model in call order, events in the order things happened', async () => {
    const gates = { a: createGate(), b: createGate(), c: createGate() };
    const spy = createToolSpy();
    const work = spy.tool('work', async ({ id }) => {
      await gates[id as keyof typeof gates].pass();
      return id;
    });
    const { model, agent } = scriptedAgent(
      [
        reply()
          .call('work', { id: 'a' })
          .call('unknown', { id: 'x' })
          .call('work', { id: 'b' })
          .call('work', { id: 'c' }),
        reply().text('Done.'),
      ],
      { tools: [work] },
    );
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    for (const [nth, id] of (['c', 'a', 'b'] as const).entries()) {
      gates[id].open();
      await eventSeen(run, 'tool.settled', nth + 1);
    }
    expect((await run.result).status).toBe('completed');
    const [first, refused, ...rest] = lastResults(model, 1);
    expect([first, ...rest]).toEqual(['a', 'b', 'c']);
    expect(refused).toContain('unknown');
    const settled = (await eventsOf(run)).filter(({ type }) => type === 'tool.settled');
    expect(settled.map(({ call }) => call?.split('.').at(-1))).toEqual(['3', '0', '2']);
  });

  it('T26 each outcome is durable when it happens, while another call still runs', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const { agent } = scriptedAgent(
      [
        reply().call('stall', { id: 'a' }).call('quick', { id: 'b' }).call('quick', { id: 'c' }),
        reply().text('.'),
      ],
      {
        tools: [
          spy.tool('quick'),
          spy.tool('stall', async () => {
            await gate.pass();
            return 'late';
          }),
        ],
      },
    );
    const { runtime, ledger } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    await eventSeen(run, 'tool.settled', 2);
    const settled = ofType(await ledger.read(run.sessionId), 'tool.settled');
    expect(settled.map(({ data }) => data.output)).toEqual([
      { type: 'text', text: 'quick b' },
      { type: 'text', text: 'quick c' },
    ]);
    gate.open();
    await run.result;
  });

  it('TR-13 the end of a turn waits for what is in flight, whose outcomes keep their operation ids', async () => {
    const clock = fakeClock();
    const parting = createGate();
    const spy = createToolSpy();
    const { agent } = scriptedAgent(
      [reply().call('tidy', { id: 'a' }).call('tidy', { id: 'b' }).call('gated', { id: 'c' })],
      {
        tools: [
          spy.tool('tidy', async ({ id }, { signal }) => {
            await createGate().pass(signal);
            await parting.pass();
            return `tidied ${id}`;
          }),
          spy.tool('gated', undefined, { needsApproval: true }),
        ],
      },
    );
    const { runtime, ledger, misfits } = watchedRuntime({ ledger: await openLedger(kind, clock), clock });
    const run = runtime.run(agent, 'Go.');
    await eventSeen(run, 'tool.dispatched', 2);
    await eventSeen(run, 'approval.requested');
    run.cancel('enough');
    await parting.reached;
    expect(ofType(await ledger.read(run.sessionId), 'turn.closed')).toEqual([]);
    parting.open();
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    const records = await ledger.read(run.sessionId);
    const settled = ofType(records, 'tool.settled');
    expect(settled.map(({ data }) => data.operationId)).toEqual(
      settled.map(({ call }) => operationIdOf(call as CallId)),
    );
    expect(settled).toHaveLength(2);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['turn-ended']);
    expect(records.at(-1)?.type).toBe('turn.closed');
    expect(misfits).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('toolConcurrency 1 runs the calls of a step one after another in their order', async () => {
    let inside = 0;
    let most = 0;
    const spy = createToolSpy();
    const { model } = await playTurn(
      kind,
      [['c', 'a', 'b'].reduce((step, id) => step.call('work', { id }), reply()), reply().text('Done.')],
      {
        agent: {
          limits: { toolConcurrency: 1 },
          tools: [
            spy.tool('work', async ({ id }) => {
              inside += 1;
              most = Math.max(most, inside);
              await Promise.resolve();
              inside -= 1;
              return id;
            }),
          ],
        },
      },
    );
    expect(most).toBe(1);
    expect(spy.entries.map(({ id }) => id)).toEqual(['c', 'a', 'b']);
    expect(lastResults(model, 1)).toEqual(['c', 'a', 'b']);
  });
});
