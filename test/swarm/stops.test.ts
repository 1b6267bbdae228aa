import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { portOf } from '../support/edited-ledger.ts';
import { adds, factsOf, factsSeen, item, runtimeOf, stops, team, yields } from './team.ts';

/** The same ledger for a runtime that is closed before another uses it. */
const lent = (ledger: Ledger): Ledger => ({ ...portOf(ledger), close: async () => undefined });

describe('a run that is cancelled', () => {
  it.each([
    ['between two turns of its supervisor', true],
    ['in a turn of its supervisor', false],
  ])('GS-17 T22 %s stops every operator, and nothing asks a model again', async (_, isYielded) => {
    const stuck = isYielded ? yields() : reply().stall();
    const { swarm, lead, worker } = team({
      lead: [adds(item('A'), item('B'), item('C')), stuck],
      worker: () => reply().stall(),
      limits: { fanOut: 2 },
    });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await worker.arrived(1);
    await lead.arrived(1);
    if (isYielded) await factsSeen(ledger, 'turn.closed', 1, 'team');
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(worker.requests).toHaveLength(2);
    expect(worker.requests.every(({ aborted }) => aborted)).toBe(true);
    const closed = await factsOf(ledger, 'turn.closed');
    expect(closed.filter(({ agent }) => agent === 'worker').map(({ data }) => data.status)).toEqual([
      'cancelled',
      'cancelled',
    ]);
    expect(await ledger.listOpen()).toEqual([]);
    // The third never began, and never will.
    expect((await factsOf(ledger, 'node.started')).map(({ data }) => data.work)).not.toContain('w1.1.0.3');
    expect(misfits).toEqual([]);
  });

  it('GS-18 keeps its facts, and a later update goes on with its graph', async () => {
    const { swarm, worker } = team({
      lead: [
        adds(item('A'), item('stuck')),
        yields(),
        adds(item('B', { input_ids: ['w1.1.0.1'] })),
        yields(),
        reply().text('Done.'),
      ],
      worker: (task) => (task === 'stuck' ? reply().stall() : reply().text(task)),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await factsSeen(ledger, 'node.finished');
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    const next = runtime.run(swarm, 'Go on.', { sessionId: run.sessionId });
    expect(await next.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(worker.requests.at(-1)?.messages[0]?.text).toContain('"work_id":"w1.1.0.1"');
  });

  it('leaves by its wall clock like by its caller', async () => {
    const { swarm } = team({ lead: [adds(item('A')), yields()], worker: () => reply().stall() });
    const { runtime, ledger } = runtimeOf(swarm);
    const result = await runtime.run(swarm, 'Go.', { budget: { wallMs: 200 } }).result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'wall-clock-budget' } });
    expect(await ledger.listOpen()).toEqual([]);
  });
});

describe('a run that is to end after its step', () => {
  it.each([
    ['between two turns', 'yield_agent_graph', { reason: 'nothing to do' }],
    ['in a turn', 'agent_swarm_status', {}],
  ])('%s begins nothing more, and stops what runs', async (when, call, args) => {
    const gate = createGate();
    const { swarm, lead, worker } = team({
      lead: [adds(item('A')), reply().wait(gate).call(call, args)],
      worker: () => reply().stall(),
    });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await worker.arrived(0);
    await lead.arrived(1);
    if (when === 'in a turn') run.stopAfterStep();
    gate.open();
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    if (when !== 'in a turn') run.stopAfterStep();
    expect(await run.result).toMatchObject({ status: 'completed', stopReason: 'after-step-stop' });
    expect(lead.requests).toHaveLength(2);
    expect(await ledger.listOpen()).toEqual([]);
    expect(misfits).toEqual([]);
  });
});

describe('a supervisor whose turn fails', () => {
  it('ends the run with everything below it settled', async () => {
    const { swarm, worker } = team({
      lead: [adds(item('A')), reply().error({ kind: 'invalid-request' })],
      worker: () => reply().stall(),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    const result = await runtime.run(swarm, 'Go.').result;
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'invalid-request' } });
    expect(worker.requests.every(({ aborted }) => aborted)).toBe(true);
    expect(await ledger.listOpen()).toEqual([]);
  });
});

describe('a runtime that closes', () => {
  it.each([
    ['between two turns', yields()],
    ['in a turn', reply().stall()],
  ])('GS-09 %s leaves the run to the next, which runs nothing twice', async (_, second) => {
    const ledger = memoryLedger();
    const stuck = createGate();
    const plays = {
      lead: [adds(item('A'), item('slow')), second] as const,
      worker: (task: string) => (task === 'slow' ? reply().wait(stuck).text('slow') : reply().text(task)),
    };
    const first = team(plays);
    const closing = runtimeOf(first.swarm, { ledger: lent(ledger) });
    const run = closing.runtime.run(first.swarm, 'Go.');
    await stuck.reached;
    await first.lead.arrived(1);
    await factsSeen(ledger, 'node.finished');
    await closing.runtime.close();
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'runtime-closed' } });
    expect(closing.misfits).toEqual([]);

    const again = team({
      lead: (request) => (request.lastText.includes('"status":"settled"') ? reply().text('Done.') : yields()),
      worker: (task) => reply().text(`Again ${task}`),
    });
    const opening = runtimeOf(again.swarm, { ledger: lent(ledger) });
    const next = opening.runtime.resume('team', run.sessionId);
    expect(await next.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(again.worker.requests).toHaveLength(1);
    const claims = (await factsOf(ledger, 'graph.claimed')).map(({ data }) => data.work);
    expect(claims).toEqual(['w1.1.0.1', 'w1.1.0.2']);
    expect(opening.misfits).toEqual([]);
  });

  it('leaves works alone that another run begins beside, and is refused', async () => {
    const ledger = memoryLedger();
    const first = team({ lead: [adds(item('A')), reply().stall()], worker: () => reply().stall() });
    const before = runtimeOf(first.swarm, { ledger: lent(ledger) });
    const { sessionId } = before.runtime.run(first.swarm, 'Go.');
    await first.worker.arrived(0);
    await first.lead.arrived(1);
    await before.runtime.close();
    const facts = await ledger.read(sessionId);
    const second = team({
      lead: ({ lastText }) => (lastText.includes('"status":"settled"') ? reply().text('Done.') : yields()),
    });
    const { runtime } = runtimeOf(second.swarm, { ledger: lent(ledger) });
    expect(await runtime.run(second.swarm, 'Go.', { sessionId }).result).toMatchObject({
      status: 'failed',
      error: { kind: 'turn-open' },
    });
    expect(await ledger.read(sessionId)).toEqual(facts);
    expect(await runtime.resume(second.swarm, sessionId).result).toMatchObject({ text: 'Done.' });
    expect(second.worker.requests).toHaveLength(1);
  });

  it('says that there is nothing to resume of a run that is over', async () => {
    const { swarm } = team({ lead: [adds(item('A')), yields(), reply().text('Done.')] });
    const { runtime } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await run.result;
    expect(await runtime.resume(swarm, run.sessionId).result).toMatchObject({
      status: 'failed',
      error: { kind: 'nothing-to-resume' },
    });
  });
});

describe('a stop', () => {
  it('GS-10 reaches a work that waits as well as one that runs', async () => {
    const { swarm } = team({
      lead: [
        adds(item('A')),
        adds(item('B', { input_ids: ['w1.1.0.1'] })),
        stops('w1.2.0.1', 'w1.1.0.1'),
        yields(),
        reply().text('Done.'),
      ],
      worker: () => reply().stall(),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    expect((await factsOf(ledger, 'node.started')).map(({ data }) => data.work)).toEqual(['w1.1.0.1']);
  });
});

describe('a swarm between two turns', () => {
  it('is cancelled by its session id as well', async () => {
    const { swarm, worker } = team({ lead: [adds(item('A')), yields()], worker: () => reply().stall() });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await worker.arrived(0);
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    await runtime.sessions.cancel(run.sessionId, 'from elsewhere');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'from elsewhere' });
    expect(await ledger.listOpen()).toEqual([]);
    expect(await runtime.recover(run.sessionId)).toEqual([]);
    expect(await runtime.resume(swarm, run.sessionId).result).toMatchObject({
      status: 'failed',
      error: { kind: 'nothing-to-resume' },
    });
    expect(misfits).toEqual([]);
  });

  it('takes a text with its next turn', async () => {
    const gate = createGate();
    const { swarm, lead } = team({
      lead: [adds(item('A')), yields(), reply().text('Heard.')],
      worker: () => reply().wait(gate).text('A.'),
    });
    const { runtime, ledger } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    const steered = run.steer('Be brief.');
    gate.open();
    expect(await steered).toMatchObject({ delivered: true });
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Heard.' });
    expect(lead.requests[2]?.lastText).toContain('Be brief.');
  });

  it('holds a further input until its run is over', async () => {
    const gate = createGate();
    const { swarm, lead } = team({
      lead: [adds(item('A')), yields(), reply().text('First.'), reply().text('Second.')],
      worker: () => reply().wait(gate).text('A.'),
    });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    const next = runtime.run(swarm, 'And more.', { sessionId: run.sessionId });
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', text: 'First.' });
    expect(await next.result).toMatchObject({ status: 'completed', text: 'Second.' });
    expect(lead.requests[3]?.lastText).toBe('And more.');
    expect(misfits).toEqual([]);
  });

  it('is in the report of what an ended process left', async () => {
    const ledger = memoryLedger();
    const { swarm } = team({ lead: [adds(item('A')), yields()], worker: () => reply().stall() });
    const first = runtimeOf(swarm, { ledger: lent(ledger) });
    const run = first.runtime.run(swarm, 'Go.');
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    await first.runtime.close();
    const { runtime } = runtimeOf(swarm, { ledger: lent(ledger) });
    for (const reports of [await runtime.recover(), await runtime.recover(run.sessionId)]) {
      expect(reports).toMatchObject([
        { sessionId: run.sessionId, gaveWay: true, indeterminate: [] },
        { agent: 'worker', unanswered: false },
      ]);
    }
  });
});
