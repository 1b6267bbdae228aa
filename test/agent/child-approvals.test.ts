import { describe, expect, it } from 'vitest';
import { type Agent, defineAgent } from '../../src/agent/define-agent.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { portOf } from '../support/edited-ledger.ts';
import { LEDGER_KINDS, openLedger } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { playSwarm, swarmOn } from '../support/swarm-run.ts';
import { createToolSpy, type ToolSpy } from '../support/tool-spy.ts';

const approve = { decision: 'approve' } as const;

/** lead > mid > leaf, whose tool `del` needs approval; beside mid a child that does not. */
function family(spy: ToolSpy) {
  const leaf = scriptedAgent(
    [reply().call('del', { id: 'a' }).usage(3, 1), reply().text('Gone.').usage(4, 1)],
    {
      name: 'leaf',
      tools: [spy.tool('del', undefined, { needsApproval: true })],
    },
  );
  const mid = scriptedAgent(
    [reply().call('ask_leaf', { task: 'c' }).usage(5, 1), reply().text('Mid.').usage(6, 1)],
    {
      name: 'mid',
      agents: [leaf.agent],
    },
  );
  const quick = scriptedAgent([reply().text('Quick.').usage(7, 1)], { name: 'quick' });
  const lead = scriptedAgent(
    [
      reply().call('ask_mid', { task: 'b' }).call('ask_quick', { task: 'b' }).usage(8, 1),
      reply().text('Lead.').usage(9, 1),
    ],
    { name: 'lead', agents: [mid.agent, quick.agent] },
  );
  return { lead, mid, leaf, quick };
}

/** The first open request, once there is one. */
async function firstPending(runtime: ReturnType<typeof swarmOn>['runtime'], sessionId: string) {
  for (;;) {
    const [open] = await runtime.approvals.pending({ sessionId });
    if (open !== undefined) return open;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe.each(LEDGER_KINDS)('approvals of descendants (%s)', (kind) => {
  it('appear in the queue of the root with their path, and are decided while all wait', async () => {
    const spy = createToolSpy();
    const { lead } = family(spy);
    const suspended: string[] = [];
    const waiting = createGate();
    const play = await playSwarm(kind, {
      hooks: {
        onToolSuspended: ({ meta }) => {
          suspended.push(`${String(meta['toolName'])} suspended`);
          if (meta['toolName'] === 'ask_mid') waiting.open();
        },
        onToolResumed: ({ meta }) => void suspended.push(`${String(meta['toolName'])} resumed`),
      },
    });
    const run = play.runtime.run(lead.agent, 'Go.');
    await waiting.pass();
    const open = await firstPending(play.runtime, run.sessionId);
    expect(open).toMatchObject({ toolName: 'del', agentPath: ['lead', 'mid', 'leaf'], input: { id: 'a' } });
    await play.runtime.approvals.decide(open.id, approve);
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Lead.' });
    expect(suspended).toEqual([
      'ask_leaf suspended',
      'ask_mid suspended',
      'ask_leaf resumed',
      'ask_mid resumed',
    ]);
    expect(spy.entries).toHaveLength(1);
  });

  it('pause every turn above them, and a resume of the root finds the same children', async () => {
    const spy = createToolSpy();
    const { lead, mid, leaf, quick } = family(spy);
    const play = await playSwarm(kind);
    const run = play.runtime.run(lead.agent, 'Go.', { onApproval: 'pause' });
    const paused = await run.result;
    expect(paused).toMatchObject({
      status: 'paused',
      reason: 'approval',
      approvals: [{ toolName: 'del', agentPath: ['lead', 'mid', 'leaf'] }],
      calls: [],
      usage: { byAgent: { leaf: { inputTokens: 3 }, mid: { inputTokens: 5 }, quick: { inputTokens: 7 } } },
    });
    expect(quick.model.requests).toHaveLength(1);
    const reports = await play.runtime.recover(run.sessionId);
    expect(
      reports.map(({ agent, paused: isPaused, indeterminate }) => [agent, isPaused, indeterminate]),
    ).toEqual([
      ['lead', true, []],
      ['mid', true, []],
      ['leaf', true, []],
    ]);
    const second = swarmOn(play.ledger);
    const open = await firstPending(second.runtime, run.sessionId);
    await second.runtime.approvals.decide(open.id, approve);
    const resumed = second.runtime.resume(lead.agent, run.sessionId);
    expect(await resumed.result).toMatchObject({
      status: 'completed',
      text: 'Lead.',
      steps: 2,
      usage: {
        total: { inputTokens: 42, outputTokens: 7 },
        byAgent: {
          leaf: { inputTokens: 7 },
          mid: { inputTokens: 11 },
          quick: { inputTokens: 7 },
          lead: { inputTokens: 17 },
        },
      },
    });
    expect(spy.entries).toHaveLength(1);
    expect([lead, mid, leaf, quick].map(({ model }) => model.requests.length)).toEqual([2, 2, 2, 1]);
    expect(await play.ledger.sessions(run.sessionId)).toHaveLength(4);
    expect(lastResults(lead.model, 1)).toEqual(['Mid.', 'Quick.']);
    expect((await second.recordsOf('child.intended')).map(({ data }) => data.agent).toSorted()).toEqual([
      'leaf',
      'mid',
      'quick',
    ]);
    const [finished] = (await second.recordsOf('child.finished')).filter(({ data }) => data.agent === 'mid');
    expect(finished?.data).toMatchObject({ usage: { inputTokens: 18 }, steps: 2, toolCalls: 1 });
  });

  it('a denial reaches the model that asked, and everybody above goes on', async () => {
    const spy = createToolSpy();
    const { lead, leaf } = family(spy);
    const play = await playSwarm(kind);
    const run = play.runtime.run(lead.agent, 'Go.');
    const open = await firstPending(play.runtime, run.sessionId);
    await play.runtime.approvals.decide(open.id, { decision: 'deny', reason: 'not today' });
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(spy.entries).toEqual([]);
    expect(lastResults(leaf.model, 1)[0]).toContain('not today');
  });

  it('a root that is cancelled when one child has paused and another is at work settles both', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const asks = scriptedAgent([reply().call('del', { id: 'a' })], {
      name: 'asks',
      tools: [spy.tool('del', undefined, { needsApproval: true })],
    });
    const held = scriptedAgent([reply().wait(gate).text('Never.')], { name: 'held' });
    const lead = scriptedAgent([reply().call('ask_asks', { task: 'x' }).call('ask_held', { task: 'x' })], {
      name: 'lead',
      agents: [asks.agent, held.agent],
    });
    const paused = createGate();
    const play = await playSwarm(kind, { hooks: { onTurnPaused: () => paused.open() } });
    const run = play.runtime.run(lead.agent, 'Go.', { onApproval: 'pause' });
    await Promise.all([paused.pass(), gate.reached]);
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    expect(await play.ledger.listOpen()).toEqual([]);
    expect(await play.runtime.approvals.pending()).toEqual([]);
    expect(
      (await play.recordsOf('turn.closed')).map(({ agent, data }) => [agent, data.status]).toSorted(),
    ).toEqual([
      ['asks', 'cancelled'],
      ['held', 'cancelled'],
      ['lead', 'cancelled'],
    ]);
    const own = (await play.ledger.read(run.sessionId)).filter(({ type }) => type === 'tool.settled');
    expect(own).toHaveLength(2);
    expect(spy.entries).toEqual([]);
  });

  it('a root that is cancelled while a descendant waits for a person settles all of them', async () => {
    const spy = createToolSpy();
    const { lead } = family(spy);
    const play = await playSwarm(kind);
    const run = play.runtime.run(lead.agent, 'Go.');
    await firstPending(play.runtime, run.sessionId);
    run.cancel();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(await play.runtime.approvals.pending()).toEqual([]);
    expect(await play.ledger.listOpen()).toEqual([]);
  });
});

describe('sessions of children', () => {
  it('are not run or resumed on their own, where nothing that holds for them would hold', async () => {
    const { lead, leaf } = family(createToolSpy());
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.', { onApproval: 'pause' });
    await run.result;
    const child = (await play.ledger.sessions()).find(({ agent }) => agent === 'leaf')?.sessionId ?? '';
    const agent: Agent = leaf.agent;
    expect(await play.runtime.resume(agent, child).result).toMatchObject({
      status: 'failed',
      error: { kind: 'child-session' },
    });
    expect(await play.runtime.run(agent, 'Go.', { sessionId: child }).result).toMatchObject({
      status: 'failed',
      error: { kind: 'child-session' },
    });
  });

  it('are given up where their agent is no child of the root any more', async () => {
    const { lead } = family(createToolSpy());
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.', { onApproval: 'pause' });
    await run.result;
    const childless = defineAgent({ ...lead.agent.definition, agents: [] });
    expect(await swarmOn(play.ledger).runtime.resume(childless, run.sessionId).result).toMatchObject({
      status: 'completed',
      text: 'Lead.',
    });
    expect(lastResults(lead.model, 1)).toEqual([expect.stringContaining('interrupted'), 'Quick.']);
    expect(await play.ledger.listOpen()).toEqual([]);
    expect((await play.recordsOf('child.lost')).map(({ data }) => [data.agent, data.reason])).toEqual([
      ['mid', 'agent-removed'],
    ]);
  });

  it('are given up with their root', async () => {
    const { lead } = family(createToolSpy());
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.', { onApproval: 'pause' });
    await run.result;
    await play.runtime.abandon(run.sessionId, 'enough');
    expect(await play.ledger.listOpen()).toEqual([]);
    expect((await play.recordsOf('turn.closed')).map(({ data }) => data.status).toSorted()).toEqual([
      'completed',
      'interrupted',
      'interrupted',
      'interrupted',
    ]);
  });

  it('are left open by a runtime that closes, and go on with their root', async () => {
    const gate = createGate();
    const spy = createToolSpy();
    const child = scriptedAgent(
      [reply().call('look', { id: 'a' }), reply().wait(gate).text('Seen.'), reply().text('Seen.')],
      {
        name: 'child',
        tools: [spy.tool('look')],
      },
    );
    const lead = scriptedAgent([reply().call('ask_child', { task: 'x' }), reply().text('Done.')], {
      name: 'lead',
      agents: [child.agent],
    });
    const ledger = await openLedger('memory');
    const first = createRuntime({ ledger: { ...portOf(ledger), close: async () => undefined } });
    const run = first.run(lead.agent, 'Go.');
    await child.model.arrived(1);
    await first.close();
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'runtime-closed' } });
    const second = swarmOn(ledger);
    expect((await second.runtime.recover()).map(({ agent }) => agent)).toEqual(['lead', 'child']);
    expect(await second.runtime.resume(lead.agent, run.sessionId).result).toMatchObject({
      status: 'completed',
      text: 'Done.',
    });
    expect(spy.entries).toHaveLength(1);
    expect(lastResults(lead.model, 1)).toEqual(['Seen.']);
  });
});
