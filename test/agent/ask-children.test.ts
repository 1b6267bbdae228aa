import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { createGate } from '../../src/testing/gate.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { LEDGER_KINDS } from '../support/ledgers.ts';
import { lastResults } from '../support/requests.ts';
import { eventsOf } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { playSwarm } from '../support/swarm-run.ts';
import { createToolSpy } from '../support/tool-spy.ts';

const badKey = (message: string) => ({ kind: 'auth', message, retryable: false, phase: 'connect' }) as const;

describe.each(LEDGER_KINDS)('agents that ask children (%s)', (kind) => {
  it('GS-02 gives the answer of a child as the result of the call that asked', async () => {
    const { agent: scout, model: scoutModel } = scriptedAgent([reply().text('Two files.').usage(7, 2)], {
      name: 'scout',
      description: 'Looks at folders.',
    });
    const { agent: lead, model } = scriptedAgent(
      [reply().call('ask_scout', { task: 'Look at src.' }).usage(10, 3), reply().text('Done.').usage(20, 4)],
      { name: 'lead', agents: [scout] },
    );
    const { runtime, records } = await playSwarm(kind);
    const run = runtime.run(lead, 'Go.');
    const result = await run.result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', steps: 2, toolCalls: 1 });
    expect(lastResults(model, 1)).toEqual(['Two files.']);
    expect(scoutModel.requests[0]?.messages.filter(({ role }) => role === 'user')).toMatchObject([
      { text: 'Look at src.' },
    ]);
    expect(result.usage).toMatchObject({
      total: { inputTokens: 37, outputTokens: 9 },
      byAgent: { lead: { inputTokens: 30 }, scout: { inputTokens: 7 } },
    });
    const all = await records();
    const child = all.find(({ session }) => session !== run.sessionId);
    expect(child).toMatchObject({ parent: run.sessionId, root: run.sessionId, agent: 'scout' });
    expect(all.filter(({ type }) => type.startsWith('child.')).map(({ type, call }) => [type, call])).toEqual(
      [
        ['child.intended', `${run.sessionId}.1.1.0`],
        ['child.started', `${run.sessionId}.1.1.0`],
        ['child.finished', `${run.sessionId}.1.1.0`],
      ],
    );
  });

  it('T15 runs several children of one step at the same time, each in its own session', async () => {
    const gates = [createGate(), createGate()] as const;
    const children = gates.map(
      (gate, at) => scriptedAgent([reply().wait(gate).text(`Answer ${at}.`)], { name: `child${at}` }).agent,
    );
    const { agent: lead, model } = scriptedAgent(
      [reply().call('ask_child0', { task: 'a' }).call('ask_child1', { task: 'b' }), reply().text('Both.')],
      { name: 'lead', agents: children },
    );
    const { runtime, ledger } = await playSwarm(kind);
    const run = runtime.run(lead, 'Go.');
    await Promise.all(gates.map((gate) => gate.reached));
    for (const gate of gates.toReversed()) gate.open();
    expect(await run.result).toMatchObject({ status: 'completed' });
    expect(lastResults(model, 1)).toEqual(['Answer 0.', 'Answer 1.']);
    const sessions = await ledger.sessions(run.sessionId);
    expect(sessions.map(({ agent, parentId }) => [agent, parentId])).toEqual([
      ['lead', undefined],
      ['child0', run.sessionId],
      ['child1', run.sessionId],
    ]);
  });
});

describe('what an agent sees of its children', () => {
  it('GS-01 has every way to another agent in each request, without search and never active', async () => {
    const spy = createToolSpy();
    const scout = scriptedAgent([], { name: 'scout' }).agent;
    const { agent: lead, model } = scriptedAgent([reply().call('look', { id: 'a' }), reply().text('Done.')], {
      name: 'lead',
      tools: [spy.tool('look'), spy.tool('zap')],
      agents: [scout],
    });
    const boss = defineAgent({ ...lead.definition, handoffs: [scout] });
    const { runtime, recordsOf } = await playSwarm();
    await runtime.run(boss, 'Go.').result;
    const names = model.requests.map((one) => (one.request.tools ?? []).map((tool) => tool.name));
    expect(names).toEqual([
      ['look', 'zap', 'ask_scout', 'transfer_to_scout'],
      ['look', 'zap', 'ask_scout', 'transfer_to_scout'],
    ]);
    for (const { data } of await recordsOf('step.opened')) expect(data.active).toEqual([]);
  });

  it('GS-01 leaves out what the ceiling of the run leaves out', async () => {
    const scout = scriptedAgent([], { name: 'scout' }).agent;
    const guide = scriptedAgent([], { name: 'guide' }).agent;
    const { agent: lead, model } = scriptedAgent(
      [reply().call('ask_guide', { task: 'x' }), reply().text('Done.')],
      { name: 'lead', agents: [scout, guide] },
    );
    const { runtime } = await playSwarm();
    await runtime.run(lead, 'Go.', { boundTools: ['ask_scout'] }).result;
    expect(model.requests[0]?.request.tools?.map((tool) => tool.name)).toEqual(['ask_scout']);
    expect(lastResults(model, 1)[0]).toContain('ask_guide');
  });

  it('gives each way one required string and the description of the agent', async () => {
    const scout = scriptedAgent([], { name: 'scout', description: 'Looks at folders.' }).agent;
    const { agent, model } = scriptedAgent([reply().text('Done.')], { name: 'lead', agents: [scout] });
    const lead = defineAgent({ ...agent.definition, handoffs: [scout] });
    const { runtime } = await playSwarm();
    await runtime.run(lead, 'Go.').result;
    for (const tool of model.requests[0]?.request.tools ?? []) {
      const { properties, required } = tool.inputSchema as {
        properties: Record<string, { type: string }>;
        required: readonly string[];
      };
      expect(Object.keys(properties)).toEqual(required);
      expect(Object.values(properties)).toMatchObject([{ type: 'string' }]);
      expect(tool.description).toContain('Looks at folders.');
    }
  });

  it('GS-20 shows an answer of 4,000 characters at most, and a JSON output as JSON', async () => {
    const wordy = scriptedAgent([reply().text('x'.repeat(9_000))], { name: 'wordy' }).agent;
    const typed = defineAgent({
      name: 'typed',
      instructions: 'Count.',
      model: scriptedModel({ script: [reply().call('submit_output', { count: 2 })] }),
      output: z.object({ count: z.number() }),
    });
    const { agent: lead, model } = scriptedAgent(
      [reply().call('ask_wordy', { task: 'a' }).call('ask_typed', { task: 'b' }), reply().text('Done.')],
      { name: 'lead', agents: [wordy, typed] },
    );
    const { runtime } = await playSwarm();
    await runtime.run(lead, 'Go.').result;
    const [long = '', json = ''] = lastResults(model, 1);
    expect(long.length).toBeLessThanOrEqual(4_000);
    expect(long).toContain('cut here');
    expect(JSON.parse(json)).toEqual({ count: 2 });
  });
});

describe('what a child says', () => {
  it('reaches its parent without what a reader would not see, also where it failed', async () => {
    const sly = scriptedAgent([reply().text('Fine.\u202E\u200B')], { name: 'sly' }).agent;
    const typed = defineAgent({
      name: 'typed',
      instructions: 'Say.',
      model: scriptedModel({ script: [reply().call('submit_output', { word: 'a\u202Eb' })] }),
      output: z.object({ word: z.string() }),
    });
    const broken = scriptedAgent([{ type: 'failure', failure: badKey('no\u200B key') }], {
      name: 'broken',
    }).agent;
    const { agent: lead, model } = scriptedAgent(
      [
        reply()
          .call('ask_sly', { task: 'a' })
          .call('ask_typed', { task: 'b' })
          .call('ask_broken', { task: 'c' }),
        reply().text('Done.'),
      ],
      { name: 'lead', agents: [sly, typed, broken] },
    );
    const { runtime } = await playSwarm();
    await runtime.run(lead, 'Go.').result;
    const [text, json, failure] = lastResults(model, 1);
    expect([text, json]).toEqual(['Fine.', '{"word":"ab"}']);
    expect(failure).toContain('no key');
  });
});

describe('events of children', () => {
  it('T21 name the agent they are of, with its path, in the tree of the run', async () => {
    const leaf = scriptedAgent([reply().text('Leaf.')], { name: 'leaf' }).agent;
    const mid = scriptedAgent([reply().call('ask_leaf', { task: 'c' }), reply().text('Mid.')], {
      name: 'mid',
      agents: [leaf],
    }).agent;
    const { agent: root } = scriptedAgent([reply().call('ask_mid', { task: 'b' }), reply().text('Root.')], {
      name: 'root',
      agents: [mid],
    });
    const { runtime } = await playSwarm();
    const run = runtime.run(root, 'Go.');
    await run.result;
    const events = await eventsOf(run, { tree: true });
    const opened = events.filter(({ type }) => type === 'session.opened');
    expect(
      opened.map(({ agentPath, parent, data }) => [agentPath, parent === undefined, data]),
    ).toMatchObject([
      [['root'], true, { depth: 0 }],
      [['root', 'mid'], false, { depth: 1 }],
      [['root', 'mid', 'leaf'], false, { depth: 2 }],
    ]);
    for (const event of events) expect(event.agentPath.at(-1)).toBe(event.agent);
    expect(events.filter(({ type }) => type === 'turn.closed').map(({ agent }) => agent)).toEqual([
      'leaf',
      'mid',
      'root',
    ]);
    const own = await eventsOf(run);
    expect(new Set(own.map(({ agent }) => agent))).toEqual(new Set(['root']));
  });
});
