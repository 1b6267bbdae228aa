import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { presetPage } from '../../src/graph/operator-presets.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { portOf } from '../support/edited-ledger.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { adds, factsOf, factsSeen, item, resultsIn, runtimeOf, team, yields } from './team.ts';

const model = scriptedModel({ script: [] });

describe('the list of agents', () => {
  const agents = Array.from({ length: 20 }, (_, at) =>
    defineAgent({ name: `a${at}`, description: `Does ${at}.`, instructions: '', model }),
  );

  it('comes in pages of eight, each naming the next', () => {
    const first = presetPage(agents, 'selection', undefined);
    expect(first).toMatchObject({
      presets: Array.from({ length: 8 }, (_, at) => ({ subagent_id: `a${at}`, description: `Does ${at}.` })),
      page: { returned: 8, total: 20, next_cursor: '8' },
    });
    const last = presetPage(agents, 'catalog', '16');
    expect(last).toMatchObject({
      page: { returned: 4, total: 20 },
      presets: [{ model: 'scripted' }, {}, {}, {}],
    });
    expect(last['page']).not.toHaveProperty('next_cursor');
    expect(presetPage(agents, 'selection', '99')).toMatchObject({ presets: [], page: { returned: 0 } });
  });

  it('has pages of at most 7,000 characters, and shows at least one agent', () => {
    const long = agents.map(({ definition }) =>
      defineAgent({ ...definition, description: 'x'.repeat(1_000) }),
    );
    const page = presetPage(long, 'selection', undefined);
    expect(JSON.stringify(page['presets']).length).toBeLessThanOrEqual(7_100);
    expect(page).toMatchObject({ page: { returned: 6 } });
  });
});

const spawning = [
  reply().call('tool_search', { query: 'agent_spawn' }),
  reply().call('agent_spawn', { subagent_id: 'worker', task: 'Quick one.' }),
];

describe('an agent outside of the graph', () => {
  it('GS-20 is found by search, asked at once, and answers within bounds', async () => {
    const { swarm, lead, worker } = team({
      lead: [...spawning, reply().text('Done.')],
      worker: () => reply().text('y'.repeat(10_000)),
    });
    const { runtime, ledger, misfits } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(lead.requests[0]?.toolNames).not.toContain('agent_spawn');
    expect(lead.requests[1]?.toolNames).toContain('agent_spawn');
    expect(worker.requests[0]?.lastText).toBe('Quick one.');
    expect(String(resultsIn(lead, 2)[0]).length).toBeLessThanOrEqual(4_000);
    expect(await factsOf(ledger, 'child.finished')).toMatchObject([{ data: { agent: 'worker' } }]);
    expect(await factsOf(ledger, 'graph.updated')).toEqual([]);
    expect(misfits).toEqual([]);
  });

  it('T18 that fails is a result with its code and path, and one that is unknown names those there are', async () => {
    const { swarm, lead } = team({
      lead: [
        ...spawning,
        reply().call('agent_spawn', { subagent_id: 'nobody', task: 'x' }),
        reply().text('Done.'),
      ],
      worker: () => failure({ kind: 'invalid-request', message: 'no' }),
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    expect(resultsIn(lead, 2)[0]).toMatch(/invalid-request at lead > worker/);
    expect(resultsIn(lead, 3)[0]).toMatch(
      /no agent nobody; subagent_id is one of: worker\. \[unknown-agent\]/,
    );
  });
});

describe('a run that is taken up', () => {
  it('GS-20 goes on with the agent it asked outside of the graph', async () => {
    const ledger = memoryLedger();
    const lent = () => ({ ...portOf(ledger), close: async () => undefined });
    const gate = createGate();
    const { swarm, lead } = team({
      lead: ({ messages }) => {
        const said = messages.filter(({ role }) => role === 'assistant').length;
        return [...spawning, reply().text('Done.')][said] ?? reply().text('Too often.');
      },
      worker: () => reply().wait(gate).text('Quick answer.'),
    });
    const before = runtimeOf(swarm, { ledger: lent() });
    const run = before.runtime.run(swarm, 'Go.');
    await gate.reached;
    await before.runtime.close();
    gate.open();
    const { runtime } = runtimeOf(swarm, { ledger: lent() });
    expect(await runtime.resume(swarm, run.sessionId).result).toMatchObject({ text: 'Done.' });
    expect(resultsIn(lead, lead.requests.length - 1)).toContain('Quick answer.');
    expect(await factsOf(ledger, 'child.lost')).toEqual([]);
    expect(await factsOf(ledger, 'child.finished')).toMatchObject([{ data: { status: 'completed' } }]);
  });

  it('counts what it used before once, in all of its sessions', async () => {
    const ledger = memoryLedger();
    const lent = () => ({ ...portOf(ledger), close: async () => undefined });
    const gate = createGate();
    const first = team({
      lead: [adds(item('A'), item('slow')).usage(100, 10), yields().usage(100, 10)],
      worker: (task) =>
        task === 'slow' ? reply().wait(gate).text('slow').usage(7, 3) : reply().text(task).usage(7, 3),
    });
    const before = runtimeOf(first.swarm, { ledger: lent() });
    const run = before.runtime.run(first.swarm, 'Go.', { budget: { agents: 3 } });
    await factsSeen(ledger, 'node.finished');
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    await before.runtime.close();

    const second = team({
      lead: [reply().text('Done.').usage(100, 10)],
      worker: (task) => reply().text(task).usage(7, 3),
    });
    const { runtime } = runtimeOf(second.swarm, { ledger: lent() });
    const result = await runtime.resume(second.swarm, run.sessionId).result;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', steps: 3, toolCalls: 2 });
    expect(result.usage.byAgent).toMatchObject({ lead: { inputTokens: 300 } });
    expect(result.usage.reported).toMatchObject({ inputTokens: 314, outputTokens: 36 });
  });
});

describe('a supervisor with an output', () => {
  it('yields in between, and yields its output at the end', async () => {
    const { swarm } = team({
      lead: [adds(item('A')), yields(), reply().call('submit_output', { good: true })],
      leadMore: { output: z.object({ good: z.boolean() }) as never },
    });
    const { runtime, misfits } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({
      status: 'completed',
      output: { good: true },
    });
    expect(misfits).toEqual([]);
  });
});

describe('an operator that is taken up', () => {
  it('GS-05 GS-06 does not go on where its tools were narrowed meanwhile', async () => {
    const ledger = memoryLedger();
    const lent = () => ({ ...portOf(ledger), close: async () => undefined });
    const spy = createToolSpy();
    const lead = (request: { readonly lastText: string; readonly messages: readonly unknown[] }) => {
      if (request.messages.length === 1) return adds(item('A'));
      return request.lastText.includes('"failed":1') ? reply().text('It failed.') : yields();
    };
    const first = team({ lead, worker: () => reply().stall(), workerMore: { tools: [spy.tool('look')] } });
    const before = runtimeOf(first.swarm, { ledger: lent() });
    const run = before.runtime.run(first.swarm, 'Go.');
    await first.worker.arrived(0);
    await factsSeen(ledger, 'turn.closed', 1, 'team');
    await before.runtime.close();
    const second = team({ lead });
    const { runtime } = runtimeOf(second.swarm, { ledger: lent() });
    expect(await runtime.resume(second.swarm, run.sessionId).result).toMatchObject({ text: 'It failed.' });
    expect(await factsOf(ledger, 'node.finished')).toMatchObject([
      { data: { error: { kind: 'ceiling-changed' } } },
    ]);
    expect(second.worker.requests).toEqual([]);
  });
});
