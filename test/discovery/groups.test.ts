import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { createRuntime } from '../../src/runtime.ts';
import { type Reply, reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { DiscoveryOptions } from '../../src/tools/discovery-policy.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { PRESET_NAMES, presetTools } from '../support/discovery-presets.ts';
import { type PlayOptions, playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

const load = (group: unknown) => reply().call('load_tools', JSON.stringify({ group }));

function playGroups(script: readonly Reply[], options: PlayOptions = {}) {
  return playTurn('memory', [...script, reply().text('Done.')], {
    ...options,
    agent: { tools: presetTools(), ...options.agent },
    run: { discovery: { preset: 'groups' }, ...options.run },
  });
}

/** Deferred, in no group unless one is given. */
function deferred(name: string, group?: string): Tool<unknown> {
  return defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.object({}),
    defer: 'always',
    ...(group === undefined ? {} : { group }),
    execute: () => 'done',
  });
}

describe('load_tools', () => {
  it('offers the groups and names their tools', async () => {
    const { model } = await playGroups([]);
    const tool = model.requests[0]?.request.tools.find(({ name }) => name === 'load_tools');
    expect(tool?.inputSchema).toMatchObject({ properties: { group: { enum: ['outdoors', 'post'] } } });
    expect(tool?.description).toContain('- outdoors: get_tides, get_weather\n- post: send_mail');
  });

  it('loads a whole group from the next step on, and answers with names alone', async () => {
    const { model } = await playGroups([load('outdoors')]);
    expect(lastResults(model, 1)).toEqual(['{"loaded":["get_tides","get_weather"]}']);
    expect(model.requests[1]?.toolNames).toEqual(['load_tools', 'note', 'get_tides', 'get_weather']);
  });

  it('names the groups where it is asked for one that is none', async () => {
    const { model, records } = await playGroups([load('indoors')]);
    expect(lastResults(model, 1)[0]).toContain('there is no group "indoors"');
    expect(lastResults(model, 1)[0]).toContain('Groups: outdoors, post.');
    expect(ofType(records, 'tools.activated')).toEqual([]);
  });

  it.each([7, null, ['outdoors'], {}])('loads nothing for the group %j', async (group) => {
    const { records } = await playGroups([load(group)]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['invalid-arguments']);
    expect(ofType(records, 'tools.activated')).toEqual([]);
  });

  it('takes its arguments as a text too', async () => {
    const { model } = await playGroups([
      reply().call('load_tools', JSON.stringify(JSON.stringify({ group: 'post' }))),
    ]);
    expect(lastResults(model, 1)).toEqual(['{"loaded":["send_mail"]}']);
  });

  it('answers a second load of a group like the first, and changes nothing', async () => {
    const { model, records } = await playGroups([load('post'), load('post')]);
    expect(lastResults(model, 2)).toEqual(lastResults(model, 1));
    expect(ofType(records, 'tools.activated')).toHaveLength(1);
  });

  it('loads a group whole or not at all', async () => {
    const { model, records } = await playGroups([load('outdoors'), load('post')], {
      agent: { limits: { visibleTools: 3 } },
    });
    expect(lastResults(model, 1)[0]).toContain('the group outdoors has 2 tools, and 1 more can be loaded');
    expect(lastResults(model, 2)).toEqual(['{"loaded":["send_mail"]}']);
    expect(ofType(records, 'tools.activated').map(({ data }) => data.names)).toEqual([['send_mail']]);
  });

  it('has a group for the tools that name none', async () => {
    const { model } = await playGroups([load('other')], { agent: { tools: [deferred('stray')] } });
    expect(lastResults(model, 1)).toEqual(['{"loaded":["stray"]}']);
  });

  it('tells how to load the group of a tool that was called too early', async () => {
    const { model } = await playGroups([reply().call('send_mail', { to: 'Ann' })]);
    expect(lastResults(model, 1)[0]).toContain('Load its group "post" with load_tools');
  });
});

describe('a search', () => {
  it('loads no more than the places that are left in a request', async () => {
    const tools = Array.from({ length: 6 }, (_, at) => deferred(`report_${at}`));
    const { model, result } = await playTurn(
      'memory',
      [
        reply().call('tool_search', { query: 'report', limit: 20 }),
        reply().call('tool_search', { query: 'report', limit: 20 }),
        reply().text('Done.'),
      ],
      { agent: { tools, limits: { visibleTools: 4 } } },
    );
    expect(result.status).toBe('completed');
    expect(model.requests.map(({ toolNames }) => toolNames.length)).toEqual([1, 4, 4]);
    expect(lastResults(model, 2)[0]).toContain('alreadyActive');
  });
});

describe('a ceiling of a run', () => {
  it.each(PRESET_NAMES)('makes everything direct under %s where it holds no way to find', async (preset) => {
    const boundTools = ['note', 'get_weather', 'tool_inspect', 'tool_invoke'];
    const { model, records } = await playTurn('memory', [reply().text('Done.')], {
      agent: { tools: presetTools() },
      run: { discovery: { preset }, boundTools },
    });
    expect(model.requests[0]?.toolNames).toEqual(['get_weather', 'note']);
    expect(ofType(records, 'turn.opened')[0]?.data.discovery).toBe('off');
  });

  it('keeps deferred what its tools can find', async () => {
    const boundTools = ['get_weather', 'tool_search', 'tool_inspect', 'tool_invoke'];
    const { model } = await playTurn('memory', [reply().text('Done.')], {
      agent: { tools: presetTools() },
      run: { discovery: { preset: 'invoke' }, boundTools },
    });
    expect(model.requests[0]?.toolNames).toEqual(['tool_inspect', 'tool_invoke', 'tool_search']);
  });
});

describe('discovery options', () => {
  it.each([
    [{ preset: 'guess' }, 'discovery.preset'],
    [{ directCalls: 'yes' }, 'discovery.directCalls'],
    [{ activationNote: 'Roster.' }, 'discovery.activationNote'],
  ])('are checked where a run gives them: %j', async (given, path) => {
    const model = scriptedModel({ script: [] });
    const agent = defineAgent({ name: 'worker', instructions: 'Work.', model });
    await using runtime = createRuntime();
    // Wrong on purpose.
    const discovery = given as unknown as DiscoveryOptions;
    expect(() => runtime.run(agent, 'Go.', { discovery })).toThrow(
      expect.objectContaining({
        code: 'invalid-definition',
        message: expect.stringContaining(path),
      }),
    );
  });
});
