import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import { LEDGER_KINDS } from '../support/ledgers.ts';
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
import { createToolSpy } from '../support/tool-spy.ts';

const done = reply().text('Done.');

describe('an activation', () => {
  it('TS-05 shows the whole definition from the next step on, and nothing of it before', async () => {
    const tool = deferredTool('paint_fence', {
      description: 'Paints a fence.',
      inputSchema: z.object({ colour: z.string().describe('Any colour.') }),
    });
    const { model } = await playTurn('memory', [searching('fence'), done], { agent: { tools: [tool] } });
    const [first, second] = model.requests.map(({ request }) => request.tools);
    expect(JSON.stringify(first)).not.toContain('paint_fence');
    expect(second?.at(-1)).toEqual({
      name: 'paint_fence',
      description: 'Paints a fence.',
      inputSchema: {
        type: 'object',
        properties: { colour: { type: 'string', description: 'Any colour.' } },
        required: ['colour'],
      },
    });
  });

  it('TS-05 TS-08 leaves the tools of a step alone through all of its attempts', async () => {
    const script = [
      searching('paint_fence'),
      failure({ kind: 'network' }),
      failure({ kind: 'overloaded' }),
      reply().call('paint_fence', {}),
      done,
    ];
    const agent = {
      tools: deferredTools('paint_fence'),
      limits: { attempts: { baseDelayMs: 0, maxDelayMs: 0 } },
    };
    const { model, records } = await playTurn('memory', script, { agent });
    const active = ['tool_search', 'paint_fence'];
    expect(toolsOf(model)).toEqual([['tool_search'], active, active, active, active]);
    expect(activationsOf(records)).toEqual([['paint_fence']]);
    expect(ofType(records, 'step.opened').map(({ data }) => data.active)).toEqual([
      [],
      ['paint_fence'],
      ['paint_fence'],
    ]);
  });

  it.each([
    ['network', 'network' as const],
    ['a timeout', 'timeout' as const],
    ['an overloaded provider', 'overloaded' as const],
  ])('TS-08 is neither rolled back nor repeated by a retry after %s', async (_, kind) => {
    const script = [searching('paint'), failure({ kind }), searching('paint'), done];
    const agent = {
      tools: deferredTools('paint_fence'),
      limits: { attempts: { baseDelayMs: 0, maxDelayMs: 0 } },
    };
    const { model, records } = await playTurn('memory', script, { agent });
    expect(toolsOf(model)[1]).toEqual(toolsOf(model)[2]);
    expect(activationsOf(records)).toEqual([['paint_fence']]);
    expect(toldBy(lastResults(model, 3)[0])).toEqual({ activated: [], alreadyActive: ['paint_fence'] });
  });

  it('TS-08 survives a stream that was cut before its end', async () => {
    const cut = reply().finish(null).withoutDone();
    const agent = {
      tools: deferredTools('paint_fence'),
      limits: { attempts: { baseDelayMs: 0, maxDelayMs: 0 } },
    };
    const { model } = await playTurn('memory', [searching('paint'), cut, done], { agent });
    expect(toolsOf(model)).toEqual([
      ['tool_search'],
      ['tool_search', 'paint_fence'],
      ['tool_search', 'paint_fence'],
    ]);
  });

  it('TS-06 adds up over parallel and later searches, each tool once, until the turn ends', async () => {
    const tools = deferredTools('paint_fence', 'paint_door', 'wash_door', 'wash_car');
    const script = [searching('paint', 'door'), searching('wash'), reply().call('wash_car', {}), done];
    const { model } = await playTurn('memory', script, { agent: { tools } });
    const [, second, third, fourth] = toolsOf(model).map((names) => names.slice(1));
    expect(second).toEqual(['paint_door', 'paint_fence', 'wash_door']);
    expect(third).toEqual(['paint_door', 'paint_fence', 'wash_door', 'wash_car']);
    expect(fourth).toEqual(third);
  });

  it('TS-06 judges parallel searches alike: by the tools that were there when the step began', async () => {
    const tools = deferredTools('paint_fence', 'paint_door');
    const { model, records } = await playTurn('memory', [searching('paint', 'paint'), done], {
      agent: { tools },
    });
    const both = { activated: ['paint_door', 'paint_fence'] };
    expect(lastResults(model, 1).map(toldBy)).toEqual([both, both]);
    expect(searchesOf(records).map(({ alreadyActive }) => alreadyActive)).toEqual([[], []]);
    expect(toolsOf(model)[1]).toEqual(['tool_search', 'paint_door', 'paint_fence']);
  });

  it('TS-06 stands in the order of the calls, in whichever order they settle', async () => {
    const washed = Promise.withResolvers<void>();
    const hooks: Hooks = {
      // The first search goes on only when the outcome of the second is durable.
      beforeActivation: async ({ names }) => {
        if (names.includes('paint_fence')) await washed.promise;
        return undefined;
      },
      afterToolCall: async () => washed.resolve(),
    };
    const agent = { tools: deferredTools('paint_fence', 'wash_car'), hooks };
    const { model, records } = await playTurn('memory', [searching('paint', 'wash'), done], { agent });
    expect(activationsOf(records)).toEqual([['wash_car'], ['paint_fence']]);
    expect(toolsOf(model)[1]).toEqual(['tool_search', 'paint_fence', 'wash_car']);
  });
});

describe('a call beside its search', () => {
  it.each([
    ['after', () => searching('del').call('del', { id: '1' })],
    ['before', () => reply().call('del', { id: '1' }).call('tool_search', { query: 'del' })],
  ])('TS-07 does not run %s it, asks nobody, and is answered', async (_, first) => {
    const spy = createToolSpy();
    const asked: string[] = [];
    const permission = ({ toolName }: { readonly toolName: string }) => {
      asked.push(toolName);
      return 'allow' as const;
    };
    const del = spy.tool('del', undefined, { defer: 'always' });
    const script = [first(), reply().call('del', { id: '2' }), done];
    const { model, records } = await playTurn('memory', script, { agent: { tools: [del], permission } });
    expect(spy.entries.map(({ id }) => id)).toEqual(['2']);
    expect(asked).toEqual(['tool_search', 'del']);
    const refused = ofType(records, 'tool.refused');
    expect(refused.map(({ data }) => data.code)).toEqual(['not-active']);
    const text = lastResults(model, 1).find((result) => result.includes('del did not run'));
    expect(text).toMatch(/available but was not loaded when this step started.*tool_search.*later step/);
    expect(toolsOf(model)[1]).toEqual(['tool_search', 'del']);
    expect(ofType(records, 'tool.dispatched').filter(({ call }) => call === refused[0]?.call)).toEqual([]);
  });

  it('TS-07 does not run even where the search has settled first', async () => {
    const spy = createToolSpy();
    const del = spy.tool('del', undefined, { defer: 'always' });
    // One at a time: the search is over before the call is looked at.
    const agent = { tools: [del], limits: { toolConcurrency: 1 } };
    const script = [searching('del').call('del', { id: '1' }), done];
    const { records } = await playTurn('memory', script, { agent });
    const settled = ofType(records, 'tool.settled').map(({ data }) => data.toolName);
    expect(settled).toEqual(['tool_search']);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['not-active']);
    expect(spy.entries).toEqual([]);
  });
});

describe.each(LEDGER_KINDS)('a mis-cased name on %s', (kind) => {
  it('TD-01 is repaired once its tool is active, and rejected before', async () => {
    const spy = createToolSpy();
    const tool = spy.tool('Paint_Fence', undefined, { defer: 'always' });
    const script = [
      reply().call('paint_fence', { id: '1' }),
      searching('fence'),
      reply().call('PAINT_FENCE', { id: '2' }),
      done,
    ];
    const { model, records } = await playTurn(kind, script, { agent: { tools: [tool] } });
    expect(spy.entries.map(({ id }) => id)).toEqual(['2']);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['unknown-tool']);
    const called = ofType(records, 'tool.called').map(({ data }) => [data.toolName, data.requestedName]);
    expect(called).toEqual([
      ['paint_fence', undefined],
      ['tool_search', undefined],
      ['Paint_Fence', 'PAINT_FENCE'],
    ]);
    expect(model.requests[3]?.messages.flatMap(({ calls }) => calls.map(({ name }) => name)).at(-1)).toBe(
      'Paint_Fence',
    );
  });
});

describe('laws of activation', () => {
  const names = ['paint_fence', 'paint_door', 'wash_door', 'wash_car', 'sell_car', 'sell_house'];
  const words = ['paint', 'wash', 'sell', 'door', 'car', 'house', 'fence', 'zeppelin', ''];
  const query = fc.record({ query: fc.constantFrom(...words), limit: fc.integer({ min: 1, max: 4 }) });
  const steps = fc.array(fc.array(query, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });
  const play = async (plan: readonly (readonly { query: string; limit: number }[])[], bound = names) => {
    const script = [...plan.map((queries) => searching(...queries)), done];
    const run = { boundTools: ['tool_search', ...bound] };
    const { model, records } = await playTurn('memory', script, {
      agent: { tools: deferredTools(...names) },
      run,
    });
    return { visible: toolsOf(model).map((tools) => tools.slice(1)), records };
  };

  it('TS-06 the active set only grows, at the end, and only between steps', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        const { visible } = await play(plan);
        visible.slice(1).forEach((tools, at) => {
          expect(tools.slice(0, visible[at]?.length)).toEqual(visible[at]);
          expect(new Set(tools).size).toBe(tools.length);
        });
      }),
      { numRuns: 25 },
    );
  });

  it('TS-06 the union does not depend on the order of the searches of a step', async () => {
    const shuffled = fc
      .array(query, { minLength: 2, maxLength: 4 })
      .chain((queries) =>
        fc.tuple(fc.constant(queries), fc.shuffledSubarray(queries, { minLength: queries.length })),
      );
    await fc.assert(
      fc.asyncProperty(shuffled, async ([queries, others]) => {
        const [one, other] = [await play([queries]), await play([others])];
        expect(new Set(one.visible[1])).toEqual(new Set(other.visible[1]));
      }),
      { numRuns: 20 },
    );
  });

  it('TS-03 every name in every result is in the binding', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.subarray(names, { minLength: 1 }), async (plan, bound) => {
        const { records, visible } = await play(plan, bound);
        const found = searchesOf(records).flatMap((search) => [
          ...search.ranked,
          ...search.activated,
          ...search.alreadyActive,
        ]);
        for (const name of [...found, ...visible.flat()]) expect(bound).toContain(name);
      }),
      { numRuns: 20 },
    );
  });
});
