import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { reply } from '../../src/testing/reply.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { presetTools } from '../support/discovery-presets.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

const placeholder = { discovery: { preset: 'placeholder' } } as const;

/** The list a search answers with. */
function listsOf(result: string | undefined): unknown {
  return JSON.parse(result?.split('\n')[0] ?? '');
}

async function searchWith(args: Parameters<ReturnType<typeof reply>['call']>[1], tools = presetTools()) {
  const { model, records } = await playTurn(
    'memory',
    [reply().call('ToolSearch', args), reply().text('Done.')],
    { agent: { tools }, run: placeholder },
  );
  return { result: lastResults(model, 1)[0] ?? '', records, model };
}

const reportTool = (name: string) =>
  defineTool({
    name,
    description: 'Writes a report.',
    inputSchema: z.object({ title: z.string() }),
    defer: 'always',
    execute: () => 'written',
  });

/** Deferred tools of one family, more than a search by words may load. */
const manyTools = Array.from({ length: 9 }, (_, at) => reportTool(`report_${at}`));

describe('placeholders', () => {
  it('SD-01 stand in the request by name, one line and no parameters', async () => {
    const { model } = await playTurn('memory', [reply().text('Done.')], {
      agent: { tools: presetTools() },
      run: placeholder,
    });
    expect(model.requests[0]?.request.tools.find((tool) => tool.name === 'get_weather')).toEqual({
      name: 'get_weather',
      description: 'Tells the weather of a city.',
      inputSchema: { type: 'object', properties: {} },
    });
  });

  it('SD-01 give their place to the whole definition once it is active', async () => {
    const { model } = await playTurn(
      'memory',
      [reply().call('ToolSearch', { query: 'select:get_weather' }), reply().text('Done.')],
      { agent: { tools: presetTools() }, run: placeholder },
    );
    const [before, after] = model.requests.map(({ request }) => request.tools);
    expect(after?.map((tool) => tool.name)).toEqual(before?.map((tool) => tool.name));
    expect(after?.find((tool) => tool.name === 'get_weather')).toMatchObject({
      description: 'Tells the weather of a city.\nKnows all cities.',
      inputSchema: { required: ['city'] },
    });
    expect(after?.filter((tool) => tool.name !== 'get_weather')).toEqual(
      before?.filter((tool) => tool.name !== 'get_weather'),
    );
  });

  it('SD-13 keep the step of an exclusive tool to itself, before it is active', async () => {
    const exclusive = defineTool({
      name: 'reboot',
      description: 'Starts the machine anew.',
      inputSchema: z.object({}),
      defer: 'always',
      exclusive: true,
      execute: () => 'rebooted',
    });
    const { records } = await playTurn(
      'memory',
      [reply().call('reboot', {}).call('note', { text: 'x' }), reply().text('Done.')],
      { agent: { tools: [...presetTools(), exclusive] }, run: placeholder },
    );
    expect(ofType(records, 'tool.refused').map(({ data }) => [data.toolName, data.code])).toEqual([
      ['note', 'exclusive-step'],
    ]);
  });

  it('SD-13 share a step with other tools where the tool does', async () => {
    const { records } = await playTurn(
      'memory',
      [reply().call('get_weather', { city: 'Oslo' }).call('note', { text: 'x' }), reply().text('Done.')],
      { agent: { tools: presetTools() }, run: placeholder },
    );
    expect(
      ofType(records, 'tool.settled')
        .map(({ data }) => data.toolName)
        .sort(),
    ).toEqual(['get_weather', 'note']);
  });
});

describe('ToolSearch', () => {
  it('SD-02 activates what select: names beyond the cap and reports what is missing', async () => {
    const query = `SELECT:${manyTools.map((tool) => tool.name).join(', ')},zz`;
    const { result } = await searchWith({ query }, manyTools);
    expect(listsOf(result)).toEqual({ activated: manyTools.map((tool) => tool.name), missing: ['zz'] });
  });

  it('SD-02 takes the names of select: exactly', async () => {
    const { result } = await searchWith({ query: 'select:Get_Weather,send_mail' });
    expect(listsOf(result)).toEqual({ activated: ['send_mail'], missing: ['Get_Weather'] });
  });

  it('SD-02 bounds the schemas of a selection and names what was left out', async () => {
    const query = `select:${manyTools.map((tool) => tool.name).join()}`;
    const { model } = await playTurn(
      'memory',
      [reply().call('ToolSearch', { query }), reply().text('Done.')],
      {
        agent: { tools: manyTools },
        run: { discovery: { preset: 'placeholder', maxSchemaChars: 300 } },
      },
    );
    const lists = listsOf(lastResults(model, 1)[0]) as { activated: string[]; omitted: string[] };
    expect(lists.activated.length).toBeGreaterThan(0);
    expect([...lists.activated, ...lists.omitted]).toEqual(manyTools.map((tool) => tool.name));
  });

  it('SD-03 selects a bare name in any case, and that tool alone', async () => {
    const { result } = await searchWith({ query: 'REPORT' }, [reportTool('report'), ...manyTools]);
    expect(listsOf(result)).toEqual({ activated: ['report'] });
  });

  it.each([
    [undefined, 5],
    [2, 2],
    [8, 8],
  ])('SD-03 caps a search by words, max_results %s, at %s', async (max_results, count) => {
    const args = { query: 'write a report', ...(max_results === undefined ? {} : { max_results }) };
    const { result } = await searchWith(args, manyTools);
    expect(listsOf(result)).toMatchObject({ activated: { length: count } });
  });

  it('SD-11 says of a tool that is active that it can be called', async () => {
    const { model } = await playTurn(
      'memory',
      [
        reply().call('ToolSearch', { query: 'get_weather' }),
        reply().call('ToolSearch', { query: 'select:get_weather,note' }),
        reply().text('Done.'),
      ],
      { agent: { tools: presetTools() }, run: placeholder },
    );
    expect(listsOf(lastResults(model, 2)[0])).toEqual({
      activated: [],
      alreadyActive: ['get_weather', 'note'],
    });
  });

  it('SD-15 refuses the old list of names and loads nothing', async () => {
    const { result, records } = await searchWith({ query: 'weather', select: ['get_weather'] });
    expect(result).toContain('select: is not taken as a list');
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['invalid-arguments']);
    expect(ofType(records, 'tools.activated')).toEqual([]);
  });
});

describe('without direct calls', () => {
  const run = { discovery: { preset: 'placeholder', directCalls: false } } as const;

  it.each([{ city: 'Oslo' }, { town: 1 }])('SD-14 answers %j with the parameters', async (args) => {
    let entries = 0;
    const tools = presetTools(() => {
      entries += 1;
    });
    const { model, records } = await playTurn(
      'memory',
      [reply().call('get_weather', args), reply().text('Done.')],
      { agent: { tools }, run },
    );
    expect(entries).toBe(0);
    expect(lastResults(model, 1)[0]).toContain('"city":{"type":"string"');
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['needs-schema']);
  });

  it('SD-14 says in the search tool what a call comes to', async () => {
    const described = async (discovery: { preset: 'placeholder'; directCalls: boolean }) => {
      const { model } = await playTurn('memory', [reply().text('Done.')], {
        agent: { tools: presetTools() },
        run: { discovery },
      });
      return model.requests[0]?.request.tools.find((tool) => tool.name === 'ToolSearch')?.description;
    };
    expect(await described({ preset: 'placeholder', directCalls: false })).toContain('does not run');
    expect(await described({ preset: 'placeholder', directCalls: true })).toContain('it runs if');
  });
});
