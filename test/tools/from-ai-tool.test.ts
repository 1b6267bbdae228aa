import { dynamicTool, jsonSchema, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AiToolOptions, fromAiTool } from '../../src/index.ts';
import { reply } from '../../src/testing/reply.ts';
import { requestsOf, startApprovalRun } from '../support/approval-run.ts';
import { playTurn } from '../support/played-turn.ts';
import { lastResults } from '../support/requests.ts';
import { ofType } from '../support/run-events.ts';
import { searching, toolsOf } from '../support/search-turns.ts';

const done = reply().text('Done.');
const PNG = 'iVBORw0KGgo=';

/** One call of an AI SDK tool, in a turn. */
async function call(
  made: Parameters<typeof fromAiTool>[1],
  args: Parameters<ReturnType<typeof reply>['call']>[1] = {},
  more: { readonly options?: AiToolOptions; readonly context?: unknown } = {},
) {
  const { model, records } = await playTurn('memory', [reply().call('made', args), done], {
    agent: { tools: [fromAiTool('made', made, more.options)] },
    run: { context: more.context },
  });
  return {
    model,
    records,
    result: lastResults(model, 1)[0],
    settled: ofType(records, 'tool.settled')[0]?.data,
  };
}

describe('a tool of the AI SDK', () => {
  it('keeps its description and schema, and gets its parsed input, call id, context and signal', async () => {
    const seen: unknown[] = [];
    const made = tool({
      description: 'Weighs.',
      inputSchema: z.object({
        kg: z.number().default(2),
        of: z.string().transform((text) => text.toUpperCase()),
      }),
      execute: (input, { toolCallId, messages, abortSignal, context }) => {
        seen.push([input, toolCallId, messages, abortSignal?.aborted, context]);
        return 'weighed';
      },
    });
    const { model, records, result } = await call(made, { of: 'tin' }, { context: { who: 'Ann' } });
    expect(model.requests[0]?.request.tools[0]).toMatchObject({
      name: 'made',
      description: 'Weighs.',
      inputSchema: { properties: { kg: { default: 2 }, of: { type: 'string' } }, required: ['of'] },
    });
    const callId = ofType(records, 'tool.called')[0]?.call;
    expect(seen).toEqual([[{ kg: 2, of: 'TIN' }, callId, [], false, { who: 'Ann' }]]);
    expect(ofType(records, 'tool.called')[0]?.data.args).toEqual({ of: 'tin' });
    expect(result).toBe('weighed');
  });

  it('is refused before it runs where its arguments break its schema', async () => {
    let runs = 0;
    const made = tool({ inputSchema: z.object({ at: z.string() }), execute: () => ++runs });
    const { records, result } = await call(made, { at: { not: 'text' } });
    expect(runs).toBe(0);
    expect(ofType(records, 'tool.refused').map(({ data }) => data.code)).toEqual(['invalid-arguments']);
    expect(result).toContain('at');
  });

  it('takes a JSON Schema, whose own check holds too and may change the value', async () => {
    const seen: unknown[] = [];
    const made = tool({
      inputSchema: jsonSchema<{ at: number }>(
        { type: 'object', properties: { at: { type: 'number' } }, required: ['at'] },
        {
          validate: (value) => {
            const { at } = value as { at: number };
            return at > 0
              ? { success: true, value: { at: -at } }
              : { success: false, error: new Error(String(at)) };
          },
        },
      ),
      execute: (input) => {
        seen.push(input);
        return 'ok';
      },
    });
    expect((await call(made, { at: 3 })).result).toBe('ok');
    const refused = await call(made, { at: -3 });
    expect(refused.settled?.status).toBe('error');
    expect(refused.result).not.toContain('-3');
    expect((await call(made, { at: true })).records.some(({ type }) => type === 'tool.refused')).toBe(true);
    expect(seen).toEqual([{ at: -3 }]);
  });

  it('may be dynamic, and return JSON', async () => {
    const made = dynamicTool({
      inputSchema: z.object({}),
      execute: async () => ({ found: [1, 2], endTurn: true, output: 'not ours' }),
    });
    const { result, model } = await call(made);
    expect(result).toBe('{"endTurn":true,"found":[1,2],"output":"not ours"}');
    // What looks like the end of a turn is a value of somebody else.
    expect(model.requests).toHaveLength(2);
  });

  it('tells what it yields as progress, and its last value as the result', async () => {
    const made = tool({
      inputSchema: z.object({}),
      async *execute() {
        yield 'a third';
        yield { half: true };
        yield 'whole';
      },
    });
    const { records, result } = await call(made);
    expect(result).toBe('whole');
    expect(ofType(records, 'tool.progressed')[0]?.data.text).toContain('a third');
  });

  it('fails like any other tool', async () => {
    const made = tool({
      inputSchema: z.object({}),
      execute: (): string => {
        throw new TypeError('out of tin');
      },
    });
    const { result, settled } = await call(made);
    expect(settled?.status).toBe('error');
    expect(result).toContain('out of tin');
  });

  it('checks the context of the run by its schema', async () => {
    const made = {
      inputSchema: z.object({}),
      contextSchema: z.object({ who: z.string() }),
      execute: (_: unknown, { context }: { readonly context: { readonly who: string } }) => context.who,
    };
    expect((await call(made, {}, { context: { who: 'Ann' } })).result).toBe('Ann');
    expect((await call(made, {}, { context: { who: 1 } })).settled?.status).toBe('error');
  });

  it('is found by search where it asks to be deferred, and options win', async () => {
    const made = tool({
      description: 'Paints.',
      inputSchema: z.object({}),
      deferLoading: true,
      execute: () => 'ok',
    });
    const { model } = await playTurn('memory', [searching('paint'), done], {
      agent: { tools: [fromAiTool('paint', made)] },
    });
    expect(toolsOf(model)).toEqual([['tool_search'], ['tool_search', 'paint']]);
    const { model: direct } = await call(made, {}, { options: { defer: 'never', description: 'Else.' } });
    expect(direct.requests[0]?.request.tools[0]).toMatchObject({ name: 'made', description: 'Else.' });
  });
});

describe('what the model sees of an AI SDK tool', () => {
  const shown = (toModelOutput: NonNullable<Parameters<typeof tool>[0]['toModelOutput']>) =>
    call(tool({ inputSchema: z.object({}), execute: () => ({ secret: 1 }), toModelOutput }));

  it.each([
    ['text', { type: 'text', value: 'seen' }, { type: 'text', text: 'seen' }],
    ['JSON', { type: 'json', value: { a: 1 } }, { type: 'json', value: { a: 1 } }],
    ['an error', { type: 'error-text', value: 'no' }, { type: 'error', text: 'no' }],
    ['an error as JSON', { type: 'error-json', value: { no: 1 } }, { type: 'error', text: '{"no":1}' }],
    ['a denial', { type: 'execution-denied', reason: 'no' }, { type: 'error', text: 'denied: no' }],
  ] as const)('is its own mapping: %s', async (_, output, expected) => {
    const { settled } = await shown(() => output);
    expect(settled?.output).toEqual(expected);
  });

  it('may hold images and files; what only a provider can resolve is named', async () => {
    const { settled } = await shown(async () => ({
      type: 'content',
      value: [
        { type: 'text', text: 'Look:' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PNG } },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: Buffer.from(PNG, 'base64') } },
        { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'inline' } },
        { type: 'image-url', url: 'https://example.test/a.png' },
        { type: 'file-id', fileId: 'f-1' },
      ],
    }));
    const output = settled?.output;
    const parts = output?.type === 'content' ? output.parts : [];
    expect(
      parts.map((part) => (part.type === 'text' ? part.text : `${part.type} ${part.mediaType}`)),
    ).toEqual([
      'Look:',
      'image image/png',
      'image image/png',
      'inline',
      'image image/*',
      '[file-id: not available here]',
    ]);
  });

  it('is made with the call and its input, while the value itself is kept', async () => {
    const made = tool({
      inputSchema: z.object({ id: z.string() }),
      execute: () => ({ secret: 1 }),
      toModelOutput: async ({ toolCallId, input, output }) => ({
        type: 'text',
        value: `${toolCallId !== ''} ${input.id} ${output.secret}`,
      }),
    });
    const { settled } = await call(made, { id: 'x' });
    expect(settled).toMatchObject({ output: { type: 'text', text: 'true x 1' }, result: { secret: 1 } });
  });

  it('is an error where the mapping fails or gives what nobody knows', async () => {
    const thrown = await shown(() => {
      throw new TypeError('no');
    });
    expect(thrown.settled).toMatchObject({ status: 'error', output: { type: 'error' } });
    const odd = await shown(() => ({ type: 'hologram' }) as never);
    expect(odd.settled).toMatchObject({ status: 'error', output: { type: 'error' } });
    expect(JSON.stringify(odd.records)).not.toContain('secret');
  });
});

describe('approval of an AI SDK tool', () => {
  it.each([
    ['always', true],
    ['by its input', ({ kg }: { kg: number }) => kg > 10],
    ['where deciding fails', () => Promise.reject(new TypeError('no'))],
  ])('is asked for %s', async (_, needsApproval) => {
    const made = tool({
      inputSchema: z.object({ kg: z.string().transform(Number) }),
      needsApproval,
      execute: ({ kg }) => `${kg} kg`,
    });
    const { runtime, run, model, finish } = await startApprovalRun(
      'memory',
      [reply().call('made', { kg: '11' }), done],
      { tools: () => [fromAiTool('made', made)] },
    );
    const [request = ''] = await requestsOf(run, 1);
    await runtime.approvals.decide(request, { decision: 'approve' });
    await finish();
    expect(lastResults(model, 1)).toEqual(['11 kg']);
  });

  it('is not asked for where its input needs none', async () => {
    const asked: unknown[] = [];
    const made = tool({
      inputSchema: z.object({ kg: z.number() }),
      needsApproval: (input, { toolCallId, context }) => {
        asked.push([input, toolCallId !== '', context]);
        return false;
      },
      execute: ({ kg }) => `${kg} kg`,
    });
    expect((await call(made, { kg: 1 }, { context: 'Ann' })).result).toBe('1 kg');
    expect(asked).toEqual([[{ kg: 1 }, true, 'Ann']]);
  });
});

describe('fromAiTool', () => {
  const inputSchema = z.object({});
  const execute = () => '';

  it.each([
    ['nothing', undefined],
    ['a tool without execute', tool({ inputSchema, outputSchema: z.string() })],
    ['a tool whose description is a function', tool({ inputSchema, description: () => '', execute })],
    [
      'a tool of a provider',
      { type: 'provider', id: 'p.search', args: {}, inputSchema, isProviderExecuted: true },
    ],
  ])('refuses %s', (_, made) => {
    // What JavaScript callers may pass.
    expect(() => fromAiTool('made', made as Parameters<typeof fromAiTool>[1])).toThrow(
      expect.objectContaining({ code: 'invalid-definition', message: expect.stringContaining('made') }),
    );
  });

  it.each([
    ['what the SDK cannot read', { '~standard': { vendor: 'none', validate: () => ({ value: 1 }) } }],
    ['a promise', jsonSchema(() => Promise.resolve({ type: 'object' as const }))],
  ])('refuses a schema that is %s', (_, schema) => {
    expect(() =>
      fromAiTool('made', { inputSchema: schema, execute } as Parameters<typeof fromAiTool>[1]),
    ).toThrow(expect.objectContaining({ code: 'unusable-schema' }));
  });
});
