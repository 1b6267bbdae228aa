import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { reply } from '../../src/testing/reply.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

const run = { discovery: { preset: 'placeholder' } } as const;

function aliased(name: string, aliases: readonly string[], entries: string[] = []): Tool<unknown> {
  return defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.object({ id: z.string() }),
    defer: 'always',
    aliases,
    execute: ({ id }) => {
      entries.push(`${name} ${id}`);
      return `${name} done`;
    },
  });
}

describe('aliases', () => {
  it('SD-08 mean one slot before and after activation', async () => {
    const entries: string[] = [];
    const { model, records } = await playTurn(
      'memory',
      [
        reply().call('fetch', { id: 'a' }),
        reply().call('fetch', { id: 'c' }).call('web_get', { id: 'd' }),
        reply().text('Done.'),
      ],
      { agent: { tools: [aliased('web_get', ['fetch'], entries)] }, run },
    );
    expect(entries.sort()).toEqual(['web_get a', 'web_get c', 'web_get d']);
    expect(model.requests[1]?.request.tools.map((tool) => tool.name)).toEqual(['ToolSearch', 'web_get']);
    expect(ofType(records, 'tools.activated').map(({ data }) => data.names)).toEqual([['web_get']]);
  });

  it('SD-08 are replayed under the name of their tool', async () => {
    const { model, records } = await playTurn(
      'memory',
      [reply().call('fetch', { id: 'a' }), reply().text('Done.')],
      { agent: { tools: [aliased('web_get', ['fetch'])] }, run },
    );
    expect(ofType(records, 'tool.called')[0]?.data).toMatchObject({
      toolName: 'web_get',
      requestedName: 'fetch',
    });
    const calls = (model.requests[1]?.messages ?? []).flatMap((message) => message.calls);
    expect(calls.map(({ name }) => name)).toEqual(['web_get']);
  });

  it.each(['select:fetch', 'select:fetch,web_get', 'FETCH'])(
    'SD-08 are names in the query %s',
    async (query) => {
      const { model } = await playTurn(
        'memory',
        [reply().call('ToolSearch', { query }), reply().text('Done.')],
        {
          agent: { tools: [aliased('web_get', ['fetch']), aliased('web_put', ['store'])] },
          run,
        },
      );
      expect(lastResults(model, 1)).toEqual(['{"activated":["web_get"]}']);
    },
  );

  it('SD-08 mean nothing where two tools claim one, and never another tool by name', async () => {
    const entries: string[] = [];
    const tools = [
      aliased('web_get', ['fetch'], entries),
      aliased('file_get', ['fetch', 'web_put'], entries),
      aliased('web_put', [], entries),
    ];
    const { records } = await playTurn(
      'memory',
      [reply().call('fetch', { id: 'a' }).call('web_put', { id: 'b' }), reply().text('Done.')],
      { agent: { tools }, run },
    );
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['unknown-tool']);
    expect(entries).toEqual(['web_put b']);
  });

  it('SD-08 reach a hidden tool as its name does', async () => {
    const { records } = await playTurn(
      'memory',
      [reply().call('fetch', { id: 'a' }), reply().text('Done.')],
      {
        agent: { tools: [aliased('web_get', ['fetch'])] },
      },
    );
    expect(ofType(records, 'tool.refused').map(({ data }) => [data.toolName, data.code])).toEqual([
      ['web_get', 'not-active'],
    ]);
  });
});
