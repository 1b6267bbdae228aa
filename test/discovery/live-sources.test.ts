import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, type Tool } from '../../src/index.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import { type Reply, reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { crashedRun } from '../recovery/fixtures/crashed-run.ts';
import { type ChangingSource, changingSource } from '../support/changing-source.ts';
import { type PlayOptions, playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import {
  deferredTool,
  deferredTools,
  inventoryOf,
  listedNames,
  searching,
  toldBy,
  toolsOf,
} from '../support/search-turns.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

const done = reply().text('Done.');
const direct = (name: string, options: Parameters<typeof deferredTool>[1] = {}) =>
  deferredTool(name, { defer: 'never', ...options });

/** A turn with one source, which each answer may change while it is written. */
async function playLive(
  offered: readonly Tool<unknown>[],
  script: (source: ChangingSource) => readonly Reply[],
  options: PlayOptions = {},
) {
  const source = changingSource('mcp:world', offered);
  const played = await playTurn('memory', script(source), {
    ...options,
    agent: { toolSources: [source], ...options.agent },
  });
  const changes = ofType(played.records, 'tools.changed').map(({ data }) => ({
    revision: data.revision,
    added: data.added.map(({ name }) => name),
    changed: data.changed.map(({ name }) => name),
    withdrawn: data.withdrawn,
    excluded: data.excluded.map(({ name, reason }) => `${name}: ${reason}`),
  }));
  return { ...played, source, changes };
}

const nothing = { added: [], changed: [], withdrawn: [], excluded: [] };
/** Does something to the world while the model writes. */
const meanwhile = (act: () => void) => reply().wait(async () => act());

describe('a live source', () => {
  it('C18 adds a tool at the next step and never within one', async () => {
    const { model, records, changes } = await playLive([direct('look')], (source) => [
      meanwhile(() => source.offer([direct('look'), direct('paint')])).call('paint', {}),
      reply().call('paint', {}),
      done,
    ]);
    expect(toolsOf(model)).toEqual([['look'], ['look', 'paint'], ['look', 'paint']]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['unknown-tool']);
    expect(lastResults(model, 2)).toEqual(['paint done']);
    expect(changes).toEqual([
      { ...nothing, revision: 1, added: ['look'] },
      { ...nothing, revision: 2, added: ['paint'] },
    ]);
  });

  it('C18 is changed by a fact that is durable before the step that sees it', async () => {
    const { records } = await playLive([direct('look')], (source) => [
      meanwhile(() => source.offer([])).call('look', {}),
      done,
    ]);
    const order = records.flatMap(({ type }) => (/^(step.opened|tools.changed)$/.test(type) ? [type] : []));
    expect(order).toEqual(['tools.changed', 'step.opened', 'tools.changed', 'step.opened']);
  });

  it('C18 lets a call of the step run that began with its tool, and answers a later one "withdrawn"', async () => {
    const { model, records, changes } = await playLive(deferredTools('paint', 'wash'), (source) => [
      searching('paint', 'wash'),
      meanwhile(() => source.withdraw('paint')).call('paint', {}),
      reply().call('paint', {}),
      done,
    ]);
    expect(lastResults(model, 2)).toEqual(['paint done']);
    expect(toolsOf(model).slice(1)).toEqual([
      ['tool_search', 'paint', 'wash'],
      ['tool_search', 'wash'],
      ['tool_search', 'wash'],
    ]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['withdrawn']);
    expect(lastResults(model, 3)[0]).toMatch(/paint did not run: its source has withdrawn it/);
    expect(changes.at(-1)).toEqual({ ...nothing, revision: 2, withdrawn: ['paint'] });
    expect(listedNames(inventoryOf(model, 2))).toEqual({ 'mcp:world': ['wash'] });
  });

  it('C18 answers "withdrawn" also by the name that stood in the request', async () => {
    const name = 'files.read';
    const { model, records } = await playLive([direct(name), direct('look')], (source) => [
      meanwhile(() => source.withdraw(name)).call('look', {}),
      done,
    ]);
    const wire = toolsOf(model)[0]?.find((one) => one.startsWith('files')) ?? '';
    expect(wire).not.toBe(name);
    const again = await playLive([direct(name), direct('look')], (source) => [
      meanwhile(() => source.withdraw(name)).call('look', {}),
      reply().call(wire, {}),
      done,
    ]);
    expect(ofType(again.records, 'tool.refused').map(({ data }) => data.code)).toEqual(['withdrawn']);
    expect(ofType(records, 'tool.refused')).toEqual([]);
  });

  it('C18 has a tool that comes back found again before it is active', async () => {
    const { model, changes } = await playLive(deferredTools('paint', 'wash'), (source) => [
      searching('paint'),
      meanwhile(() => source.withdraw('paint')).call('tool_search', { query: 'wash' }),
      meanwhile(() => source.offer(deferredTools('paint', 'wash'))).call('wash', {}),
      searching('paint'),
      done,
    ]);
    expect(toolsOf(model).map((names) => names.slice(1))).toEqual([
      [],
      ['paint'],
      ['wash'],
      ['wash'],
      ['wash', 'paint'],
    ]);
    expect(changes.map(({ added, withdrawn }) => [added, withdrawn])).toEqual([
      [['paint', 'wash'], []],
      [[], ['paint']],
      [['paint'], []],
    ]);
    expect(toldBy(lastResults(model, 4)[0]).activated).toEqual(['paint']);
  });

  it('finds what came while the turn ran, and lists it', async () => {
    const { model } = await playLive(deferredTools('paint'), (source) => [
      meanwhile(() => source.offer(deferredTools('paint', 'zeppelin'))).call('tool_search', {
        query: 'zeppelin',
      }),
      searching('zeppelin'),
      done,
    ]);
    expect(toldBy(lastResults(model, 1)[0]).activated).toEqual([]);
    expect(toldBy(lastResults(model, 2)[0]).activated).toEqual(['zeppelin']);
    expect(listedNames(inventoryOf(model, 1))).toEqual({ 'mcp:world': ['paint', 'zeppelin'] });
  });

  it('brings the search tool along with its first deferred tool', async () => {
    const { model } = await playLive([direct('look')], (source) => [
      meanwhile(() => source.offer([direct('look'), deferredTool('paint')])).call('look', {}),
      searching('paint'),
      done,
    ]);
    expect(toolsOf(model)).toEqual([['look'], ['look', 'tool_search'], ['look', 'tool_search', 'paint']]);
  });

  it('is told of whole where it changes before the first step', async () => {
    const world = changingSource('mcp:world', [direct('look')]);
    const hooks: Hooks = {
      beforeTurn: () => {
        world.offer([direct('look'), direct('paint')]);
        return undefined;
      },
    };
    const { records } = await playTurn('memory', [done], { agent: { toolSources: [world], hooks } });
    const added = ofType(records, 'tools.changed').map(({ data }) => data.added.map(({ name }) => name));
    expect(added).toEqual([['look'], ['paint']]);
  });

  it('keeps what it had where it cannot be read', async () => {
    const { model, changes } = await playLive([direct('look')], (source) => [
      meanwhile(() => {
        source.offer([]);
        source.tools = () => {
          throw new TypeError('connection lost');
        };
      }).call('look', {}),
      done,
    ]);
    expect(toolsOf(model)).toEqual([['look'], ['look']]);
    expect(changes).toHaveLength(1);
  });

  it('shows a changed schema from the next step on, and says that it changed', async () => {
    const wide = direct('look', { inputSchema: z.object({ far: z.boolean() }) });
    const { model, changes, records } = await playLive([direct('look')], (source) => [
      meanwhile(() => source.offer([wide])).call('look', {}),
      done,
    ]);
    const schemas = model.requests.map(({ request }) =>
      Object.keys(request.tools[0]?.inputSchema['properties'] ?? {}),
    );
    expect(schemas).toEqual([['id'], ['far']]);
    expect(changes.at(-1)).toEqual({ ...nothing, revision: 2, changed: ['look'] });
    expect(ofType(records, 'step.opened')[1]?.data.toolsChange).toBe('tool_schema_changed');
  });
});

describe('names of live tools', () => {
  it('C12 leave out what cannot stand beside the others, and say why', async () => {
    const source = [
      direct('look'),
      direct('tool_search'),
      direct('1ook'),
      direct('broken', { inputSchema: { type: 'string' } }),
      direct('fine'),
    ];
    const { model, changes } = await playLive(source, () => [done], { agent: { tools: [direct('look')] } });
    expect(toolsOf(model)).toEqual([['fine', 'look']]);
    expect(changes).toEqual([
      {
        ...nothing,
        revision: 1,
        added: ['fine'],
        excluded: [
          'look: duplicate-tool',
          'tool_search: reserved-tool-name',
          '1ook: look-alike-tool-name',
          'broken: unusable-schema',
        ],
      },
    ]);
  });

  it('CR-09 belong to whoever has them: another source never takes a call over', async () => {
    const entered: string[] = [];
    const of = (who: string) =>
      direct('send', {
        execute: () => {
          entered.push(who);
          return who;
        },
      });
    const first = changingSource('mcp:first', []);
    const second = changingSource('mcp:second', [of('second')]);
    const script = [
      meanwhile(() => first.offer([of('first')])).call('send', {}),
      reply().call('send', {}),
      done,
    ];
    const { records } = await playTurn('memory', script, { agent: { toolSources: [first, second] } });
    expect(entered).toEqual(['second', 'second']);
    expect(ofType(records, 'tools.changed').at(-1)?.data.excluded).toEqual([
      { name: 'send', source: 'mcp:first', reason: 'duplicate-tool' },
    ]);
  });

  it('are bounded in number', async () => {
    const many = Array.from({ length: 5 }, (_, at) => direct(`look_${at}`));
    const { model, changes } = await playLive(many, () => [done], { agent: { limits: { liveTools: 3 } } });
    expect(toolsOf(model)[0]).toEqual(['look_0', 'look_1', 'look_2']);
    expect(changes[0]?.excluded).toEqual(['look_3: too-many-tools', 'look_4: too-many-tools']);
  });

  it.each([
    [{ name: 'a b', revision: 1, tools: () => [] }],
    [{ name: 'mcp:x', tools: () => [] }],
    [{ name: 'mcp:x', revision: 1, tools: [] }],
  ])('refuse what is no source: %j', (source) => {
    const model = scriptedModel({ script: [] });
    const definition = { name: 'worker', instructions: '', model, toolSources: [source] };
    expect(() => defineAgent(definition as Parameters<typeof defineAgent>[0])).toThrow(
      expect.objectContaining({ code: 'invalid-definition' }),
    );
  });

  it('refuse two sources of one name', () => {
    const toolSources = [changingSource('mcp:x', []), changingSource('mcp:x', [])];
    const model = scriptedModel({ script: [] });
    expect(() => defineAgent({ name: 'worker', instructions: '', model, toolSources })).toThrow(
      expect.objectContaining({ code: 'invalid-definition' }),
    );
  });
});

describe('live tools over turns', () => {
  it('are told of once, and again only where something changed', async () => {
    const source = changingSource('mcp:world', deferredTools('paint', 'wash'));
    const { agent } = scriptedAgent([done, done, done, done], { toolSources: [source] });
    const { runtime, ledger } = watchedRuntime();
    const run = () => runtime.run(agent, 'Go.', { sessionId: 's-live' }).result;
    await run();
    await run();
    source.offer([deferredTool('paint', { description: 'Paints anew.' })]);
    await run();
    await run();
    const changes = ofType(await ledger.read('s-live'), 'tools.changed').map(({ data, turn }) => [
      turn,
      data.added.map(({ name }) => name),
      data.changed.map(({ name }) => name),
      data.withdrawn,
    ]);
    expect(changes).toEqual([
      ['s-live.1', ['paint', 'wash'], [], []],
      ['s-live.3', [], ['paint'], ['wash']],
    ]);
  });

  it('answer "withdrawn" to a call that the history suggests', async () => {
    const spy = createToolSpy();
    const source = changingSource('mcp:world', [spy.tool('paint'), spy.tool('look')]);
    const script = [reply().call('paint', { id: '1' }), done, reply().call('paint', { id: '2' }), done];
    const { agent } = scriptedAgent(script, { toolSources: [source] });
    const { runtime, ledger } = watchedRuntime();
    await runtime.run(agent, 'Go.', { sessionId: 's-live' }).result;
    source.withdraw('paint');
    await runtime.run(agent, 'Go.', { sessionId: 's-live' }).result;
    const refused = ofType(await ledger.read('s-live'), 'tool.refused').map(({ data }) => data.code);
    expect(refused).toEqual(['withdrawn']);
    expect(spy.entries.map(({ id }) => id)).toEqual(['1']);
  });

  it('C18 a turn that is taken up does not remember as active what was withdrawn meanwhile', async () => {
    const world = changingSource('mcp:world', deferredTools('paint', 'wash'));
    const { agent, model, restart } = await crashedRun({
      script: [
        searching('paint'),
        meanwhile(() => world.withdraw('paint')).call('tool_search', { query: 'wash' }),
        meanwhile(() => world.offer(deferredTools('paint', 'wash'))).call('wash', {}),
        reply().text('Never read.'),
        done,
      ],
      crash: { record: 'assistant.message', when: 'before', skip: 3 },
      agent: { tools: [], toolSources: [world] },
    });
    const { runtime, misfits } = restart();
    expect((await runtime.resume(agent, 'kept').result).status).toBe('completed');
    expect(toolsOf(model).map((names) => names.slice(1))).toEqual([
      [],
      ['paint'],
      ['wash'],
      ['wash'],
      ['wash'],
    ]);
    expect(misfits).toEqual([]);
  });
});
