import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { reply } from '../../src/testing/reply.ts';
import { lastResults } from '../support/requests.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { playSwarm, swarmOn } from '../support/swarm-run.ts';
import { createToolSpy } from '../support/tool-spy.ts';

const approve = { decision: 'approve' } as const;

describe('a child that hands over', () => {
  it('answers with what the last agent says, and its parent is told where that is', async () => {
    const expert = scriptedAgent([reply().text('42.').usage(6, 1)], { name: 'expert' });
    const { agent, model } = scriptedAgent(
      [reply().call('transfer_to_expert', { message: 'hard' }).usage(5, 1)],
      { name: 'child' },
    );
    const child = defineAgent({ ...agent.definition, handoffs: [expert.agent] });
    const lead = scriptedAgent([reply().call('ask_child', { task: 'x' }), reply().text('Done.')], {
      name: 'lead',
      agents: [child],
    });
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.', steps: 2 });
    expect(lastResults(lead.model, 1)).toEqual(['42.']);
    expect(model.requests).toHaveLength(1);
    const sessions = await play.ledger.sessions(run.sessionId);
    const [finished] = await play.recordsOf('child.finished');
    expect(finished?.data).toMatchObject({
      child: sessions[1]?.sessionId,
      last: sessions[2]?.sessionId,
      steps: 2,
      toolCalls: 1,
      usage: { inputTokens: 11 },
    });
    expect((await play.recordsOf('session.opened')).map(({ data }) => [data.agentPath, data.depth])).toEqual([
      [['lead'], 0],
      [['lead', 'child'], 1],
      [['lead', 'child', 'expert'], 1],
    ]);
  });

  it('is followed by a resume of the root to where it waits for a person', async () => {
    const spy = createToolSpy();
    const expert = scriptedAgent([reply().call('del', { id: 'a' }), reply().text('Gone.')], {
      name: 'expert',
      tools: [spy.tool('del', undefined, { needsApproval: true })],
    });
    const { agent } = scriptedAgent([reply().call('transfer_to_expert', { message: 'hard' })], {
      name: 'child',
    });
    const child = defineAgent({ ...agent.definition, handoffs: [expert.agent] });
    const lead = scriptedAgent([reply().call('ask_child', { task: 'x' }), reply().text('Done.')], {
      name: 'lead',
      agents: [child],
    });
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.', { onApproval: 'pause' });
    expect(await run.result).toMatchObject({
      status: 'paused',
      approvals: [{ agentPath: ['lead', 'child', 'expert'] }],
    });
    const second = swarmOn(play.ledger);
    const [open] = await second.runtime.approvals.pending({ sessionId: run.sessionId });
    await second.runtime.approvals.decide(open?.id ?? '', approve);
    expect(await second.runtime.resume(lead.agent, run.sessionId).result).toMatchObject({
      status: 'completed',
      text: 'Done.',
    });
    expect(lastResults(lead.model, 1)).toEqual(['Gone.']);
    expect(spy.entries).toHaveLength(1);
  });
});

describe('limits of a run that is taken up', () => {
  it('T16 go on where the facts of all its sessions say', async () => {
    const spy = createToolSpy();
    const first = scriptedAgent([reply().call('del', { id: 'a' }), reply().text('First.')], {
      name: 'first',
      tools: [spy.tool('del', undefined, { needsApproval: true })],
    });
    const second = scriptedAgent([reply().text('Second.')], { name: 'second' });
    const lead = scriptedAgent(
      [
        reply().call('ask_first', { task: 'x' }),
        reply().call('ask_second', { task: 'x' }),
        reply().text('Done.'),
      ],
      { name: 'lead', agents: [first.agent, second.agent], limits: { agents: 2 } },
    );
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.', { onApproval: 'pause', budget: { steps: 5 } });
    await run.result;
    const later = swarmOn(play.ledger);
    const [open] = await later.runtime.approvals.pending();
    await later.runtime.approvals.decide(open?.id ?? '', approve);
    const result = await later.runtime.resume(lead.agent, run.sessionId).result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(lastResults(lead.model, 2)[0]).toContain('agent-limit');
    expect(second.model.requests).toHaveLength(0);
  });

  it('budgets too: steps of children that an earlier process took', async () => {
    const spy = createToolSpy();
    const child = scriptedAgent([reply().call('del', { id: 'a' }), reply().text('Never.')], {
      name: 'child',
      tools: [spy.tool('del', undefined, { needsApproval: true })],
    });
    const lead = scriptedAgent([reply().call('ask_child', { task: 'x' }), reply().text('Never.')], {
      name: 'lead',
      agents: [child.agent],
    });
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.', { onApproval: 'pause', budget: { steps: 2 } });
    await run.result;
    const later = swarmOn(play.ledger);
    const [open] = await later.runtime.approvals.pending();
    await later.runtime.approvals.decide(open?.id ?? '', approve);
    expect(await later.runtime.resume(lead.agent, run.sessionId).result).toMatchObject({
      status: 'failed',
      error: { kind: 'step-limit' },
    });
    expect([child.model.requests.length, lead.model.requests.length]).toEqual([1, 1]);
  });
});
