import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { requiredNames } from '../../src/graph/orchestration-tools.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { PRESET_NAMES } from '../support/discovery-presets.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { adds, childrenOf, factsOf, item, resultsIn, runtimeOf, team, yields } from './team.ts';

const SWARM = ['agent_list', 'agent_output', 'agent_swarm_status', 'update_agent_graph', 'yield_agent_graph'];
const GRAPH = [...SWARM, 'view_agent_graph'];
const ALL = new Set([...GRAPH, 'agent_spawn']);

const orchestration = (names: readonly string[]) => names.filter((name) => ALL.has(name)).sort();

describe('required tools', () => {
  it.each([
    ['graph', GRAPH],
    ['swarm', SWARM],
  ] as const)(
    'GS-01 of a %s turn are in every request without a search, and are not active',
    async (mode, names) => {
      const { swarm, lead } = team({ mode, lead: [adds(item('A')), yields(), reply().text('Done.')] });
      const { runtime, ledger } = runtimeOf(swarm);
      expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
      expect(lead.requests).toHaveLength(3);
      for (const { toolNames } of lead.requests) expect(orchestration(toolNames)).toEqual([...names].sort());
      const steps = (await factsOf(ledger, 'step.opened')).filter(({ agent }) => agent === 'team');
      expect(steps.flatMap(({ data }) => data.active)).toEqual([]);
      expect([...requiredNames(mode)].sort()).toEqual([...names].sort());
    },
  );

  it('GS-01 stand after the direct tools, by name', async () => {
    const spy = createToolSpy();
    const leadMore = { tools: [spy.tool('zebra'), spy.tool('yak')] };
    const { swarm, lead } = team({ lead: [reply().text('Done.')], leadMore });
    const { runtime } = runtimeOf(swarm);
    await runtime.run(swarm, 'Go.').result;
    expect(lead.requests[0]?.toolNames).toEqual(['tool_search', 'yak', 'zebra', ...SWARM]);
  });

  it('GS-01 an agent alone has none', async () => {
    const model = scriptedModel({ script: [reply().text('Done.')] });
    const agent = defineAgent({ name: 'lead', instructions: 'Work.', model });
    const { swarm } = team({ lead: [] });
    const { runtime } = runtimeOf(swarm);
    await runtime.run(agent, 'Go.').result;
    expect(model.requests[0]?.toolNames).toEqual([]);
  });

  it('GS-01 are those the run may use at most', async () => {
    const { swarm, lead } = team({ mode: 'graph', lead: [reply().text('Done.')] });
    const { runtime } = runtimeOf(swarm);
    await runtime.run(swarm, 'Go.', { boundTools: ['agent_list', 'view_agent_graph'] }).result;
    expect(lead.requests[0]?.toolNames).toEqual(['agent_list', 'view_agent_graph']);
  });

  it('GS-02 are callable in the first step and settle like any tool', async () => {
    const { swarm, lead } = team({
      mode: 'graph',
      lead: [
        reply()
          .call('agent_list', {})
          .call('view_agent_graph', {})
          .call('agent_swarm_status', {})
          .call('update_agent_graph', { operation: 'add_work', add_work: [{ instruction: 5 }] }),
        reply().text('Done.'),
      ],
    });
    const asked: string[] = [];
    const { runtime, ledger } = runtimeOf(swarm, {
      permission: ({ toolName }) => {
        asked.push(toolName);
        return toolName === 'agent_swarm_status' ? 'deny' : 'allow';
      },
    });
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed' });
    const results = resultsIn(lead, 1);
    expect(results[0]).toMatchObject({ presets: [{ subagent_id: 'worker', status: 'available' }] });
    expect(results[1]).toMatchObject({ status: 'empty', open_works: [] });
    expect(results[2]).toContain('denied');
    expect(results[3]).toContain('add_work');
    expect(asked).toEqual(['agent_list', 'view_agent_graph', 'agent_swarm_status']);
    const settled = await factsOf(ledger, 'tool.settled');
    expect(settled.map(({ data }) => data.toolName).sort()).toEqual(['agent_list', 'view_agent_graph']);
    expect(await factsOf(ledger, 'tool.refused')).toHaveLength(2);
  });

  it('GS-04 no operator has them, and its session is not a root', async () => {
    const { swarm, worker } = team({
      mode: 'graph',
      lead: [adds(item('A')), yields(), reply().text('Done.')],
      worker: (_task, _request, index) =>
        index === 0
          ? reply().call('update_agent_graph', {
              operation: 'finish',
              finish: { result_ids: ['w'], reason: 'x' },
            })
          : reply().text('Not mine.'),
    });
    const { runtime } = runtimeOf(swarm);
    const run = runtime.run(swarm, 'Go.');
    expect(await run.result).toMatchObject({ status: 'completed' });
    for (const { toolNames } of worker.requests) expect(orchestration(toolNames)).toEqual([]);
    expect(worker.requests[1]?.lastText).toContain('update_agent_graph');
    const [child = ''] = await childrenOf(runtime, run.sessionId);
    expect(await runtime.run(swarm, 'Go.', { sessionId: child }).result).toMatchObject({
      status: 'failed',
      error: { kind: 'child-session' },
    });
  });

  it('have schemas without ids of graphs, sessions or revisions', async () => {
    const { swarm, lead } = team({ mode: 'graph', lead: [reply().text('Done.')] });
    const { runtime } = runtimeOf(swarm);
    await runtime.run(swarm, 'Go.').result;
    const tools = lead.requests[0]?.request.tools ?? [];
    const text = JSON.stringify(tools.filter(({ name }) => GRAPH.includes(name)));
    expect(text).not.toMatch(/graph_id|session|revision|idempotency|operation_id|epoch|run_id/i);
  });

  it('come with the role of their mode at the end of the instructions', async () => {
    const { swarm, lead } = team({ mode: 'graph', lead: [reply().text('Done.')] });
    const { runtime } = runtimeOf(swarm);
    await runtime.run(swarm, 'Go.').result;
    expect(lead.requests[0]?.system).toMatch(/^Work\.\n\nYou supervise other agents/);
    expect(lead.requests[0]?.system).toContain('Never poll');
  });
});

describe('presets of discovery', () => {
  it.each(PRESET_NAMES)('XC-03 GS-01 GS-02 %s hides no required tool', async (preset) => {
    const spy = createToolSpy();
    const leadMore = {
      discovery: { preset },
      tools: Array.from({ length: 6 }, (_, at) => spy.tool(`extra_${at}`, undefined, { defer: 'always' })),
    };
    const { swarm, lead } = team({
      mode: 'graph',
      lead: [adds(item('A')), yields(), reply().text('Done.')],
      leadMore,
    });
    const { runtime } = runtimeOf(swarm);
    expect(await runtime.run(swarm, 'Go.').result).toMatchObject({ status: 'completed', text: 'Done.' });
    for (const { toolNames } of lead.requests) {
      expect(orchestration(toolNames).filter((name) => name !== 'agent_spawn')).toEqual([...GRAPH].sort());
    }
    expect(spy.entries).toEqual([]);
  });
});
