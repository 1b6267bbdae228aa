import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/ledger/content.ts';
import { reply } from '../../src/testing/reply.ts';
import { startApprovalRun } from '../support/approval-run.ts';
import { type McpWorld, mcpWorld } from '../support/mcp-world.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { eventSeen, ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { toolsOf } from '../support/search-turns.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const done = reply().text('Done.');

describe('a server that changes its list', () => {
  it.each(['older', 'newer'] as const)(
    'CX-07 changes nothing within the step, and all of it at the next one, by the %s protocol',
    async (protocol) => {
      const world = mcpWorld(['announce', 'look', 'paint'], {}, protocol);
      const { model, records } = await playTurn(
        'memory',
        [
          reply()
            .wait(async () => world.offer('announce', 'look', 'wash'))
            .call('world__announce', {})
            .call('world__paint', {})
            .call('world__wash', {}),
          reply().call('world__wash', { nth: 2 }).call('world__paint', { nth: 2 }),
          done,
        ],
        { agent: { tools: [world.server] } },
      );
      expect(lastResults(model, 1)[1]).toBe('paint done');
      expect(ofType(records, 'tool.refused').map(({ data }) => [data.toolName, data.code])).toEqual([
        ['world__wash', 'unknown-tool'],
        ['world__paint', 'withdrawn'],
      ]);
      expect(lastResults(model, 2)[0]).toBe('wash done');
      expect(toolsOf(model).map((names) => names.join(' '))).toEqual([
        'world__announce world__look world__paint',
        'world__announce world__look world__wash',
        'world__announce world__look world__wash',
      ]);
    },
  );

  it('SD-07 has a tool that it withdrew found by no search', async () => {
    const tools = ['announce', ...Array.from({ length: 8 }, (_, at) => `tide_${at}`)];
    const world = mcpWorld(tools, { defer: 'always' });
    const search = (query: string) => reply().call('tool_search', { query });
    const { records } = await playTurn(
      'memory',
      [
        search('tide_3 announce'),
        reply()
          .wait(async () => world.offer('announce', 'tide_4'))
          .call('world__announce', {}),
        search('tide_3'),
        done,
      ],
      { agent: { tools: [world.server] } },
    );
    const activated = ofType(records, 'tools.activated').map(({ data }) => data.names);
    expect(activated[0]).toContain('world__tide_3');
    expect(activated.slice(1).flat()).not.toContain('world__tide_3');
    expect(ofType(records, 'step.opened')[2]?.data.visible).not.toContain('world__tide_3');
  });
});

const far: JsonObject = { type: 'object', properties: { far: { type: 'boolean' } } };

describe('a server that a run brings along', () => {
  it('offers its tools to that run, and is kept for the next that brings it', async () => {
    const world = mcpWorld(['look']);
    const look = reply().call('world__look', {});
    const { model, agent } = scriptedAgent([look, done, done, look, done]);
    const { runtime } = watchedRuntime();
    await runtime.run(agent, 'Go.', { clientTools: [world.server] }).result;
    await runtime.run(agent, 'Go.').result;
    await runtime.run(agent, 'Go.', { clientTools: [world.server] }).result;
    expect(toolsOf(model)).toEqual([['world__look'], ['world__look'], [], ['world__look'], ['world__look']]);
    expect(world.pids()).toHaveLength(1);
  });
});

describe('a call that a person edits', () => {
  it('is made as it was edited', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const world = mcpWorld([{ name: 'paint', inputSchema: schema }], { needsApproval: true });
    const { run, runtime, finish } = await startApprovalRun(
      'memory',
      [reply().call('world__paint', { n: 1 }), done],
      { tools: () => [], agent: { tools: [world.server] } },
    );
    const { data } = await eventSeen(run, 'approval.requested');
    const decide = (editedInput: JsonObject) =>
      runtime.approvals.decide(data.request, { decision: 'approve', editedInput });
    await expect(decide({ n: 'red' })).rejects.toMatchObject({ code: 'approval-edit-invalid' });
    await decide({ n: 2 });
    const { result } = await finish();
    expect(result.status).toBe('completed');
    expect(world.log()).toContain('call paint {"n":2}');
  });
});

describe('a decision that holds for the session', () => {
  /** The run goes on with the answers of a person who allows everything for the session. */
  async function playAllowing(change: (world: McpWorld) => void) {
    const world = mcpWorld(['announce', { name: 'paint', description: 'Paints.' }], {
      needsApproval: (tool) => tool === 'paint',
    });
    const paint = reply().call('world__paint', {});
    const { run, runtime, finish } = await startApprovalRun(
      'memory',
      [
        paint,
        paint,
        reply()
          .wait(async () => change(world))
          .call('world__announce', {}),
        paint,
        done,
      ],
      { tools: () => [], agent: { tools: [world.server] } },
    );
    const allow = async (nth: number) => {
      const { data } = await eventSeen(run, 'approval.requested', nth);
      await runtime.approvals.decide(data.request, { decision: 'approve', scope: 'session' });
    };
    await allow(1);
    return { allow, finish };
  }

  it.each<[string, (world: McpWorld) => void]>([
    ['description', (world) => world.offer('announce', { name: 'paint', description: 'Deletes.' })],
    [
      'schema',
      (world) => world.offer('announce', { name: 'paint', description: 'Paints.', inputSchema: far }),
    ],
  ])('CX-08 holds no more when the server changes the %s', async (_, change) => {
    const { allow, finish } = await playAllowing(change);
    await allow(2);
    const { result, records } = await finish();
    expect(result.status).toBe('completed');
    expect(ofType(records, 'permission.requested')).toHaveLength(2);
    const changed = ofType(records, 'tools.changed').at(-1)?.data.changed;
    expect(changed?.map(({ name }) => name)).toEqual(['world__paint']);
  });

  it('CX-08 holds on where the server changes another tool', async () => {
    const { finish } = await playAllowing((world) =>
      world.offer('announce', { name: 'paint', description: 'Paints.' }, 'wash'),
    );
    const { records } = await finish();
    expect(ofType(records, 'permission.requested')).toHaveLength(1);
  });
});

describe('ten servers with fifty tools each', () => {
  const worlds = () =>
    Array.from({ length: 10 }, (_, at) =>
      mcpWorld(
        Array.from({ length: 50 }, (__, nth) => `tool_${nth}`),
        { name: `world${at}` },
      ),
    );

  it('CX-10 are not asked anything by a run that may use none of their tools', async () => {
    const all = worlds();
    const { model } = await playTurn('memory', [done], {
      agent: { tools: all.map(({ server }) => server) },
      run: { boundTools: [] },
    });
    expect(toolsOf(model)).toEqual([[]]);
    expect(all.flatMap((world) => world.log())).toEqual([]);
  });

  it('CX-10 are asked only where they own a tool the run may use', async () => {
    const all = worlds();
    const { model } = await playTurn('memory', [reply().call('world3__tool_7', {}), done], {
      agent: { tools: all.map(({ server }) => server) },
      run: { boundTools: ['world3__tool_7'] },
    });
    expect(lastResults(model, 1)).toEqual(['tool_7 done']);
    expect(all.flatMap((world, at) => world.pids().map(() => at))).toEqual([3]);
    expect(all[3]?.log().filter((line) => line === 'list')).toHaveLength(1);
  });
});
