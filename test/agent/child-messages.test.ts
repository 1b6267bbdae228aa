import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { playSwarm } from '../support/swarm-run.ts';
import { createToolSpy } from '../support/tool-spy.ts';

/** A child that is held in a tool, and its session. */
async function heldChild(limits?: { readonly steeringQueue: number }) {
  const gate = createGate();
  const child = scriptedAgent([reply().call('wait', { id: 'a' }), reply().text('Seen.')], {
    name: 'child',
    tools: [createToolSpy().tool('wait', () => gate.pass())],
  });
  const lead = scriptedAgent([reply().call('ask_child', { task: 'x' }), reply().text('Done.')], {
    name: 'lead',
    agents: [child.agent],
  });
  const play = await playSwarm('memory', limits === undefined ? {} : { limits });
  const run = play.runtime.run(lead.agent, 'Go.');
  await gate.reached;
  const session = (await play.ledger.sessions(run.sessionId)).find(({ agent }) => agent === 'child');
  return { play, run, gate, child, lead, sessionId: session?.sessionId ?? '' };
}

describe('messages to a child', () => {
  it('stand in its next request with their sender, and in nobody else’s', async () => {
    const { play, run, gate, child, lead, sessionId } = await heldChild();
    await play.runtime.sessions.send(sessionId, { from: 'watcher', text: 'Mind the gap.' });
    gate.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(child.model.requests[1]?.lastText).toBe('Message from watcher:\nMind the gap.');
    expect(JSON.stringify(lead.model.requests[1]?.messages)).not.toContain('gap');
    expect((await play.recordsOf('message.received')).map(({ agent, data }) => [agent, data.from])).toEqual([
      ['child', 'watcher'],
    ]);
    expect((await play.recordsOf('steering.accepted')).map(({ data }) => data.actor)).toEqual(['watcher']);
  });

  it('are refused by code where as many wait as may, and where no turn is at work', async () => {
    const { play, run, gate, sessionId } = await heldChild({ steeringQueue: 1 });
    const { sessions } = play.runtime;
    await sessions.send(sessionId, { from: 'a', text: 'one' });
    await expect(sessions.send(sessionId, { from: 'a', text: 'two' })).rejects.toMatchObject({
      code: 'mailbox-full',
    });
    gate.open();
    await run.result;
    expect((await play.recordsOf('message.refused')).map(({ data }) => data)).toEqual([
      { from: 'a', reason: 'mailbox-full' },
    ]);
    await expect(sessions.send(sessionId, { from: 'a', text: 'late' })).rejects.toMatchObject({
      code: 'turn-not-open',
    });
    await expect(sessions.send('nobody', { from: 'a', text: 'x' })).rejects.toMatchObject({
      code: 'unknown-session',
    });
    await expect(sessions.send(sessionId, { from: 'a b', text: 'x' })).rejects.toMatchObject({
      code: 'invalid-input',
    });
  });
});
