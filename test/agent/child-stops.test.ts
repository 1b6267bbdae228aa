import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { lastResults } from '../support/requests.ts';
import { scriptedAgent, servedAgent } from '../support/scripted-agents.ts';
import { playSwarm, type SwarmPlay } from '../support/swarm-run.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** Statuses of the turns that were closed, by agent. */
async function closedBy({ recordsOf }: SwarmPlay) {
  return (await recordsOf('turn.closed')).map(({ agent, data }) => [agent, data.status]).sort();
}

describe('stopping a run with children', () => {
  it('T22 GS-17 closes the request of every descendant, once each, and asks nobody again', async () => {
    const leaf = await servedAgent([reply().text('Lea').stall()], { name: 'leaf' });
    const mid = scriptedAgent([reply().call('ask_leaf', { task: 'c' }), reply().text('Mid.')], {
      name: 'mid',
      agents: [leaf.agent],
    });
    const other = await servedAgent([reply().text('Oth').stall()], { name: 'other' });
    const root = scriptedAgent(
      [reply().call('ask_mid', { task: 'b' }).call('ask_other', { task: 'b' }), reply().text('Root.')],
      { name: 'root', agents: [mid.agent, other.agent] },
    );
    const play = await playSwarm();
    const run = play.runtime.run(root.agent, 'Go.');
    const requests = await Promise.all([leaf.server.arrived(0), other.server.arrived(0)]);
    run.cancel('enough');
    expect(await run.result).toMatchObject({ status: 'cancelled', reason: 'enough' });
    await Promise.all(requests.map(({ ended }) => ended));
    expect(requests.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(await closedBy(play)).toEqual([
      ['leaf', 'cancelled'],
      ['mid', 'cancelled'],
      ['other', 'cancelled'],
      ['root', 'cancelled'],
    ]);
    expect([mid.model.requests.length, root.model.requests.length]).toEqual([1, 1]);
    expect(await play.recordsOf('child.finished')).toHaveLength(3);
  });

  it('settles the parent only when the tools of its children have settled', async () => {
    const gate = createGate();
    const left = createGate();
    const child = scriptedAgent([reply().call('slow', { id: 'a' })], {
      name: 'child',
      tools: [
        createToolSpy().tool('slow', async (_, { signal }) => {
          await gate.pass(signal);
          await left.pass();
          return 'late';
        }),
      ],
    });
    const lead = scriptedAgent([reply().call('ask_child', { task: 'x' })], {
      name: 'lead',
      agents: [child.agent],
    });
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.');
    await gate.reached;
    run.cancel();
    await left.reached;
    expect(await closedBy(play)).toEqual([]);
    left.open();
    await run.result;
    expect(await closedBy(play)).toEqual([
      ['child', 'cancelled'],
      ['lead', 'cancelled'],
    ]);
    const settled = (await play.recordsOf('tool.settled')).map(({ data }) => [data.toolName, data.status]);
    expect(settled).toEqual([
      ['ask_child', 'error'],
      ['slow', 'success'],
    ]);
  });

  it('GS-17 stops one child alone where only it is stopped', async () => {
    const gate = createGate();
    const child = scriptedAgent([reply().wait(gate).text('Never.')], { name: 'child' });
    const lead = scriptedAgent([reply().call('ask_child', { task: 'x' }), reply().text('Done.')], {
      name: 'lead',
      agents: [child.agent],
    });
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.');
    await gate.reached;
    const [, session] = await play.ledger.sessions(run.sessionId);
    await play.runtime.sessions.cancel(session?.sessionId ?? '', 'not this one');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(lastResults(lead.model, 1)[0]).toMatch(
      /child was cancelled: not this one \[cancelled at lead > child/,
    );
    expect(await closedBy(play)).toEqual([
      ['child', 'cancelled'],
      ['lead', 'completed'],
    ]);
  });

  it('T18 tells the parent of a child that failed, with code, path and what it used', async () => {
    const child = scriptedAgent(
      [
        reply().call('look', { id: 'a' }).usage(30, 5),
        reply().text('Half').error({ kind: 'auth', retryable: false }),
      ],
      { name: 'child', tools: [createToolSpy().tool('look')] },
    );
    const lead = scriptedAgent([reply().call('ask_child', { task: 'x' }), reply().text('Done.')], {
      name: 'lead',
      agents: [child.agent],
    });
    const play = await playSwarm();
    const result = await play.runtime.run(lead.agent, 'Go.').result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(result.usage.reported).toMatchObject({ inputTokens: 30, outputTokens: 5 });
    expect(lastResults(lead.model, 1)[0]).toMatch(
      /^child failed: .*\[auth at lead > child, after 2 steps, 1 tool calls and 35 tokens\]$/,
    );
    const [finished] = await play.recordsOf('child.finished');
    expect(finished?.data).toMatchObject({
      status: 'failed',
      error: { kind: 'auth' },
      steps: 2,
      toolCalls: 1,
    });
    const asked = (await play.recordsOf('tool.settled')).find(({ data }) => data.toolName === 'ask_child');
    expect(asked?.data).toMatchObject({
      status: 'error',
      result: { code: 'auth', path: ['lead', 'child'], usage: { inputTokens: 30 } },
    });
  });

  it('a wall clock that runs out stops children with their root', async () => {
    const gate = createGate();
    const child = scriptedAgent([reply().wait(gate).text('Never.')], { name: 'child' });
    const lead = scriptedAgent([reply().call('ask_child', { task: 'x' })], {
      name: 'lead',
      agents: [child.agent],
    });
    const play = await playSwarm();
    const run = play.runtime.run(lead.agent, 'Go.', { budget: { wallMs: 20 } });
    expect(await run.result).toMatchObject({ status: 'failed', error: { kind: 'wall-clock-budget' } });
    expect(await closedBy(play)).toEqual([
      ['child', 'interrupted'],
      ['lead', 'failed'],
    ]);
  });
});
