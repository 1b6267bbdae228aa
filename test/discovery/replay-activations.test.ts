import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/ledger/content.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { foldSession } from '../../src/ledger/turn-facts.ts';
import { reply } from '../../src/testing/reply.ts';
import type { DiscoveryPreset } from '../../src/tools/discovery-policy.ts';
import { replayActivations } from '../../src/tools/replay-activations.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { catalogueOf } from '../support/catalogues.ts';
import { presetTools } from '../support/discovery-presets.ts';
import { playTurn } from '../support/played-turn.ts';

const OSLO = { city: 'Oslo' };

function replay(
  records: readonly LedgerRecord[],
  tools: readonly Tool[],
  preset: DiscoveryPreset = 'placeholder',
) {
  return replayActivations(
    foldSession(records).turns,
    catalogueOf(tools as readonly Tool[], { discovery: { preset } }),
  );
}

/** A turn of one call, as it was recorded. */
async function recorded(name: string, args: JsonObject, tools = presetTools()) {
  const { records } = await playTurn('memory', [reply().call(name, args), reply().text('Done.')], {
    agent: { tools },
    run: { discovery: { preset: 'placeholder' } },
  });
  return records;
}

function without(records: readonly LedgerRecord[], ...types: readonly LedgerRecord['type'][]) {
  return records.filter(({ type }) => !types.includes(type));
}

/** The records with other arguments of the call. */
function withArgs(records: readonly LedgerRecord[], args: JsonObject): readonly LedgerRecord[] {
  return records.map((record) =>
    record.type === 'tool.called' ? { ...record, data: { ...record.data, args } } : record,
  );
}

describe('what earlier turns leave active', () => {
  it('SD-09 is what a successful search activated', async () => {
    const records = await recorded('ToolSearch', { query: 'select:send_mail,get_weather' });
    expect(replay(records, presetTools())).toEqual(['send_mail', 'get_weather']);
  });

  it('SD-09 is a tool whose call succeeded', async () => {
    expect(replay(await recorded('get_weather', OSLO), presetTools())).toEqual(['get_weather']);
  });

  it('SD-09 is nothing of a search that failed', async () => {
    const tools = presetTools();
    const { records } = await playTurn(
      'memory',
      [reply().call('ToolSearch', { query: 'weather' }), reply().text('Done.')],
      {
        agent: { tools },
        run: {
          discovery: {
            preset: 'placeholder',
            ranker: () => ({
              rank: () => {
                throw new Error('no index');
              },
            }),
          },
        },
      },
    );
    expect(replay(records, tools)).toEqual([]);
  });

  it('SD-09 is nothing of a call that failed or did not fit', async () => {
    const failing = presetTools(() => {
      throw new Error('no wind');
    });
    expect(replay(await recorded('get_weather', OSLO, failing), presetTools())).toEqual([]);
    expect(replay(await recorded('get_weather', { town: 1 }), presetTools())).toEqual([]);
  });

  it('SD-09 is what a search would find whose result was never recorded', async () => {
    const records = without(
      await recorded('ToolSearch', { query: 'select:get_weather' }),
      'tool.settled',
      'tools.activated',
    );
    expect(replay(records, presetTools())).toEqual(['get_weather']);
  });

  it('SD-15 is nothing of a search that asked with a list', async () => {
    const records = without(
      await recorded('ToolSearch', { query: 'get_weather' }),
      'tool.settled',
      'tools.activated',
    );
    const asked = withArgs(records, { query: 'get_weather', select: ['get_weather'] });
    expect(replay(asked, presetTools())).toEqual([]);
  });

  it('SD-09 is nothing that is not deferred any more', async () => {
    const records = await recorded('ToolSearch', { query: 'select:send_mail,get_weather' });
    const left = presetTools().filter((tool) => tool.name !== 'send_mail');
    expect(replay(records, left)).toEqual(['get_weather']);
  });

  it('SD-09 is a part of the deferred tools, whatever arguments were recorded', async () => {
    const records = without(await recorded('ToolSearch', { query: 'x' }), 'tool.settled', 'tools.activated');
    const tools = presetTools();
    const names = new Set(tools.map((tool) => tool.name));
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('query', 'max_results', 'select', 'x'), fc.jsonValue()),
        (args) => {
          // A JSON value of fast-check is one of ours.
          const left = replay(withArgs(records, args as JsonObject), tools);
          expect(left.every((name) => names.has(name))).toBe(true);
        },
      ),
    );
  });

  it('TS-12 is nothing of loads that other systems recorded', async () => {
    const records = await recorded('note', { text: 'x' });
    for (const toolName of ['load_tools', 'load_tool', 'connect_tool_source']) {
      const foreign = records.map((record) =>
        record.type === 'tool.called' || record.type === 'tool.settled'
          ? { ...record, data: { ...record.data, toolName } }
          : record,
      ) as readonly LedgerRecord[];
      for (const preset of ['groups', 'placeholder'] as const) {
        expect(replay(withArgs(foreign, { group: 'outdoors' }), presetTools(), preset)).toEqual([]);
      }
    }
  });
});
