import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import type { Model, StepRequest } from '../../src/model/adapter.ts';
import { type OpenAiCompatibleOptions, openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { call, delta, finish, text, usage } from '../support/chat-chunks.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { request, runStep, textOf } from '../support/run-step.ts';
import {
  messagesOf,
  type Received,
  raw,
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

const model = (options: Partial<OpenAiCompatibleOptions> = {}) =>
  openaiCompatible({ baseURL: `${server.origin}/v1`, model: 'm-1', ...options });

/** What one request looks like on the wire. */
async function sent(
  overrides: Partial<StepRequest> = {},
  options: Partial<OpenAiCompatibleOptions> = {},
): Promise<Received & { readonly warnings: readonly string[] }> {
  server.script(sse([...text('ok'), finish('stop')]));
  const { outcome } = await runStep(model(options), request(overrides));
  const received = server.requests.at(-1);
  if (received === undefined) throw new Error('nothing was sent');
  return { ...received, warnings: outcome.report.warnings };
}

const tool = { name: 'weather', description: 'the weather', inputSchema: { type: 'object', properties: {} } };

describe('a request', () => {
  it('MA-01 MA-02 is one request whose tools are definitions only', async () => {
    server.script(sse([call({ index: 0, id: 'c', name: 'weather', args: '{}' }), finish('tool_calls')]));
    const before = server.requests.length;
    const executed: unknown[] = [];
    const armed = { ...tool, execute: () => executed.push(1) };
    const { outcome } = await runStep(model(), request({ tools: [armed] }));
    expect(server.requests.length - before).toBe(1);
    expect(server.requests.at(-1)?.body['tools']).toEqual([
      {
        type: 'function',
        function: { name: 'weather', description: 'the weather', parameters: tool.inputSchema },
      },
    ]);
    expect(outcome.report.calls).toHaveLength(1);
    expect(executed).toEqual([]);
  });

  it('without tools says nothing about tools', async () => {
    const { body } = await sent({ toolChoice: { type: 'none' }, settings: { parallelToolCalls: true } });
    expect(Object.keys(body).sort()).toEqual(['messages', 'model', 'stream', 'stream_options']);
  });

  it.each([
    [{ type: 'auto' }, 'auto'],
    [{ type: 'none' }, 'none'],
    [{ type: 'required' }, 'required'],
    [
      { type: 'tool', toolName: 'weather' },
      { type: 'function', function: { name: 'weather' } },
    ],
  ] as const)('sends the tool choice %j with its tools', async (toolChoice, expected) => {
    const { body } = await sent({ tools: [tool], toolChoice });
    expect(body['tool_choice']).toEqual(expected);
    expect(body['tools']).toHaveLength(1);
  });

  it('reports a call that comes although none was allowed', async () => {
    server.script(sse([call({ index: 0, id: 'c', name: 'weather', args: '{}' }), finish('stop')]));
    const { outcome } = await runStep(model(), request({ tools: [tool], toolChoice: { type: 'none' } }));
    expect(outcome.report.calls).toMatchObject([{ toolName: 'weather', input: '{}' }]);
  });

  it('carries its settings', async () => {
    const { body } = await sent({
      tools: [tool],
      settings: {
        temperature: 0.5,
        topP: 0.9,
        seed: 7,
        maxOutputTokens: 100,
        stopSequences: ['END'],
        presencePenalty: 0.1,
        frequencyPenalty: 0.2,
        parallelToolCalls: false,
        reasoning: 'very-high',
        providerOptions: { openaiCompatible: { top_k: 3 }, other: { x: 1 } },
      },
    });
    expect(body).toMatchObject({
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      max_tokens: 100,
      stop: ['END'],
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      parallel_tool_calls: false,
      reasoning_effort: 'very-high',
      top_k: 3,
    });
    expect(body).not.toHaveProperty('x');
  });

  it('takes provider options under the name of the provider', async () => {
    const settings = { providerOptions: { deepseek: { thinking: { type: 'enabled' } } } };
    const { body, warnings } = await sent({ settings }, { provider: 'deepseek' });
    expect(body['thinking']).toEqual({ type: 'enabled' });
    expect(warnings).toEqual([]);
  });

  it('warns of an option that belongs to no provider', async () => {
    const { body, warnings } = await sent({ settings: { providerOptions: { top_k: 3 } } });
    expect(body).not.toHaveProperty('top_k');
    expect(warnings).toEqual([expect.stringContaining('top_k')]);
  });

  it('allows no more output than the model has', async () => {
    const { body } = await sent({ settings: { maxOutputTokens: 100 } }, { maxOutputTokens: 60 });
    expect(body['max_tokens']).toBe(60);
    expect((await sent({}, { maxOutputTokens: 60 })).body).not.toHaveProperty('max_tokens');
  });

  it.each([
    ['openai', 'max_completion_tokens'],
    ['mistral', 'max_tokens'],
  ])('names the limit as %s wants it', async (provider, field) => {
    const { body } = await sent({ settings: { maxOutputTokens: 9 } }, { provider });
    expect(body[field]).toBe(9);
  });

  it('asks for no usage where the field is refused', async () => {
    expect((await sent({}, { provider: 'mistral' })).body).not.toHaveProperty('stream_options');
    expect((await sent({}, { includeUsage: false })).body).not.toHaveProperty('stream_options');
  });

  it('asks for a schema only of a model that can keep to it', async () => {
    const responseSchema = { type: 'object', properties: { a: { type: 'number' } } };
    const able = await sent({ responseSchema }, { capabilities: { structuredOutput: true } });
    expect(able.body['response_format']).toMatchObject({
      type: 'json_schema',
      json_schema: { schema: responseSchema },
    });
    const unable = await sent({ responseSchema });
    expect(unable.body).not.toHaveProperty('response_format');
    expect(unable.warnings).toEqual([expect.stringContaining('response schema')]);
  });

  it('goes to the address with its query, its key and its headers', async () => {
    const { url, headers, method } = await sent(
      {},
      {
        baseURL: `${server.origin}/openai/v1/?api-version=preview`,
        apiKey: 'k-123456',
        headers: { 'x-team': 'blue' },
      },
    );
    expect([method, url]).toEqual(['POST', '/openai/v1/chat/completions?api-version=preview']);
    expect(headers).toMatchObject({ authorization: 'Bearer k-123456', 'x-team': 'blue' });
    expect((await sent()).headers).not.toHaveProperty('authorization');
  });

  it('has the same bytes when it is made again', async () => {
    const again = { tools: [tool], settings: { temperature: 0 }, system: 'be brief' };
    expect(JSON.stringify((await sent(again)).body)).toBe(JSON.stringify((await sent(again)).body));
  });

  it('follows no redirect', async () => {
    await using elsewhere = await startSseServer();
    server.script(status(307, '', { location: `${elsewhere.origin}/v1/chat/completions` }));
    const { outcome } = await runStep(model({ apiKey: 'k-123456' }));
    expect(outcome).toMatchObject({ type: 'failed', failure: { kind: 'invalid-request', status: 307 } });
    expect(elsewhere.requests).toEqual([]);
  });
});

describe('an endpoint that is not as its name says', () => {
  const history: StepRequest['messages'] = [
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'a' },
        { type: 'call', wireId: 'c', toolName: 'one', args: {} },
      ],
      origin: { provider: 'acme', model: 'm-1' },
    },
  ];
  const refusal = status(400, {
    error: { message: "property 'messages.0.reasoning_content' is unsupported" },
  });
  const demand = status(400, {
    error: { message: 'The reasoning_content in the thinking mode must be passed back to the API.' },
  });
  const ok = sse([...text('ok'), finish('stop')]);
  const echoed = (at: number) => messagesOf(server, at)[0]?.['reasoning_content'];

  it('is believed once when it refuses thinking', async () => {
    const acme = model({ provider: 'acme' });
    server.script(refusal, ok, refusal);
    const first = await runStep(acme, request({ messages: history }));
    expect(first.outcome).toMatchObject({
      failure: { kind: 'invalid-request', detail: 'reasoning-echo', retryable: true, maxRetries: 1 },
    });
    expect((await runStep(acme, request({ messages: history }))).outcome.type).toBe('completed');
    expect([echoed(-2), echoed(-1)]).toEqual(['hm', undefined]);
    const third = await runStep(acme, request({ messages: history }));
    expect(third.outcome).toMatchObject({ failure: { kind: 'invalid-request', retryable: false } });
  });

  it('is believed once when it demands thinking', async () => {
    const acme = model({ provider: 'groq' });
    const messages = history.map((message) => ({ ...message, origin: { provider: 'groq', model: 'm-1' } }));
    server.script(demand, ok);
    await runStep(acme, request({ messages }));
    await runStep(acme, request({ messages }));
    expect([echoed(-2), echoed(-1)]).toEqual([undefined, 'hm']);
  });

  it('is not believed against what the caller said', async () => {
    const acme = model({ provider: 'acme', echoReasoning: 'always' });
    server.script(refusal);
    const { outcome } = await runStep(acme, request({ messages: history }));
    expect(outcome).toMatchObject({ failure: { kind: 'invalid-request', retryable: false } });
  });
});

describe('reasoning_details', () => {
  const details = (...items: object[]) =>
    delta({ content: '', reasoning: items.length ? 'x' : null, reasoning_details: items });
  const signed = sse([
    details({ type: 'reasoning.text', text: '', signature: '', format: 'f', index: 0 }),
    details({ type: 'reasoning.text', text: 'Let ', format: 'f', index: 0 }),
    details({ type: 'reasoning.text', text: 'me', format: 'f', index: 0 }),
    details({ type: 'reasoning.text', signature: 'sig', format: 'f', index: 0 }),
    details({ type: 'reasoning.encrypted', data: 'sealed', id: 'rs', format: 'f', index: 1 }),
    call({ index: 0, id: 'c', name: 'one', args: '{}' }),
    finish('tool_calls'),
    usage(),
  ]);

  it('MA-23 go back joined and unchanged, with their text nowhere else', async () => {
    server.script(signed, sse([...text('ok'), finish('stop')]));
    const router = model({ provider: 'openrouter' });
    const { outcome } = await runStep(router);
    const content = outcome.report.content.map((part) =>
      part.type === 'call' ? ({ type: 'call', wireId: 'c', toolName: 'one', args: {} } as const) : part,
    );
    expect(outcome.report.emitted.metadata).toBe(true);
    await runStep(
      router,
      request({
        messages: [{ role: 'assistant', content, origin: { provider: 'openrouter', model: 'm-1' } }],
      }),
    );
    const [message] = messagesOf(server);
    expect(message).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'one', arguments: '{}' } }],
      reasoning_details: [
        { type: 'reasoning.text', text: 'Let me', signature: 'sig', format: 'f', index: 0 },
        { type: 'reasoning.encrypted', data: 'sealed', id: 'rs', format: 'f', index: 1 },
      ],
    });
  });

  it('that are only sealed stand before the answer', async () => {
    server.script(
      sse([
        delta({ content: 'a', reasoning_details: [{ type: 'reasoning.encrypted', data: 'sealed' }] }),
        finish('stop'),
      ]),
    );
    const { outcome } = await runStep(model());
    expect(outcome.report.content.map(({ type }) => type)).toEqual(['reasoning', 'text']);
  });
});

describe('a line filter', () => {
  it('takes the lines of a proxy out of the stream', async () => {
    const body = `data: {"ping":1}\n\ndata: ${JSON.stringify(delta({ content: 'a' }, 'stop'))}\n\ndata: [DONE]\n\n`;
    server.script(raw(body), raw(body));
    const filtered = await runStep(model({ lineFilter: (data) => !data.includes('"ping"') }));
    expect(textOf(filtered.outcome)).toBe('a');
    expect(filtered.outcome.type).toBe('completed');
    expect((await runStep(model())).outcome.type).toBe('failed');
  });
});

describe('options', () => {
  it.each([
    ['baseURL', { baseURL: 'not an address' }],
    ['baseURL', { baseURL: 'ftp://x.test/v1' }],
    ['baseURL', { baseURL: 'https://me:hidden-word@x.test/v1' }],
    ['baseURL', { baseURL: undefined }],
    ['model', { model: '' }],
    ['apiKey', { apiKey: 'hidden-word\n' }],
    ['apiKey', { apiKey: '' }],
    ['headers.x-a', { headers: { 'x-a': 'hidden-word\nx' } }],
    ['headers.x-a', { headers: { 'x-a': 7 } }],
    ['headers.no good', { headers: { 'no good': 'v' } }],
    ['contextWindow', { contextWindow: 0 }],
    ['maxOutputTokens', { maxOutputTokens: 1.5 }],
    ['price.input', { price: { input: -1, output: 1 } }],
    ['price.output', { price: { input: 1 } }],
    ['capabilities.vision', { capabilities: { vision: true } }],
    ['echoReasoning', { echoReasoning: 'sometimes' }],
    ['wireIds', { wireIds: 'hash8' }],
    ['lineFilter', { lineFilter: 'ping' }],
    ['fetch', { fetch: true }],
    ['maxRetries', { maxRetries: 3 }],
  ])('names %s, and no value', (field, options) => {
    let thrown: unknown;
    try {
      openaiCompatible({ baseURL: 'http://localhost/v1', model: 'm', ...options } as never);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code: 'invalid-model',
      message: expect.stringMatching(new RegExp(`^${field}: `)),
    });
    expect(String(thrown)).not.toContain('hidden-word');
  });

  it('are what the model says of itself', () => {
    const price = { input: 1, output: 2 };
    const made = model({ contextWindow: 100, maxOutputTokens: 10, price, capabilities: { images: true } });
    expectTypeOf(made).toEqualTypeOf<Model>();
    expect(made).toMatchObject({
      provider: '127.0.0.1',
      modelId: 'm-1',
      contextWindow: 100,
      maxOutputTokens: 10,
      price,
      capabilities: { images: true },
    });
    expect(Object.isFrozen(made)).toBe(true);
  });
});
