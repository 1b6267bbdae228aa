import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  Model,
  PromptMessage,
  ReturnedCall,
  StepOutcome,
  StepRequest,
} from '../../src/model/adapter.ts';
import { type AiSdkModelOptions, fromAiSdk } from '../../src/model/from-ai-sdk.ts';
import { finish, text, weather } from '../support/chat-chunks.ts';
import { fakeModel, STOP, streamOf, textParts } from '../support/fake-language-model.ts';
import { expectSilence } from '../support/hear-noise.ts';
import {
  ANTHROPIC_CALLS,
  ANTHROPIC_TEXT,
  GOOGLE_CALLS,
  GOOGLE_TEXT,
  RESPONSES_CALLS,
  RESPONSES_TEXT,
} from '../support/provider-turns.ts';
import { type RanStep, request, runStep, textOf } from '../support/run-step.ts';
import {
  messagesOf,
  type Reply,
  type SseServer,
  sse,
  startSseServer,
  status,
} from '../support/sse-server.ts';

let server: SseServer;
beforeAll(async () => {
  server = await startSseServer();
});
afterAll(() => server[Symbol.asyncDispose]());
expectSilence();

const tool = {
  name: 'weather',
  description: 'the weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const question: PromptMessage = { role: 'user', content: [{ type: 'text', text: 'Rome and Oslo?' }] };

/** What a step said, as history of the next request: the first call succeeded, the second failed. */
function history(outcome: StepOutcome, model: Model): PromptMessage[] {
  const { calls, content } = outcome.report;
  const callOf = (ordinal: number): ReturnedCall => {
    const call = calls[ordinal];
    if (call === undefined) throw new Error(`no call ${ordinal}`);
    return call;
  };
  return [
    question,
    {
      role: 'assistant',
      origin: { provider: model.provider, model: model.modelId },
      content: content.map((part) => {
        if (part.type !== 'call') return part;
        const { wireId, toolName, input, providerMetadata } = callOf(part.ordinal);
        return {
          type: 'call' as const,
          wireId,
          toolName,
          args: JSON.parse(input),
          ...(providerMetadata !== undefined && { providerMetadata }),
        };
      }),
    },
    {
      role: 'tool',
      results: calls.map(({ wireId, toolName, ordinal }) => ({
        wireId,
        toolName,
        output:
          ordinal === 0
            ? { type: 'text' as const, text: '30' }
            : { type: 'error' as const, text: 'no station' },
      })),
    },
  ];
}

interface Turn {
  readonly first: RanStep;
  readonly second: RanStep;
  readonly bodies: readonly { readonly [key: string]: unknown }[];
}

/** A turn of two steps: calls, then an answer to their results. */
async function turn(
  model: Model,
  replies: readonly [Reply, Reply],
  settings: StepRequest['settings'] = {},
): Promise<Turn> {
  server.script(...replies);
  const before = server.requests.length;
  const first = await runStep(model, request({ messages: [question], tools: [tool], settings }));
  const second = await runStep(
    model,
    request({ messages: history(first.outcome, model), tools: [tool], settings }),
  );
  const bodies = server.requests.slice(before).map(({ body }) => body);
  expect(bodies).toHaveLength(2);
  return { first, second, bodies };
}

const anthropic = (options?: AiSdkModelOptions) =>
  fromAiSdk(createAnthropic({ baseURL: `${server.origin}/v1`, apiKey: 'k' })('claude-x'), options);
const openai = () =>
  fromAiSdk(createOpenAI({ baseURL: `${server.origin}/v1`, apiKey: 'k' }).responses('gpt-x'));
const google = () =>
  fromAiSdk(createGoogle({ baseURL: `${server.origin}/v1beta`, apiKey: 'k' })('gemini-2.5-pro'));
const compatible = () =>
  fromAiSdk(
    createOpenAICompatible({ name: 'mine', baseURL: `${server.origin}/v1`, includeUsage: true })('m-1'),
  );

const expectTwoCalls = ({ first, second }: Turn) => {
  expect(first.outcome).toMatchObject({ type: 'completed', finish: { reason: 'tool-calls' } });
  expect(first.outcome.report.calls.map(({ toolName, input }) => [toolName, JSON.parse(input)])).toEqual([
    ['weather', { city: 'Rome' }],
    ['weather', { city: 'Oslo' }],
  ]);
  expect(first.outcome.report.warnings).toEqual([]);
  expect(second.outcome).toMatchObject({ type: 'completed', finish: { reason: 'stop' } });
  expect(second.outcome.report.warnings).toEqual([]);
};

describe('MA-23 a turn with signed thinking and several calls', () => {
  it('of Anthropic sends back thinking, signature, calls and results', async () => {
    const price = { input: 10, output: 100, cacheRead: 1, cacheWrite: 20 };
    const model = anthropic({ price });
    const played = await turn(model, [ANTHROPIC_CALLS, ANTHROPIC_TEXT], { maxOutputTokens: 1_000 });
    expectTwoCalls(played);
    expect(textOf(played.first.outcome, 'reasoning')).toBe('Two cities.');
    expect(played.first.outcome.report.usage).toEqual({
      inputTokens: 30,
      outputTokens: 30,
      totalTokens: 60,
      cacheReadTokens: 8,
      cacheWriteTokens: 2,
      costUsd: (20 * 10 + 8 * 1 + 2 * 20 + 30 * 100) / 1e6,
    });
    expect(played.first.outcome.report.response).toMatchObject({ id: 'msg_1', modelId: 'claude-x' });
    const [, assistant, results] = messagesOf(server);
    expect(assistant?.['content']).toEqual([
      { type: 'thinking', thinking: 'Two cities.', signature: 'sig-1' },
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } },
      { type: 'tool_use', id: 'toolu_2', name: 'weather', input: { city: 'Oslo' } },
    ]);
    expect(results?.['content']).toMatchObject([
      { type: 'tool_result', tool_use_id: 'toolu_1', content: '30' },
      { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no station', is_error: true },
    ]);
  });

  it('of OpenAI sends back sealed thinking with the calls it led to', async () => {
    const settings = {
      providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
    };
    const played = await turn(openai(), [RESPONSES_CALLS, RESPONSES_TEXT], settings);
    expectTwoCalls(played);
    expect(played.first.outcome.report.usage).toEqual({
      inputTokens: 30,
      outputTokens: 30,
      totalTokens: 60,
      cacheReadTokens: 10,
      reasoningTokens: 12,
    });
    expect(played.bodies[1]?.['input']).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', encrypted_content: 'sealed-1', summary: [{ text: 'Two cities.' }] },
      { type: 'function_call', call_id: 'call_0', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
      { type: 'function_call_output', call_id: 'call_0', output: '30' },
      { type: 'function_call_output', call_id: 'call_1', output: '{"error":"no station"}' },
    ]);
  });

  it('of Google sends back the signature of its call', async () => {
    const played = await turn(google(), [GOOGLE_CALLS, GOOGLE_TEXT]);
    expectTwoCalls(played);
    expect(textOf(played.first.outcome, 'reasoning')).toBe('Two cities.');
    expect(played.first.outcome.report.usage).toMatchObject({
      inputTokens: 30,
      outputTokens: 30,
      reasoningTokens: 12,
    });
    const contents = played.bodies[1]?.['contents'] as { parts: unknown[] }[];
    expect(contents[1]?.parts).toContainEqual({
      functionCall: expect.objectContaining({ name: 'weather', args: { city: 'Rome' } }),
      thoughtSignature: 'sig-1',
    });
  });

  it.each([
    ['signed thinking and usage', anthropic, [ANTHROPIC_CALLS, ANTHROPIC_TEXT]],
    [
      'several calls, one of which failed',
      compatible,
      [
        sse([weather('a', 'Rome', 0), weather('b', 'Oslo', 1), finish('tool_calls')]),
        sse([...text('ok'), finish('stop')]),
      ],
    ],
  ] as const)('replays with the same events and the same requests: %s', async (_, make, replies) => {
    const one = await turn(make(), replies);
    const other = await turn(make(), replies);
    expect(other).toEqual(one);
    expect(JSON.stringify(other.bodies)).toBe(JSON.stringify(one.bodies));
  });
});

describe('a change of model', () => {
  it('sends neither thinking nor signature to another provider, and ids it can take', async () => {
    server.script(GOOGLE_CALLS, ANTHROPIC_TEXT);
    const asked = google();
    const { outcome } = await runStep(asked, request({ messages: [question], tools: [tool] }));
    const messages = history(outcome, asked).map((message) =>
      message.role === 'user'
        ? message
        : (JSON.parse(
            JSON.stringify(message).replaceAll(/"wireId":"[^"]*"/g, '"wireId":"functions.weather:0"'),
          ) as PromptMessage),
    );
    await runStep(anthropic(), request({ messages, tools: [tool] }));
    const sent = JSON.stringify(server.requests.at(-1)?.body);
    expect(sent).not.toContain('sig-1');
    expect(sent).not.toContain('Two cities.');
    expect(sent).not.toContain('functions.weather:0');
    expect(sent).toContain('"tool_use"');
  });
});

describe('failures of other packages', () => {
  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

  it.each([
    ['Anthropic before its stream', anthropic, status(529, overloaded), 'overloaded'],
    ['Anthropic in its stream', anthropic, sse([overloaded]), 'overloaded'],
    [
      'OpenAI',
      openai,
      status(429, { error: { message: 'slow', type: 'rate_limit_error', code: 'rate_limit_exceeded' } }),
      'rate-limited',
    ],
    [
      'Google',
      google,
      status(400, {
        error: {
          code: 400,
          message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).',
          status: 'INVALID_ARGUMENT',
        },
      }),
      'context-overflow',
    ],
  ] as const)('MA-10 are one request and one kind: %s', async (_, make, reply, kind) => {
    server.script(reply);
    const before = server.requests.length;
    const { outcome } = await runStep(make());
    expect(outcome).toMatchObject({ type: 'failed', failure: { kind } });
    expect(server.requests.length - before).toBe(1);
  });
});

describe('what is taken for a model', () => {
  it('is one of the interface v3, lifted', async () => {
    const v3 = { ...fakeModel(() => streamOf([...textParts('a'), STOP])), specificationVersion: 'v3' };
    const { outcome } = await runStep(fromAiSdk(v3));
    expect(outcome).toMatchObject({ type: 'completed', report: { content: [{ type: 'text', text: 'a' }] } });
  });

  it.each([
    ['a name', 'openai/gpt-x'],
    ['the interface v2', { ...fakeModel(() => streamOf([])), specificationVersion: 'v2' }],
    ['the interface v9', { ...fakeModel(() => streamOf([])), specificationVersion: 'v9' }],
    ['a model without a stream', { specificationVersion: 'v4', provider: 'p', modelId: 'm' }],
    ['nothing', undefined],
  ])('is not %s', (_, value) => {
    expect(() => fromAiSdk(value as never)).toThrow(expect.objectContaining({ code: 'model-unsupported' }));
  });

  it('names an option that is wrong', () => {
    expect(() =>
      fromAiSdk(
        fakeModel(() => streamOf([])),
        { contextWindow: -1 },
      ),
    ).toThrow(
      expect.objectContaining({ code: 'invalid-model', message: expect.stringMatching(/^contextWindow: /) }),
    );
  });
});

describe('settings for other packages', () => {
  const asked = async (settings: StepRequest['settings'], provider = 'openai.responses') => {
    const model = { ...fakeModel(() => streamOf([...textParts('a'), STOP])), provider };
    const { outcome } = await runStep(fromAiSdk(model), request({ tools: [tool], settings }));
    return { call: model.calls[0], warnings: outcome.report.warnings };
  };

  it('pass provider options as they are', async () => {
    const { call } = await asked({ providerOptions: { openai: { store: false } }, parallelToolCalls: false });
    expect(call?.providerOptions).toEqual({ openai: { store: false, parallelToolCalls: false } });
  });

  it('turn the word around for Anthropic', async () => {
    const { call } = await asked({ parallelToolCalls: false }, 'anthropic.messages');
    expect(call?.providerOptions).toEqual({ anthropic: { disableParallelToolUse: true } });
  });

  it('pass an effort that is known, and warn of what has no meaning', async () => {
    expect((await asked({ reasoning: 'high' })).call?.reasoning).toBe('high');
    const odd = await asked(
      { reasoning: 'very', parallelToolCalls: true, providerOptions: { x: 1 } },
      'cohere.chat',
    );
    expect(odd.call).not.toHaveProperty('reasoning');
    expect(odd.warnings).toHaveLength(3);
  });
});
