import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool, type Tool } from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { playTurn } from '../support/played-turn.ts';
import { deferredTool, deferredTools, inventoryOf, listedNames, toolsOf } from '../support/search-turns.ts';

const secretive = (name: string, group?: string) =>
  deferredTool(name, {
    description: `DESCRIPTION of ${name}`,
    inputSchema: z.object({ [`PARAMETER_${name}`]: z.string() }),
    ...(group === undefined ? {} : { group }),
  });

const read = defineTool({
  name: 'read',
  description: 'Reads.',
  inputSchema: z.object({}),
  execute: () => 'text',
});

const mixed = [
  read,
  secretive('zeta', 'b'),
  secretive('alpha', 'b'),
  secretive('beta', 'a'),
  secretive('solo'),
];
const done = [reply().text('Done.')];

const play = (tools: readonly Tool<unknown>[], more: Parameters<typeof playTurn>[2] = {}) =>
  playTurn('memory', done, { ...more, agent: { tools, ...more.agent } });

describe('the first request', () => {
  it('TS-01 holds the direct tools and the search tool, and no schema of a deferred tool', async () => {
    const { model } = await play(mixed);
    expect(toolsOf(model)).toEqual([['read', 'tool_search']]);
    expect(JSON.stringify(model.requests[0]?.request)).not.toMatch(/DESCRIPTION|PARAMETER/);
  });

  it('TS-01 defers every tool that a given baseline does not name', async () => {
    const { model } = await play([read, deferredTool('a', { defer: 'never' }), deferredTool('b')], {
      agent: { discovery: { direct: ['b'] } },
    });
    expect(toolsOf(model)).toEqual([['b', 'tool_search']]);
    expect(listedNames(inventoryOf(model))).toEqual({ other: ['a', 'read'] });
  });

  it('TS-02 lists the deferred names by group, and none of the direct ones', async () => {
    const { model } = await play(mixed);
    expect(listedNames(inventoryOf(model))).toEqual({
      a: ['beta'],
      b: ['alpha', 'zeta'],
      other: ['solo'],
    });
    expect(inventoryOf(model)).not.toMatch(/read/);
  });

  it('TS-02 says how many names a bounded inventory leaves out', async () => {
    const names = Array.from({ length: 200 }, (_, at) => `tool_number_${String(at).padStart(3, '0')}`);
    const { model } = await play(deferredTools(...names), {
      agent: { discovery: { maxInventoryChars: 500 } },
    });
    const inventory = inventoryOf(model);
    const listed = listedNames(inventory)['other'] ?? [];
    expect(listed).toEqual(names.slice(0, listed.length));
    expect(listed.length).toBeGreaterThan(10);
    expect(inventory).toContain(`(${200 - listed.length} more`);
    expect(inventory.length).toBeLessThanOrEqual(600);
  });

  it('TS-23 holds no search tool and no inventory where nothing is deferred', async () => {
    const { model, records } = await play([read]);
    expect(toolsOf(model)).toEqual([['read']]);
    expect(inventoryOf(model)).toBe('');
    expect(records.some(({ type }) => type.startsWith('tools.'))).toBe(false);
  });

  it('TS-23 rejects a call to the search tool that is not there as unknown', async () => {
    const script = [reply().call('tool_search', { query: 'x' }), reply().text('Done.')];
    const { records } = await playTurn('memory', script, { agent: { tools: [read] } });
    expect(records.filter(({ type }) => type === 'tool.refused').map(({ data }) => data)).toMatchObject([
      { code: 'unknown-tool', toolName: 'tool_search' },
    ]);
  });

  it('TS-20 is byte-identical for any order of registration', async () => {
    const requestOf = async (tools: readonly Tool<unknown>[]) => {
      const { model } = await play(tools);
      const { tools: wire, system } = model.requests[0]?.request ?? {};
      return JSON.stringify([wire, system]);
    };
    const first = await requestOf(mixed);
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(mixed, { minLength: mixed.length }), async (tools) => {
        expect(await requestOf(tools)).toBe(first);
      }),
      { numRuns: 10 },
    );
  });
});

describe('composition', () => {
  const compose = (tools: readonly Tool<unknown>[]) =>
    defineAgent({ name: 'worker', instructions: '', model: scriptedModel({ script: [] }), tools });

  it.each([
    'tool_search',
    'ToolSearch',
    'load_tools',
    'tool_inspect',
    'tool_invoke',
    'TOOL_SEARCH',
    't00l_search',
  ])('TS-25 refuses a tool named %s', (name) => {
    expect(() => compose([deferredTool(name)])).toThrow(
      expect.objectContaining({ code: 'reserved-tool-name' }),
    );
  });

  it('C12 refuses two tools of one name, and two that look alike', () => {
    expect(() => compose(deferredTools('look', 'look'))).toThrow(
      expect.objectContaining({ code: 'duplicate-tool' }),
    );
    expect(() => compose(deferredTools('look', '1ook'))).toThrow(
      expect.objectContaining({ code: 'look-alike-tool-name' }),
    );
  });

  it('TS-25 refuses a reserved name among the tools of a run', async () => {
    const agent = compose([]);
    await using runtime = createRuntime();
    expect(() => runtime.run(agent, 'Go.', { clientTools: deferredTools('tool_search') })).toThrow(
      expect.objectContaining({ code: 'reserved-tool-name' }),
    );
  });
});
