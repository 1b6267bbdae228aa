import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { reply } from '../../src/testing/reply.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { presetTools } from '../support/discovery-presets.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

const run = { discovery: { preset: 'placeholder-static' } } as const;
const load = (names: string) => reply().call('ToolSearch', { query: `select:${names}` });

/** A tool whose parameters are more than a result may carry. */
const vast = defineTool({
  name: 'vast',
  description: 'Takes very much.',
  inputSchema: z.object(
    Object.fromEntries(
      Array.from({ length: 80 }, (_, at) => [
        `field_${at}`,
        z.string().describe('One of very many fields.').optional(),
      ]),
    ),
  ),
  defer: 'always',
  execute: () => 'vast done',
});

describe('the static face', () => {
  it('SD-10 never changes the tools of a request', async () => {
    const { model } = await playTurn(
      'memory',
      [
        load('get_weather').call('send_mail', { to: 'Ann' }),
        reply().call('get_weather', { city: 'Oslo' }).call('get_tides', { town: 1 }),
        reply().text('Done.'),
      ],
      { agent: { tools: presetTools() }, run },
    );
    const sent = model.requests.map(({ request }) => JSON.stringify(request.tools));
    expect(new Set(sent).size).toBe(1);
  });

  it('SD-10 shows the parameters in the result', async () => {
    const { model } = await playTurn('memory', [load('get_weather'), reply().text('Done.')], {
      agent: { tools: presetTools() },
      run,
    });
    const [lists, signature] = (lastResults(model, 1)[0] ?? '').split('\n');
    expect(lists).toBe('{"activated":["get_weather"]}');
    expect(JSON.parse(signature ?? '')).toMatchObject({
      name: 'get_weather',
      parameters: { required: ['city'] },
    });
  });

  it('SD-10 shows them again for a tool that is active', async () => {
    const { model } = await playTurn(
      'memory',
      [load('get_weather'), load('get_weather'), reply().text('Done.')],
      { agent: { tools: presetTools() }, run },
    );
    const [lists, signature] = (lastResults(model, 2)[0] ?? '').split('\n');
    expect(lists).toBe('{"activated":[],"alreadyActive":["get_weather"]}');
    expect(signature).toContain('"required":["city"]');
  });

  it('SD-10 puts a tool that is too large to show into the request, and that one alone', async () => {
    const { model } = await playTurn('memory', [load('vast,get_weather'), reply().text('Done.')], {
      agent: { tools: [...presetTools(), vast] },
      run,
    });
    expect(lastResults(model, 1)[0]).not.toContain('field_7');
    const sent = JSON.stringify(model.requests[1]?.request.tools);
    expect(sent).toContain('field_79');
    expect(sent).not.toContain('Name of the place.');
  });

  it('SD-17 decides for each tool by the bound of results', async () => {
    const { model } = await playTurn('memory', [load('vast,get_weather'), reply().text('Done.')], {
      agent: { tools: [...presetTools(), vast], limits: { tools: { maxErrorChars: 50_000 } } },
      run,
    });
    expect(lastResults(model, 1)[0]).toContain('field_79');
    expect(JSON.stringify(model.requests[1]?.request.tools)).not.toContain('field_79');
  });

  it('runs what it has loaded', async () => {
    const { records } = await playTurn(
      'memory',
      [load('get_weather'), reply().call('get_weather', { city: 'Oslo' }), reply().text('Done.')],
      { agent: { tools: presetTools() }, run },
    );
    expect(ofType(records, 'tool.settled').map(({ data }) => [data.toolName, data.status])).toEqual([
      ['ToolSearch', 'success'],
      ['get_weather', 'success'],
    ]);
  });

  it('SD-05 shows the parameters with every misfit, also of an active tool', async () => {
    const { records } = await playTurn(
      'memory',
      [load('get_weather'), reply().call('get_weather', { town: 1 }), reply().text('Done.')],
      { agent: { tools: presetTools() }, run },
    );
    const [refused] = ofType(records, 'tool.refused');
    expect(refused?.data).toMatchObject({ code: 'invalid-arguments' });
    expect(refused?.data.text).toContain('Name of the place.');
  });
});
