import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Reply, reply } from '../../src/testing/reply.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { DiscoveryPreset } from '../../src/tools/discovery-policy.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { type ChangingSource, changingSource } from '../support/changing-source.ts';
import { presetTools } from '../support/discovery-presets.ts';
import { type PlayOptions, playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

const OSLO = { city: 'Oslo' };

/** A turn whose deferred tools are those of a source; `first` is answered while the source may change. */
async function playLive(
  first: (source: ChangingSource) => Reply,
  options: PlayOptions & {
    readonly tools?: readonly Tool<unknown>[];
    readonly preset?: DiscoveryPreset;
  } = {},
) {
  const entries: string[] = [];
  const source = changingSource('mcp:world', options.tools ?? presetTools((name) => entries.push(name)));
  const played = await playTurn('memory', [first(source), reply().text('Done.')], {
    ...options,
    agent: { toolSources: [source], ...options.agent },
    run: { discovery: { preset: options.preset ?? 'placeholder' } },
  });
  return { ...played, entries, source };
}

/** Withdraws a tool while the model is writing: the request had it, the calls find it gone. */
function withdrawing(source: ChangingSource, name = 'get_weather'): Reply {
  return reply().wait(async () => source.withdraw(name));
}

describe('a tool withdrawn while its step runs', () => {
  it.each([
    ['by name', 'select:get_weather,send_mail', { activated: ['send_mail'], missing: ['get_weather'] }],
    ['by words', 'tells', { activated: ['get_tides'] }],
  ])('SD-07 is neither activated nor announced by a search %s', async (_, query, lists) => {
    const { model, records } = await playLive((source) => withdrawing(source).call('ToolSearch', { query }));
    expect(JSON.parse(lastResults(model, 1)[0]?.split('\n')[0] ?? '')).toEqual(lists);
    expect(ofType(records, 'tools.activated').map(({ data }) => data.names)).toEqual([lists.activated]);
  });

  it.each(['select:get_weather', 'get_weather', 'tells'])(
    'SD-07 is not said to be callable because it was, for the query %s',
    async (query) => {
      const source = changingSource('mcp:world', presetTools());
      const { model } = await playTurn(
        'memory',
        [
          reply().call('ToolSearch', { query: 'select:get_weather,get_tides' }),
          withdrawing(source).call('ToolSearch', { query }),
          reply().text('Done.'),
        ],
        { agent: { toolSources: [source] }, run: { discovery: { preset: 'placeholder' } } },
      );
      const lists = JSON.parse(lastResults(model, 2)[0]?.split('\n')[0] ?? '');
      expect(lists.alreadyActive ?? []).not.toContain('get_weather');
    },
  );

  it.each([{ city: 'Oslo' }, { town: 1 }])('SD-07 has no direct lane, for %j', async (args) => {
    const { entries, records } = await playLive((source) => withdrawing(source).call('get_weather', args));
    expect(entries).toEqual([]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['withdrawn']);
    expect(ofType(records, 'tools.activated')).toEqual([]);
  });

  it.each([
    ['a search', reply().call('ToolSearch', { query: 'select:get_weather' })],
    ['a direct call', reply().call('get_weather', OSLO)],
  ])('SD-07 is not activated by %s whose gate it left behind', async (_, first) => {
    let live: ChangingSource | undefined;
    const { entries, records } = await playLive(
      (source) => {
        live = source;
        return first;
      },
      {
        agent: {
          hooks: {
            beforeActivation: () => {
              live?.withdraw('get_weather');
            },
          },
        },
      },
    );
    expect(entries).toEqual([]);
    expect(ofType(records, 'tools.activated')).toEqual([]);
  });

  it('SD-07 does not run once it was allowed', async () => {
    let live: ChangingSource | undefined;
    const { entries, records } = await playLive(
      (source) => {
        live = source;
        return reply().call('get_weather', OSLO);
      },
      {
        agent: {
          permission: () => {
            live?.withdraw('get_weather');
            return 'allow';
          },
        },
      },
    );
    expect(entries).toEqual([]);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['withdrawn']);
  });
});

const small = (entries: string[]) =>
  defineTool({
    name: 'shifting',
    description: 'Takes what it takes today.',
    inputSchema: z.object({ today: z.string() }),
    defer: 'always',
    execute: () => {
      entries.push('small');
      return 'small done';
    },
  });

const large = defineTool({
  name: 'shifting',
  description: 'Takes what it takes today.',
  inputSchema: z.object(
    Object.fromEntries(
      Array.from({ length: 90 }, (_, at) => [`tomorrow_${at}`, z.string().describe('One of very many.')]),
    ),
  ),
  defer: 'always',
  execute: () => 'large done',
});

describe('the face of a tool that changes', () => {
  it('SD-17 is decided anew for each search', async () => {
    const source = changingSource('mcp:world', [small([])]);
    const search = reply().call('ToolSearch', { query: 'select:shifting' });
    const { model } = await playTurn(
      'memory',
      [search, search.wait(async () => source.offer([large])), search, reply().text('Done.')],
      {
        agent: { toolSources: [source] },
        run: { discovery: { preset: 'placeholder-static' } },
      },
    );
    const shown = [1, 2, 3].map((at) => ({
      result: (lastResults(model, at)[0] ?? '').includes('"parameters"'),
      request: JSON.stringify(model.requests[at]?.request.tools).includes('tomorrow_89'),
    }));
    expect(shown).toEqual([
      { result: true, request: false },
      { result: true, request: true },
      { result: false, request: true },
    ]);
  });

  it('SD-17 judges a call by what the source has when its step starts', async () => {
    const entries: string[] = [];
    const source = changingSource('mcp:world', [large]);
    const { records } = await playTurn(
      'memory',
      [
        reply()
          .wait(async () => source.offer([small(entries)]))
          .call('shifting', { today: 'x' }),
        reply().call('shifting', { today: 'x' }),
        reply().text('Done.'),
      ],
      { agent: { toolSources: [source] }, run: { discovery: { preset: 'placeholder' } } },
    );
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['needs-schema']);
    expect(entries).toEqual(['small']);
  });
});
