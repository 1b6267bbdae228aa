import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/index.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { eventSeen, eventsOf } from '../support/run-events.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const typesOf = (events: readonly RunEvent[]) => events.map(({ type }) => type);

const ONE_TURN = [
  'session.opened',
  'turn.opened',
  'step.started',
  'attempt.started',
  'tool.called',
  'step.completed',
  'tool.dispatched',
  'tool.settled',
  'step.started',
  'attempt.started',
  'step.completed',
  'turn.closed',
];

const oneTurn = () => [reply().call('work', { id: 'a' }), reply().text('Done.')];

describe.each(LEDGER_KINDS)('events of a run (%s)', (kind) => {
  it('are those of its turn, in order, from its start to its end', async () => {
    const { agent } = await servedAgent(oneTurn(), { tools: [createToolSpy().tool('work')] });
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    const live = eventsOf(run);
    await run.result;
    const late = await eventsOf(run);
    expect(typesOf(late)).toEqual(ONE_TURN);
    expect(await live).toEqual(late);
    const closed = late.at(-1);
    expect(closed).toMatchObject({
      type: 'turn.closed',
      session: run.sessionId,
      turn: `${run.sessionId}.1`,
      run: run.id,
      agentPath: ['worker'],
      data: { status: 'completed' },
    });
    // The link to the event before lets a reader see that nothing is missing.
    for (const [at, { prev }] of late.entries()) expect(prev).toBe(late[at - 1]?.seq ?? 0);
  });

  it.each([0, 3, 7])('attached with from %d while it runs, have no gap and no duplicate', async (skipped) => {
    const gate = createGate();
    const { agent } = await servedAgent(oneTurn(), {
      tools: [
        createToolSpy().tool('work', async () => {
          await gate.pass();
        }),
      ],
    });
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    const first = await eventSeen(run, 'session.opened');
    const from = first.seq + skipped;
    const attached = eventsOf(run, { from });
    gate.open();
    await run.result;
    const all = await eventsOf(run, { from: 1 });
    expect(await attached).toEqual(all.filter(({ seq }) => seq >= from));
  });

  it('with tree begin at the beginning of the ledger or after a cursor', async () => {
    const { agent } = await servedAgent([...oneTurn(), reply().text('Again.')], {
      tools: [createToolSpy().tool('work')],
    });
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const first = runtime.run(agent, 'Go.');
    await first.result;
    const second = runtime.run(agent, 'Go on.', { sessionId: first.sessionId });
    await second.result;
    const all = await eventsOf(second, { tree: true, from: 0 });
    expect(typesOf(all).filter((type) => type === 'turn.closed')).toHaveLength(2);
    expect(typesOf(all).slice(0, ONE_TURN.length)).toEqual(ONE_TURN);
    const cursor = all[4]?.cursor ?? 0;
    expect(await eventsOf(second, { tree: true, from: cursor })).toEqual(all.slice(5));
  });

  it('do not hold those of the runs before and after it in its session', async () => {
    const gate = createGate();
    const { agent } = await servedAgent([
      reply().text('One.').wait(gate),
      reply().text('Two.'),
      reply().text('Three.'),
    ]);
    const { runtime } = watchedRuntime({ ledger: await openLedger(kind) });
    const runs = ['First.', 'Second.', 'Third.'].map((text) =>
      runtime.run(agent, text, { sessionId: 'shared' }),
    );
    const reading = Promise.all(runs.map((run) => eventsOf(run)));
    await gate.reached;
    gate.open();
    const events = await reading;
    for (const [at, run] of runs.entries()) {
      const own = events[at]?.filter(({ type }) => type !== 'session.opened') ?? [];
      expect(new Set(own.map((event) => event.run))).toEqual(new Set([run.id]));
      expect(typesOf(own).filter((type) => type.startsWith('turn.'))).toEqual(['turn.opened', 'turn.closed']);
    }
  });
});

describe('readers of a run', () => {
  it('are as many as one likes, each at its own pace', async () => {
    const { agent } = scriptedAgent(oneTurn(), { tools: [createToolSpy().tool('work')] });
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    const slow = run.events()[Symbol.asyncIterator]();
    const first = await slow.next();
    const fast = await Promise.all(Array.from({ length: 100 }, () => eventsOf(run)));
    await run.result;
    for (const events of fast) expect(typesOf(events)).toEqual(ONE_TURN);
    expect(first.value?.type).toBe('session.opened');
    expect((await slow.next()).value?.type).toBe('turn.opened');
    await slow.return?.();
  });

  it('that stop reading, by a break or their signal, end at once', async () => {
    const gate = createGate();
    const { agent } = scriptedAgent([reply().wait(gate).text('Done.')]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    for await (const event of run.events()) if (event.type === 'attempt.started') break;
    const stop = new AbortController();
    const reading = eventsOf(run, { signal: stop.signal });
    await eventSeen(run, 'attempt.started');
    stop.abort();
    expect(typesOf(await reading)).not.toContain('turn.closed');
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
  });

  it('of a run that never began get nothing and end', async () => {
    const { agent } = scriptedAgent([]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.', { budget: { agents: 0 } });
    expect(await eventsOf(run)).toEqual([]);
    for await (const piece of run.text()) expect.unreachable(piece);
  });
});

describe('text of a run', () => {
  it('comes as it is written, over all steps, and is that of the root alone', async () => {
    const gate = createGate();
    const { agent } = await servedAgent(
      [
        reply().reasoning('Hm.').text('Let me look. ', { deltas: 2 }).call('work', { id: 'a' }),
        reply().text('Found', { deltas: 1 }).wait(gate).text(' it.'),
      ],
      { tools: [createToolSpy().tool('work')] },
    );
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    const pieces: string[] = [];
    for await (const piece of run.text()) {
      pieces.push(piece);
      if (piece === 'Found') gate.open();
    }
    expect(pieces.join('')).toBe('Let me look. Found it.');
    expect(pieces.length).toBeGreaterThan(2);
    expect(await run.result).toMatchObject({ text: 'Found it.' });
  });

  it('ends with the run for a reader that comes too late', async () => {
    const { agent } = scriptedAgent([reply().text('Done.')]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await run.result;
    for await (const piece of run.text()) expect.unreachable(piece);
  });
});
