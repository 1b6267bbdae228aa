import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/agent/define-agent.ts';
import { isSwarmError } from '../../src/errors.ts';
import type { JsonObject } from '../../src/ledger/content.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { foldSession } from '../../src/ledger/turn-facts.ts';
import { failure, reply } from '../../src/testing/reply.ts';
import type { Script } from '../../src/testing/script.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { DiscoveryOptions, RepairOptions } from '../../src/tools/discovery-policy.ts';
import { presetTools } from '../support/discovery-presets.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';

/** A tool that wants two numbers, and tells of what it got. */
function adder(inputs: unknown[]) {
  return defineTool({
    name: 'add',
    description: 'Adds two numbers.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: (input) => {
      inputs.push(input);
      return input.a + input.b;
    },
  });
}

async function playAdd(args: JsonObject | string, repair: RepairOptions | undefined, name = 'add') {
  const inputs: unknown[] = [];
  const played = await playTurn(
    'memory',
    [reply().call(name, args).usage(10, 1), reply().text('Done.').usage(20, 2)],
    {
      agent: { tools: [adder(inputs)], ...(repair === undefined ? {} : { discovery: { repair } }) },
    },
  );
  return { ...played, inputs, called: ofType(played.records, 'tool.called')[0]?.data };
}

const helper = (script: Script) => scriptedModel({ script, modelId: 'helper', provider: 'aside' });
const codesOf = (records: readonly LedgerRecord[]) =>
  ofType(records, 'tool.refused').map(({ data }) => data.code);
const auxiliaryOf = (records: readonly LedgerRecord[]) =>
  ofType(records, 'step.closed').flatMap(({ data }) => data.auxiliary ?? []);

describe('mending without a model', () => {
  it.each([
    ['JSON written as a text', JSON.stringify(JSON.stringify({ a: 1, b: 2 }))],
    ['a sole arguments key', { arguments: { a: 1, b: 2 } }],
    ['a sole arguments key that holds a text', { arguments: '{"a":1,"b":2}' }],
    ['a sole arguments key around numbers written as texts', { arguments: { a: '1', b: 2 } }],
  ])('CR-07 unwraps %s', async (_, args) => {
    const model = helper([]);
    const { inputs, called, records } = await playAdd(args, { model });
    expect(inputs).toEqual([{ a: 1, b: 2 }]);
    expect(called?.args).toEqual({ a: 1, b: 2 });
    expect(called?.repaired).not.toBeUndefined();
    expect(auxiliaryOf(records)).toEqual([]);
  });

  it('CR-07 keeps an arguments key that the tool has', async () => {
    const inputs: unknown[] = [];
    const tool = defineTool({
      name: 'run',
      description: 'Runs.',
      inputSchema: z.object({ arguments: z.object({ a: z.number() }) }),
      execute: (input) => inputs.push(input),
    });
    await playTurn('memory', [reply().call('run', { arguments: { a: 1 } }), reply().text('Done.')], {
      agent: { tools: [tool] },
    });
    expect(inputs).toEqual([{ arguments: { a: 1 } }]);
  });

  it('CR-07 refuses what it cannot mend, where no model is given', async () => {
    const { inputs, records } = await playAdd({ a: 'one' }, undefined);
    expect(inputs).toEqual([]);
    expect(codesOf(records)).toEqual(['invalid-arguments']);
  });
});

describe('mending arguments by a model', () => {
  it('CR-07 asks it once, and checks what it gives', async () => {
    const model = helper([reply().text('```json\n{"a":1,"b":2}\n```').usage(5, 3)]);
    const { inputs, called } = await playAdd({ a: 'one', b: 'two' }, { model });
    expect(inputs).toEqual([{ a: 1, b: 2 }]);
    expect(called).toMatchObject({ args: { a: 1, b: 2 }, repaired: ['model'] });
    model.assertPlayedOut();
  });

  it('CR-07 tells it the schema, the arguments and what is wrong with them', async () => {
    const model = helper([reply().text('{"a":1,"b":2}')]);
    await playAdd({ a: 'one', b: 2 }, { model });
    const [request] = model.requests;
    const asked = JSON.parse(request?.lastText ?? '');
    expect(asked).toMatchObject({
      tool: 'add',
      schema: { required: ['a', 'b'] },
      arguments: '{"a":"one","b":2}',
    });
    expect(asked.problem).toContain('a: expected number');
    expect(request?.request).toMatchObject({ tools: [], toolChoice: { type: 'none' } });
  });

  it('CR-07 asks for the schema as the form of the answer, of a model that can', async () => {
    const model = scriptedModel({
      script: [reply().text('{"a":1,"b":2}')],
      capabilities: { structuredOutput: true },
    });
    await playAdd({ a: 'one', b: 2 }, { model });
    expect(model.requests[0]?.request.responseSchema).toMatchObject({ required: ['a', 'b'] });
  });

  it.each([
    ['arguments that are wrong again', reply().text('{"a":"one","b":2}')],
    ['no JSON', reply().text('I cannot.')],
    ['nothing', reply().text('')],
    ['a failure', failure({ kind: 'overloaded' })],
  ])('CR-07 leaves the call as it was where the model gives %s', async (_, answer) => {
    const model = helper([answer]);
    const { inputs, records, called, result } = await playAdd({ a: 'one', b: 2 }, { model });
    expect(inputs).toEqual([]);
    expect(called?.args).toEqual({ a: 'one', b: 2 });
    expect(called?.repaired).toBeUndefined();
    expect(codesOf(records)).toEqual(['invalid-arguments']);
    expect(result.status).toBe('completed');
    expect(model.requests).toHaveLength(1);
  });

  it('CR-07 does not ask about a name that no tool has', async () => {
    const model = helper([]);
    const { records } = await playAdd({ a: 'one' }, { model }, 'subtract');
    expect(codesOf(records)).toEqual(['unknown-tool']);
    expect(model.requests).toEqual([]);
  });

  it('CR-07 does not ask about arguments that may have been cut off', async () => {
    const model = helper([]);
    const inputs: unknown[] = [];
    await playTurn('memory', [reply().call('add', '{"a":1,').finish('length'), reply().text('Done.')], {
      agent: { tools: [adder(inputs)], discovery: { repair: { model } } },
    });
    expect(model.requests).toEqual([]);
  });

  it('CR-07 does not ask about a tool that is not active', async () => {
    const model = helper([]);
    for (const preset of ['search', 'placeholder', 'invoke'] as const) {
      const call = preset === 'invoke' ? 'tool_invoke' : 'get_weather';
      const args = preset === 'invoke' ? { name: 'get_weather', params: { town: 1 } } : { town: 1 };
      await playTurn('memory', [reply().call(call, args), reply().text('Done.')], {
        agent: { tools: presetTools(), discovery: { preset, repair: { model } } },
      });
    }
    expect(model.requests).toEqual([]);
  });

  it('CR-07 mends what a call through tool_invoke gives the tool it means', async () => {
    const model = helper([reply().text('{"city":"Oslo"}')]);
    const inputs: unknown[] = [];
    await playTurn(
      'memory',
      [
        reply().call('tool_inspect', { name: 'get_weather' }),
        reply().call('tool_invoke', { name: 'get_weather', params: { town: 'Oslo' } }),
        reply().text('Done.'),
      ],
      {
        agent: {
          tools: presetTools((_, input) => inputs.push(input)),
          discovery: { preset: 'invoke', repair: { model } },
        },
      },
    );
    expect(inputs).toEqual([{ city: 'Oslo', days: 1 }]);
  });
});

describe('what mending costs', () => {
  it('is counted as a request beside the step, with its usage', async () => {
    const model = helper([reply().text('{"a":1,"b":2}').usage(5, 3)]);
    const { records, result } = await playAdd({ a: 'one', b: 2 }, { model });
    expect(auxiliaryOf(records)).toEqual([
      {
        purpose: 'arguments',
        provider: 'aside',
        model: 'helper',
        status: 'completed',
        usage: expect.objectContaining({ inputTokens: 5, outputTokens: 3 }),
      },
    ]);
    expect(result).toMatchObject({ steps: 2, usage: { total: { inputTokens: 35, outputTokens: 6 } } });
    const [step] = foldSession(records).turns[0]?.steps ?? [];
    expect(step?.closed?.data.usage).toMatchObject({ inputTokens: 10 });
  });

  it('makes the sum of a run unknown where the model reports none', async () => {
    const model = helper([reply().text('{"a":1,"b":2}')]);
    const { records } = await playAdd({ a: 'one', b: 2 }, { model });
    expect(ofType(records, 'turn.closed')[0]?.data.usage).toBeUndefined();
  });

  it('is bounded for each step', async () => {
    const model = helper(() => reply().text('{"a":1,"b":2}'));
    const inputs: unknown[] = [];
    const many = Array.from({ length: 5 }).reduce<ReturnType<typeof reply>>(
      (made) => made.call('add', { a: 'one', b: 2 }),
      reply(),
    );
    await playTurn('memory', [many, reply().text('Done.')], {
      agent: {
        tools: [adder(inputs)],
        discovery: { repair: { model } },
        limits: { tools: { maxRepairs: 3 } },
      },
    });
    expect(model.requests).toHaveLength(3);
    expect(inputs).toHaveLength(3);
  });

  it('is not spent once the tokens of the run are', async () => {
    const model = helper([]);
    const inputs: unknown[] = [];
    await playTurn('memory', [reply().call('add', { a: 'one', b: 2 }).usage(80, 1)], {
      agent: { tools: [adder(inputs)], discovery: { repair: { model } } },
      run: { budget: { tokens: 80 } },
    });
    expect(model.requests).toEqual([]);
  });
});

describe('mending names by a model', () => {
  const named = (model: ReturnType<typeof helper> | undefined): DiscoveryOptions => ({
    repair: { names: 'model', ...(model === undefined ? {} : { model }) },
  });

  async function playName(answer: string, name = 'sum_up') {
    const model = helper([reply().text(answer)]);
    const inputs: unknown[] = [];
    const played = await playTurn('memory', [reply().call(name, { a: 1, b: 2 }), reply().text('Done.')], {
      agent: { tools: [adder(inputs), ...presetTools()], discovery: named(model) },
    });
    return { ...played, inputs, asked: model.requests };
  }

  it('runs the visible tool that was meant', async () => {
    const { inputs, records, asked } = await playName('{"name":"add"}');
    expect(inputs).toEqual([{ a: 1, b: 2 }]);
    expect(ofType(records, 'tool.called')[0]?.data).toMatchObject({
      toolName: 'add',
      requestedName: 'sum_up',
    });
    expect(JSON.parse(asked[0]?.lastText ?? '')).toEqual({
      called: 'sum_up',
      tools: ['add', 'note', 'tool_search'],
    });
    expect(auxiliaryOf(records)).toMatchObject([{ purpose: 'name', status: 'completed' }]);
  });

  it.each(['{"name":""}', '{"name":"get_weather"}', '{"name":"launch"}', 'add', '[]'])(
    'leaves the name as it was for the answer %s',
    async (answer) => {
      const { inputs, records, model } = await playName(answer);
      expect(inputs).toEqual([]);
      expect(codesOf(records)).toEqual(['unknown-tool']);
      expect(lastResults(model, 1)[0]).toContain('sum_up');
    },
  );

  it('asks nobody where case alone tells', async () => {
    const model = helper([]);
    const inputs: unknown[] = [];
    await playTurn('memory', [reply().call('ADD', { a: 1, b: 2 }), reply().text('Done.')], {
      agent: { tools: [adder(inputs)], discovery: named(model) },
    });
    expect(inputs).toHaveLength(1);
  });

  it('asks the model of the agent where no other is given', async () => {
    const inputs: unknown[] = [];
    const { model } = await playTurn(
      'memory',
      [reply().call('sum_up', { a: 1, b: 2 }), reply().text('{"name":"add"}'), reply().text('Done.')],
      { agent: { tools: [adder(inputs)], discovery: named(undefined) } },
    );
    expect(inputs).toHaveLength(1);
    expect(model.requests).toHaveLength(3);
  });

  it('has no request left for the arguments of the same call', async () => {
    const model = helper([reply().text('{"name":"add"}')]);
    const inputs: unknown[] = [];
    const { records } = await playTurn(
      'memory',
      [reply().call('sum_up', { a: 'one' }), reply().text('Done.')],
      { agent: { tools: [adder(inputs)], discovery: named(model) } },
    );
    expect(codesOf(records)).toEqual(['invalid-arguments']);
    expect(model.requests).toHaveLength(1);
  });
});

describe('options of mending', () => {
  it.each([
    ['a model that is none', { model: {} }, 'discovery.repair.model'],
    ['an unknown way to mend names', { names: 'guess' }, 'discovery.repair.names'],
    ['an unknown field', { retries: 3 }, 'discovery.repair'],
  ])('refuses %s', (_, repair, path) => {
    try {
      // Wrong on purpose.
      const discovery = { repair } as unknown as DiscoveryOptions;
      defineAgent({ name: 'worker', instructions: 'Work.', model: helper([]), discovery });
      expect.unreachable();
    } catch (error) {
      expect(isSwarmError(error, 'invalid-definition')).toBe(true);
      expect(error).toMatchObject({ message: expect.stringContaining(path) });
    }
  });
});
