import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/ledger/content.ts';
import { reply } from '../../src/testing/reply.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import {
  activationsOf,
  deferredTool,
  deferredTools,
  searchesOf,
  searching,
  toldBy,
  toolsOf,
} from '../support/search-turns.ts';

const done = reply().text('Done.');

/** One search over these tools, and what came of it. */
async function search(
  tools: ReturnType<typeof deferredTools>,
  args: JsonObject | string,
  more: Parameters<typeof playTurn>[2] = {},
) {
  const script = [reply().call('tool_search', args), done];
  const { model, records } = await playTurn('memory', script, { ...more, agent: { tools, ...more.agent } });
  const [result = ''] = lastResults(model, 1);
  return { model, records, result, visible: toolsOf(model)[1]?.filter((name) => name !== 'tool_search') };
}

/** A tool whose schema takes about a thousand characters a field. */
const sizedTool = (name: string, fields: number, character = 'x') =>
  deferredTool(name, {
    inputSchema: z.object(
      Object.fromEntries(
        Array.from({ length: fields }, (_, at) => [`f${at}`, z.string().describe(character.repeat(980))]),
      ),
    ),
  });

const numbered = (count: number) =>
  deferredTools(...Array.from({ length: count }, (_, at) => `paint_${String(at + 10)}`));

describe('limits of a search', () => {
  it.each([
    ['no limit', {}, 5],
    ['3', { limit: 3 }, 3],
    ['20', { limit: 20 }, 20],
    ['100, clamped', { limit: 100 }, 20],
  ])('TS-15 activates as many as %s allows', async (_, limit, count) => {
    const { result, visible, records } = await search(numbered(30), { query: 'paint', ...limit });
    expect(toldBy(result).activated).toHaveLength(count);
    expect(visible).toEqual(toldBy(result).activated);
    expect(searchesOf(records)).toMatchObject([{ limit: count, omittedByLimit: 30 - count }]);
  });

  it.each([0, -1, 1.5, '3', null, [2]])(
    'TS-15 rejects the limit %j as a pair, and activates nothing',
    async (limit) => {
      const { result, visible, records } = await search(numbered(6), { query: 'paint', limit });
      expect(result).toContain('limit');
      expect(visible).toEqual([]);
      expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['invalid-arguments']);
      expect(searchesOf(records)).toEqual([]);
    },
  );

  it('TS-15 rejects a search without a query, and passes over keys it does not know', async () => {
    const without = await search(numbered(2), { limit: 1 });
    expect(ofType(without.records, 'tool.refused').map(({ data }) => data.code)).toEqual([
      'invalid-arguments',
    ]);
    const { visible } = await search(numbered(2), { query: 'paint_10', limit: 1, colour: 'red' });
    expect(visible).toEqual(['paint_10']);
  });

  it('TS-15 takes `maxResults` as the default alone, and tells the model of it', async () => {
    const agent = { discovery: { maxResults: 2 } };
    const byDefault = await search(numbered(9), { query: 'paint' }, { agent });
    expect(byDefault.visible).toHaveLength(2);
    const asked = await search(numbered(9), { query: 'paint', limit: 7 }, { agent });
    expect(asked.visible).toHaveLength(7);
    expect(JSON.stringify(asked.model.requests[0]?.request.tools)).toContain('Default 2, at most 20.');
  });

  it('TS-16 stops at the first of the ranking that does not fit', async () => {
    const sized = (name: string, chars: number) =>
      deferredTool(name, { inputSchema: z.object({ id: z.string().describe('x'.repeat(chars)) }) });
    // All match alike, so names order them; the third would fit where the second does not.
    const tools = [sized('draw_a', 300), sized('draw_b', 900), sized('draw_c', 10)];
    const agent = { discovery: { maxSchemaChars: 1_000 } };
    const { visible, records } = await search(tools, { query: 'draw' }, { agent });
    const [found] = searchesOf(records);
    expect(found?.ranked).toEqual(['draw_a', 'draw_b', 'draw_c']);
    expect(visible).toEqual(['draw_a']);
    expect(found).toMatchObject({ omittedByBytes: 2, omittedByLimit: 0 });
    expect(found?.schemaChars).toBeLessThanOrEqual(1_000);
  });

  it('TS-16 always admits the best match, however large', async () => {
    const tools = [sizedTool('draw_huge', 60), deferredTool('draw_small')];
    const { visible, records } = await search(tools, { query: 'draw_huge' });
    expect(visible).toEqual(['draw_huge']);
    expect(searchesOf(records)[0]?.schemaChars).toBeGreaterThan(60_000);
  });

  it('TS-16 has a default of 16,000 characters', async () => {
    const tools = ['a', 'b', 'c', 'd'].map((at) => sizedTool(`draw_${at}`, 5));
    const { visible, records } = await search(tools, { query: 'draw' });
    expect(visible).toHaveLength(3);
    expect(searchesOf(records)[0]?.schemaChars).toBeLessThanOrEqual(16_000);
  });

  it('TS-16 counts bytes too: 32 KiB are the most, in any script', async () => {
    const tools = ['a', 'b', 'c', 'd'].map((at) => sizedTool(`draw_${at}`, 5, '漢'));
    const agent = { discovery: { maxSchemaChars: 32_768 } };
    const { visible, records } = await search(tools, { query: 'draw' }, { agent });
    expect(visible).toHaveLength(2);
    expect(searchesOf(records)[0]).toMatchObject({ omittedByBytes: 2 });
  });

  it.each([{ maxSchemaChars: 32_769 }, { maxResults: 21 }, { maxResults: 0 }, { maxSchemaChars: 0 }])(
    'TS-16 are refused beyond what they may be: %j',
    async (discovery) => {
      await expect(search(numbered(1), { query: 'x' }, { agent: { discovery } })).rejects.toMatchObject({
        code: 'invalid-definition',
      });
    },
  );
});

describe('what a search tells', () => {
  it('TS-04 is names only', async () => {
    const tool = deferredTool('paint_fence', {
      description: 'SECRET DESCRIPTION of paint.',
      inputSchema: z.object({ SECRET_PARAMETER: z.string() }),
      group: 'SECRET GROUP',
    });
    const { result } = await search([tool], { query: 'paint' });
    expect(result).toBe('{"activated":["paint_fence"]}');
  });

  it.each([
    ['an empty query', ''],
    ['a blank query', ' \t\n '],
    ['a query that matches nothing', 'zeppelin'],
    ['a query of signs', '?!…'],
  ])('TS-17 is a success with nothing for %s', async (_, query) => {
    const { result, visible, records } = await search(numbered(3), { query });
    expect(toldBy(result)).toEqual({ activated: [] });
    expect(result.split('\n')[1]).toMatch(/empty|Nothing matched/);
    expect(visible).toEqual([]);
    expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).toEqual(['success']);
    expect(activationsOf(records)).toEqual([]);
  });

  it.each(['send_mail', 'SEND_MAIL', 'Send_Mail'])(
    'TS-18 puts the exact name first, written %s',
    async (query) => {
      const tools = [
        deferredTool('mail', { description: 'Send_mail send_mail: sends mail, send mail, mails sent.' }),
        deferredTool('send_mail', { description: 'Nothing.' }),
        deferredTool('send_mail_later'),
      ];
      const one = await search(tools, { query, limit: 1 });
      expect(one.result).toBe('{"activated":["send_mail"]}');
      expect(one.visible).toEqual(['send_mail']);
      const { records } = await search(tools, { query });
      expect(searchesOf(records)[0]?.ranked[0]).toBe('send_mail');
      expect(activationsOf(records)[0]?.[0]).toBe('send_mail');
    },
  );

  it('TS-18 puts the exact name first whatever the ranker thinks', async () => {
    const tools = deferredTools('send_mail', 'mail', 'fetch');
    const ranker = () => ({
      rank: () => ['fetch', 'mail', 'unbound', 'mail'].map((name) => ({ name, score: 1, exact: false })),
    });
    const { records } = await search(tools, { query: 'SEND_mail' }, { agent: { discovery: { ranker } } });
    expect(searchesOf(records)[0]?.ranked).toEqual(['send_mail', 'fetch', 'mail']);
  });

  it('TS-19 names what is visible already, which takes neither place nor bytes', async () => {
    const tools = numbered(8);
    const script = [searching({ query: 'paint', limit: 3 }), searching({ query: 'paint', limit: 4 }), done];
    const { model, records } = await playTurn('memory', script, { agent: { tools } });
    const [first, second] = [toldBy(lastResults(model, 1)[0]), toldBy(lastResults(model, 2)[0])];
    expect(second.alreadyActive).toEqual(first.activated);
    expect(second.activated).toHaveLength(4);
    expect(searchesOf(records)[1]).toMatchObject({ omittedByLimit: 1, omittedByBytes: 0 });
    expect(new Set(toolsOf(model)[2])).toEqual(
      new Set(['tool_search', ...first.activated, ...second.activated]),
    );
  });

  it('TS-19 says that a direct tool is callable when it is asked for by name', async () => {
    const direct = deferredTool('read', { defer: 'never' });
    const { result } = await search([direct, deferredTool('write')], { query: 'READ' });
    expect(toldBy(result).alreadyActive).toEqual(['read']);
  });

  it('TS-03 TS-10 holds no name beyond the binding of the run', async () => {
    const run = { boundTools: ['tool_search', 'paint_11', 'paint_12'] };
    const { result, visible, records } = await search(numbered(6), { query: 'paint', limit: 20 }, { run });
    expect(toldBy(result).activated).toEqual(['paint_11', 'paint_12']);
    expect(searchesOf(records)[0]?.ranked).toEqual(['paint_11', 'paint_12']);
    expect(visible).toEqual(['paint_11', 'paint_12']);
    const unbound = await search(numbered(6), { query: 'paint_13' }, { run });
    expect(toldBy(unbound.result).activated).not.toContain('paint_13');
  });

  it('TS-10 finds nothing of a ceiling without the tool that is asked for, whose call is unknown', async () => {
    const tools = deferredTools('send_mail', 'look');
    const script = [searching('send_mail'), reply().call('send_mail', {}), done];
    const run = { boundTools: ['tool_search', 'look'] };
    const { model, records } = await playTurn('memory', script, { agent: { tools }, run });
    expect(toldBy(lastResults(model, 1)[0])).toEqual({ activated: [] });
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['unknown-tool']);
    expect(lastResults(model, 2)[0]).toContain('Unknown tool "send_mail"');
  });
});

describe('a search that fails', () => {
  const failing = {
    'throws when it is made': () => {
      throw new TypeError('no index');
    },
    'throws when it ranks': () => ({
      rank: () => {
        throw new TypeError('no order');
      },
    }),
  };

  it.each(Object.entries(failing))(
    'TS-21 is an error and activates nothing where its ranker %s',
    async (_, ranker) => {
      const { visible, records } = await search(
        numbered(3),
        { query: 'paint' },
        { agent: { discovery: { ranker } } },
      );
      expect(visible).toEqual([]);
      expect(ofType(records, 'tool.settled').map(({ data }) => data.status)).toEqual(['error']);
      expect(activationsOf(records)).toEqual([]);
      expect(searchesOf(records)).toEqual([]);
    },
  );

  it('TS-21 activates nothing where a gate refuses', async () => {
    const hooks = { beforeActivation: () => ({ refuse: 'not today' }) };
    const { result, visible, records } = await search(numbered(3), { query: 'paint' }, { agent: { hooks } });
    expect(toldBy(result).activated).toEqual([]);
    expect(visible).toEqual([]);
    expect(activationsOf(records)).toEqual([]);
  });
});
