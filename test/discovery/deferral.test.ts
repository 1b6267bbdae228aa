import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reply } from '../../src/testing/reply.ts';
import { bindTools } from '../../src/tools/bind-tools.ts';
import type { DiscoveryPreset } from '../../src/tools/discovery-policy.ts';
import type { Tool, ToolScope } from '../../src/tools/tool.ts';
import { catalogueOf } from '../support/catalogues.ts';
import { PRESET_NAMES } from '../support/discovery-presets.ts';
import { playTurn } from '../support/played-turn.ts';
import { toolNamed } from '../tools/bound-tool.ts';

/** Its implementation looks at no context, so it needs none. */
function withoutContext(tool: Tool): Tool<unknown> {
  return tool as Tool<unknown>;
}

function autoTools(count: number): readonly Tool[] {
  return Array.from({ length: count }, (_, at) => toolNamed(`auto_${at}`, { defer: 'auto' }));
}

/** Whether tools of that many tokens together are deferred. */
function defers(count: number, tokens: number, contextWindow?: number): boolean {
  const catalogue = catalogueOf(autoTools(count), {
    ...(contextWindow === undefined ? {} : { contextWindow }),
    countTokens: () => tokens,
  });
  expect([0, count]).toContain(catalogue.deferred.length);
  return catalogue.deferred.length > 0;
}

describe('auto', () => {
  it.each([
    { what: '4 tools, however large', count: 4, tokens: 1_000_000, window: 100_000, deferred: false },
    { what: '5 tools at the threshold', count: 5, tokens: 10_000, window: 100_000, deferred: false },
    { what: '5 tools one token over it', count: 5, tokens: 10_001, window: 100_000, deferred: true },
    { what: '5 tools over it that cost 500', count: 5, tokens: 500, window: 1_000, deferred: false },
    { what: '5 tools over it that cost 501', count: 5, tokens: 501, window: 1_000, deferred: true },
    { what: 'a window that is no multiple of ten', count: 5, tokens: 1_001, window: 10_019, deferred: false },
    { what: 'no window, at its threshold', count: 5, tokens: 3_200, window: undefined, deferred: false },
    { what: 'no window, over its threshold', count: 5, tokens: 3_201, window: undefined, deferred: true },
    { what: 'a window of nothing, over the same', count: 5, tokens: 3_201, window: 0, deferred: true },
  ])('CR-01 defers by count and cost: $what', ({ count, tokens, window, deferred }) => {
    expect(defers(count, tokens, window)).toBe(deferred);
  });

  const wordy = Array.from({ length: 20 }, (_, at) =>
    toolNamed(`auto_${at}`, { defer: 'auto', description: 'Does very much. '.repeat(60) }),
  );

  it('CR-01 takes four characters of a definition for a token', () => {
    const chars = bindTools(wordy).tools.reduce((sum, bound) => sum + bound.schemaChars, 0);
    const cost = Math.floor(chars / 4);
    const isDeferred = (contextWindow: number) => catalogueOf(wordy, { contextWindow }).deferred.length > 0;
    expect(isDeferred(cost * 10)).toBe(false);
    expect(isDeferred((cost - 1) * 10)).toBe(true);
  });

  it('CR-01 decides once for a turn, whatever its steps find', async () => {
    const { model } = await playTurn(
      'memory',
      [reply().call('tool_search', { query: 'auto_7', limit: 1 }), reply().text('Done.')],
      { agent: { tools: wordy.map(withoutContext) } },
    );
    expect(model.requests.map(({ toolNames }) => toolNames)).toEqual([
      ['tool_search'],
      ['tool_search', 'auto_7'],
    ]);
  });
});

describe('always and never', () => {
  it('CR-02 always defers a tool that stands alone, and never one that must not be', () => {
    const catalogue = catalogueOf([
      toolNamed('alone', { defer: 'always' }),
      toolNamed('kept', { defer: 'never', description: 'x'.repeat(1_000) }),
    ]);
    expect(catalogue.deferred.map(({ name }) => name)).toEqual(['alone']);
    expect(catalogue.direct.map(({ name }) => name)).toEqual(['kept']);
  });

  it.each([
    ['invoke', ['guarded', 'judged']],
    ['search', []],
  ] as const)('CR-02 keeps tools that ask for approval in every request under %s', (preset, direct) => {
    const catalogue = catalogueOf(
      [
        toolNamed('plain', { defer: 'always' }),
        toolNamed('guarded', { defer: 'always', needsApproval: true }),
        toolNamed('judged', { defer: 'always', needsApproval: () => false }),
      ],
      { discovery: { preset } },
    );
    expect(catalogue.direct.map(({ name }) => name)).toEqual(direct);
  });

  it('CR-02 keeps them there beside a given baseline', () => {
    const tools = [toolNamed('plain'), toolNamed('guarded', { needsApproval: true }), toolNamed('base')];
    const catalogue = catalogueOf(tools, { discovery: { preset: 'invoke', direct: ['base'] } });
    expect(catalogue.direct.map(({ name }) => name)).toEqual(['base', 'guarded']);
  });
});

describe('nothing deferred', () => {
  it.each(PRESET_NAMES)('CR-03 leaves the tools as they are under %s', async (preset: DiscoveryPreset) => {
    const tool = toolNamed('only');
    const { model } = await playTurn('memory', [reply().text('Done.')], {
      agent: { tools: [withoutContext(tool)], instructions: 'Work.' },
      run: { discovery: { preset } },
    });
    const [request] = model.requests;
    expect(request?.toolNames).toEqual(['only']);
    expect(request?.system).toBe('Work.');
  });

  it('CR-03 sends the very definitions of the binding', async () => {
    const { model } = await playTurn('memory', [reply().call('only', {}), reply().text('Done.')], {
      agent: { tools: [withoutContext(toolNamed('only'))] },
    });
    const [first, second] = model.requests.map(({ request }) => request.tools[0]);
    expect(second).toBe(first);
  });
});

describe('applies', () => {
  it('CR-04 filters by the scope of the turn, and a throw takes out its own tool alone', () => {
    const seen: ToolScope[] = [];
    const tools = [
      toolNamed('zeta'),
      toolNamed('broken', {
        applies: () => {
          throw new Error('no');
        },
      }),
      toolNamed('mine', {
        applies: (scope) => {
          seen.push(scope);
          return scope.agent === 'worker';
        },
      }),
      toolNamed('theirs', { applies: (scope) => scope.agent === 'other' }),
      toolNamed('alpha', { defer: 'always' }),
    ];
    const catalogue = catalogueOf(tools, { scope: { context: { tenant: 7 } } });
    expect(catalogue.direct.map(({ name }) => name)).toEqual(['mine', 'zeta']);
    expect(catalogue.deferred.map(({ name }) => name)).toEqual(['alpha']);
    expect(seen).toEqual([
      { agent: 'worker', agentPath: ['worker'], sessionId: 's-1', context: { tenant: 7 } },
    ]);
  });

  it('CR-04 sorts by name for any order of registration', () => {
    const names = ['b', 'a_2', 'a_10', 'B2', 'c'];
    fc.assert(
      fc.property(fc.shuffledSubarray(names, { minLength: names.length }), (order) => {
        const { direct } = catalogueOf(order.map((name) => toolNamed(name)));
        expect(direct.map(({ name }) => name)).toEqual(['B2', 'a_10', 'a_2', 'b', 'c']);
      }),
    );
  });
});

describe('identities', () => {
  it('CR-09 are refused where two would be sent under one name', () => {
    const wireName = bindTools([toolNamed('a.b')]).tools[0]?.definition.name ?? '';
    const shadow = () => bindTools([toolNamed('a.b'), toolNamed(wireName)]);
    expect(shadow).toThrow(expect.objectContaining({ code: 'look-alike-tool-name' }));
  });

  it('CR-09 of one name are refused at composition', () => {
    const twice = () => bindTools([toolNamed('read'), toolNamed('read')]);
    expect(twice).toThrow(expect.objectContaining({ code: 'duplicate-tool' }));
  });
});
