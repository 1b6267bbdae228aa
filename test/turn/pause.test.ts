import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { defineGraph } from '../../src/graph/define-graph.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { violationsOf } from '../invariants/session.ts';
import { requestOf, startApprovalRun } from '../support/approval-run.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const PAUSED = { status: 'paused', reason: 'requested', approvals: [], calls: [] };

/** A turn that stands in one of the two calls of its first step until the gate opens. */
async function standing(more: Parameters<typeof scriptedAgent>[1] = {}, ledger = openLedger('memory')) {
  const gate = createGate();
  const spy = createToolSpy();
  const { model, agent } = scriptedAgent(
    [reply().text('Two things.').call('slow', { id: 'a' }).call('quick', { id: 'b' }), reply().text('Done.')],
    {
      tools: [
        spy.tool('slow', async ({ id }) => {
          await gate.pass();
          return `slow ${id}`;
        }),
        spy.tool('quick'),
      ],
      ...more,
    },
  );
  const watched = watchedRuntime({ ledger: await ledger });
  const run = watched.runtime.run(agent, 'Go.');
  await gate.reached;
  return { ...watched, gate, spy, model, agent, run, session: run.sessionId };
}

describe.each(LEDGER_KINDS)('a turn that is asked to pause (%s)', (kind) => {
  it('finishes its step and the calls of it, and stands open', async () => {
    const { run, gate, ledger, model, misfits, transitions, runtime, session } = await standing(
      {},
      openLedger(kind),
    );
    run.pause();
    run.pause();
    gate.open();
    expect(await run.result).toMatchObject({ ...PAUSED, steps: 1, toolCalls: 2 });
    const records = await ledger.read(session);
    expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).toEqual(['success', 'success']);
    expect(records.at(-1)).toMatchObject({ type: 'turn.paused', data: { reason: 'requested', open: [] } });
    expect(transitions.findLast(({ kind }) => kind === 'turn')).toMatchObject({
      from: 'deciding',
      event: 'PAUSED',
      to: 'paused',
    });
    expect(model.requests).toHaveLength(1);
    expect(await runtime.recover(session)).toMatchObject([
      { sessionId: session, owned: false, paused: true, indeterminate: [], parked: [] },
    ]);
    expect(misfits).toEqual([]);
  });

  it('goes on with its next step when it is resumed', async () => {
    const { run, gate, ledger, model, agent, misfits, runtime, spy, session } = await standing(
      {},
      openLedger(kind),
    );
    run.pause();
    gate.open();
    await run.result;
    const resumed = await runtime.resume(agent, session).result;
    expect(resumed).toMatchObject({ status: 'completed', text: 'Done.', steps: 2, toolCalls: 2 });
    expect(model.requests).toHaveLength(2);
    expect(spy.entries).toHaveLength(2);
    const records = await ledger.read(session);
    expect(ofType(records, 'turn.opened')).toHaveLength(1);
    expect(violationsOf({ records })).toEqual([]);
    expect(misfits).toEqual([]);
  });
});

describe('a pause', () => {
  it('said before the turn is open lets one step be taken', async () => {
    const { model, agent } = scriptedAgent([reply().call('nothing', {})]);
    const { runtime } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    run.pause();
    expect(await run.result).toMatchObject({ ...PAUSED, steps: 1 });
    model.assertPlayedOut();
  });

  it('does not hold up a turn that ends with its step', async () => {
    const gate = createGate();
    const { agent } = scriptedAgent([reply().text('So').wait(gate).text(' far.')]);
    const { runtime, ledger } = watchedRuntime();
    const run = runtime.run(agent, 'Go.');
    await gate.reached;
    run.pause();
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed', stopReason: 'end-turn', text: 'So far.' });
    expect(ofType(await ledger.read(run.sessionId), 'turn.paused')).toEqual([]);
  });

  it('does not keep a turn from its step limit', async () => {
    const { run, gate } = await standing({ limits: { steps: 1 } });
    run.pause();
    gate.open();
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'step-limit' } });
  });

  it('gives way to a stop after the step, and to a cancellation', async () => {
    const stopped = await standing();
    stopped.run.pause();
    stopped.run.stopAfterStep();
    stopped.gate.open();
    expect(await stopped.run.result).toMatchObject({ status: 'completed', stopReason: 'after-step-stop' });
    const gate = createGate();
    const { agent } = scriptedAgent([reply().wait(gate).call('nothing', {})]);
    const cancelled = watchedRuntime().runtime.run(agent, 'Go.');
    await gate.reached;
    cancelled.pause();
    cancelled.cancel('enough');
    expect(await cancelled.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
  });

  it('keeps a text that waits, which the next request carries', async () => {
    const { run, gate, runtime, agent, session, model } = await standing();
    const steered = run.steer('And be quick.');
    await eventSeen(run, 'steering.accepted');
    run.pause();
    gate.open();
    expect(await run.result).toMatchObject(PAUSED);
    expect(await steered).toMatchObject({ delivered: false, reason: expect.stringContaining('queued') });
    expect(await runtime.recover(session)).toMatchObject([{ paused: true, steering: 1 }]);
    await runtime.resume(agent, session).result;
    expect(model.requests[1]?.lastText).toContain('And be quick.');
  });

  it('does not wait for a person, who decides while the turn is paused', async () => {
    const { runtime, run, agent, spy, finish } = await startApprovalRun('memory', [
      reply().call('del', { id: 'a' }),
      reply().text('Done.'),
    ]);
    const id = await requestOf(run);
    run.pause();
    expect(await run.result).toMatchObject({ status: 'paused', reason: 'approval', approvals: [{ id }] });
    await runtime.approvals.decide(id, { decision: 'approve' });
    expect(spy.entries).toEqual([]);
    const { result } = await finish(runtime.resume(agent, run.sessionId));
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(spy.entries).toHaveLength(1);
  });

  it('reaches who took over where the turn ends with a handoff', async () => {
    const second = scriptedAgent([reply().call('nothing', {}), reply().text('Done.')], { name: 'second' });
    const gate = createGate();
    const alone = scriptedAgent([reply().wait(gate).call('transfer_to_second', { message: 'Yours.' })], {
      name: 'first',
    });
    const first = defineAgent({ ...alone.agent.definition, handoffs: [second.agent] });
    const { runtime, misfits } = watchedRuntime();
    const run = runtime.run(first, 'Go.');
    await gate.reached;
    run.pause();
    gate.open();
    expect(await run.result).toMatchObject({ ...PAUSED, steps: 2 });
    expect(await runtime.resume(first, run.sessionId).result).toMatchObject({ text: 'Done.' });
    expect(misfits).toEqual([]);
  });
});

describe('sessions.pause', () => {
  it('pauses a turn of this process, and says when there is none', async () => {
    const { run, gate, runtime, session } = await standing();
    await runtime.sessions.pause(session);
    gate.open();
    expect(await run.result).toMatchObject(PAUSED);
    await expect(runtime.sessions.pause(session)).rejects.toMatchObject({ code: 'turn-not-open' });
    await expect(runtime.sessions.pause('s-none')).rejects.toMatchObject({ code: 'unknown-session' });
  });

  it('pauses a turn that another runtime on the ledger is at work on', async () => {
    const { run, gate, ledger, session } = await standing();
    const other = watchedRuntime({ ledger });
    await other.runtime.sessions.pause(session);
    gate.open();
    expect(await run.result).toMatchObject(PAUSED);
  });

  it('of a root takes effect when the child it asked is done; the child alone is not paused', async () => {
    const gate = createGate();
    const worker = scriptedAgent([reply().wait(gate).text('Worked.')], { name: 'worker' });
    const lead = scriptedAgent([reply().call('ask_worker', { task: 'Work.' }), reply().text('Done.')], {
      name: 'lead',
      agents: [worker.agent],
    });
    const { runtime, ledger, misfits } = watchedRuntime();
    const run = runtime.run(lead.agent, 'Go.');
    await gate.reached;
    const child = (await ledger.sessions()).find(({ agent }) => agent === 'worker')?.sessionId ?? '';
    await expect(runtime.sessions.pause(child)).rejects.toMatchObject({ code: 'not-pausable' });
    await runtime.sessions.pause(run.sessionId);
    gate.open();
    expect(await run.result).toMatchObject(PAUSED);
    expect(ofType(await ledger.read(run.sessionId), 'child.finished')).toHaveLength(1);
    expect(await runtime.resume(lead.agent, run.sessionId).result).toMatchObject({ text: 'Done.' });
    expect(misfits).toEqual([]);
  });

  it('refuses a graph, which goes on', async () => {
    const gate = createGate();
    const { agent } = scriptedAgent([reply().wait(gate).text('Done.')], { name: 'worker' });
    const graph = defineGraph({ name: 'flow' })
      .node('work', agent, { from: 'input' })
      .build({ output: 'work' });
    const { runtime } = watchedRuntime();
    const run = runtime.run(graph, 'Go.');
    await gate.reached;
    await expect(runtime.sessions.pause(run.sessionId)).rejects.toMatchObject({ code: 'not-pausable' });
    gate.open();
    expect((await run.result).status).toBe('completed');
  });
});
