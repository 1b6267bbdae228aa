import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PromptMessage, StepRequest } from '../../src/model/adapter.ts';
import { type OpenAiCompatibleOptions, openaiCompatible } from '../../src/model/open-ai-compatible.ts';
import { finish, text } from '../support/chat-chunks.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { request, runStep } from '../support/run-step.ts';
import { messagesOf, type SseServer, sse, startSseServer } from '../support/sse-server.ts';

let server: SseServer;
beforeAll(async () => {
  server = await startSseServer();
});
afterAll(() => server[Symbol.asyncDispose]());
expectSilence();

/** The messages a request has on the wire. */
async function wire(
  messages: readonly PromptMessage[],
  options: Partial<OpenAiCompatibleOptions> = {},
  overrides: Partial<StepRequest> = {},
): Promise<{ role: string; [key: string]: unknown }[]> {
  server.script(sse([...text('ok'), finish('stop')]));
  const model = openaiCompatible({
    baseURL: `${server.origin}/v1`,
    model: 'm-1',
    provider: 'me',
    ...options,
  });
  const { outcome } = await runStep(model, request({ messages, ...overrides }));
  expect(outcome.type).toBe('completed');
  return messagesOf(server);
}

const own = { provider: 'me', model: 'm-1' };

function assistant(
  content: Extract<PromptMessage, { role: 'assistant' }>['content'],
  origin: { provider: string; model: string } | undefined = own,
): PromptMessage {
  return { role: 'assistant', content, ...(origin !== undefined && { origin }) };
}

const thought = { type: 'reasoning', text: 'hm' } as const;
const answer = { type: 'text', text: 'yes' } as const;
const weather = { type: 'call', wireId: 'weather:0', toolName: 'weather', args: { city: 'Rome' } } as const;

describe('thinking in the history', () => {
  it.each([
    ['always', [thought, answer], { content: 'yes', reasoning_content: 'hm' }],
    ['always', [thought, weather], { reasoning_content: 'hm' }],
    ['tool-turns', [thought, answer], { content: 'yes' }],
    ['tool-turns', [thought, weather], { reasoning_content: 'hm' }],
    ['never', [thought, answer], { content: 'yes' }],
    ['never', [thought, weather], {}],
  ] as const)('echoReasoning %s', async (echoReasoning, content, expected) => {
    const [message] = await wire([assistant(content)], { echoReasoning });
    expect(message?.['reasoning_content']).toBe('reasoning_content' in expected ? 'hm' : undefined);
    expect(message).toMatchObject(expected);
  });

  it.each([
    ['another model', { provider: 'me', model: 'm-2' }],
    ['another provider', { provider: 'you', model: 'm-1' }],
  ])('of %s is dropped with its metadata', async (_, origin) => {
    const call = { ...weather, providerMetadata: { chatCompletions: { thoughtSignature: 'sig' } } };
    const [message] = await wire([assistant([thought, answer, call], origin)], { echoReasoning: 'always' });
    expect(message).not.toHaveProperty('reasoning_content');
    expect(JSON.stringify(message)).not.toContain('sig');
    expect(message).toMatchObject({ content: 'yes', tool_calls: [{ function: { name: 'weather' } }] });
  });

  it('of nobody known is dropped', async () => {
    const bare: PromptMessage = { role: 'assistant', content: [thought, answer] };
    const [message] = await wire([bare], { echoReasoning: 'always' });
    expect(message).toEqual({ role: 'assistant', content: 'yes' });
  });

  it('that was all of a message leaves no message behind', async () => {
    const messages = await wire(
      [assistant([thought]), { role: 'user', content: [{ type: 'text', text: 'go on' }] }],
      {
        echoReasoning: 'never',
      },
    );
    expect(messages.map(({ role }) => role)).toEqual(['user']);
  });

  it.each([
    ['api.deepseek.com', 'deepseek', [answer], { reasoning_content: undefined }],
    ['api.deepseek.com', 'deepseek', [weather], { reasoning_content: '' }],
    ['api.deepseek.com', 'deepseek', [thought, answer], { reasoning_content: 'hm' }],
    ['api.moonshot.ai', 'moonshotai', [weather], { reasoning_content: '' }],
    ['api.moonshot.ai', 'moonshotai', [thought, answer], { reasoning_content: undefined }],
    ['api.groq.com', 'groq', [thought, weather], { reasoning_content: undefined }],
    ['api.mistral.ai', 'mistral', [thought, weather], { reasoning_content: undefined }],
    ['api.openai.com', 'openai', [thought, weather], { reasoning_content: undefined }],
    ['10.1.2.3', '10.1.2.3', [thought, weather], { reasoning_content: 'hm' }],
  ] as const)('follows what %s wants', async (host, provider, content, expected) => {
    server.script(sse([...text('ok'), finish('stop')]));
    const model = openaiCompatible({
      baseURL: `http://${host}/v1`,
      model: 'm-1',
      fetch: (_, init) => fetch(`${server.origin}/v1/chat/completions`, init),
    });
    expect(model.provider).toBe(provider);
    await runStep(model, request({ messages: [assistant(content, { provider, model: 'm-1' })] }));
    const [message] = messagesOf(server);
    expect({ reasoning_content: message?.['reasoning_content'] }).toEqual(expected);
  });

  it('goes back as the details it came in', async () => {
    const details = [{ type: 'reasoning.text', text: 'hm', signature: 'sig' }];
    const sealed = { ...thought, providerMetadata: { chatCompletions: { reasoning_details: details } } };
    const [message] = await wire([assistant([sealed, weather])]);
    expect(message).toMatchObject({ reasoning_details: details });
    expect(message).not.toHaveProperty('reasoning_content');
  });
});

describe('calls in the history', () => {
  it('keep the metadata of their own provider', async () => {
    const call = { ...weather, providerMetadata: { chatCompletions: { thoughtSignature: 'sig' } } };
    const [message] = await wire([assistant([call])]);
    expect(message?.['tool_calls']).toEqual([
      {
        id: 'weather:0',
        type: 'function',
        function: { name: 'weather', arguments: '{"city":"Rome"}' },
        extra_content: { google: { thought_signature: 'sig' } },
      },
    ]);
  });

  it.each([['{"city"'], [['Rome']], [null], [undefined]])(
    'have an object for arguments, not %j',
    async (args) => {
      // What a damaged record may hold; the type forbids it.
      const [message] = await wire([assistant([{ ...weather, args: args as never }])]);
      expect(message).toMatchObject({ tool_calls: [{ function: { arguments: '{}' } }] });
    },
  );

  it('keep their id byte for byte by default', async () => {
    const messages = await wire([
      assistant([{ ...weather, wireId: 'functions.weather:0' }]),
      {
        role: 'tool',
        results: [
          { wireId: 'functions.weather:0', toolName: 'weather', output: { type: 'text', text: '3' } },
        ],
      },
    ]);
    expect(messages[0]).toMatchObject({ tool_calls: [{ id: 'functions.weather:0' }] });
    expect(messages[1]).toEqual({ role: 'tool', tool_call_id: 'functions.weather:0', content: '3' });
  });

  it('get nine letters and digits where a provider wants them, the same in call and result, always the same', async () => {
    const turn = (id: string): PromptMessage[] => [
      assistant([{ ...weather, wireId: id }]),
      { role: 'tool', results: [{ wireId: id, toolName: 'weather', output: { type: 'text', text: '3' } }] },
    ];
    const short = await wire(turn('weather:0'), { wireIds: 'hash9' });
    const long = await wire([...turn('weather:0'), ...turn('weather:1'), ...turn('abcDEF123')], {
      wireIds: 'hash9',
    });
    const ids = long.map((message) =>
      message.role === 'tool' ? message['tool_call_id'] : (message['tool_calls'] as { id: string }[])[0]?.id,
    );
    expect(long.slice(0, 2)).toEqual(short);
    expect(ids[0]).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(ids[1]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(3);
    expect(ids[4]).toBe('abcDEF123');
  });
});

describe('results in the history', () => {
  const image = { type: 'image', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } } as const;
  const two: PromptMessage[] = [
    assistant([weather, { ...weather, wireId: 'weather:1' }]),
    {
      role: 'tool',
      results: [
        {
          wireId: 'weather:0',
          toolName: 'weather',
          output: { type: 'content', parts: [{ type: 'text', text: 'map:' }, image] },
        },
        { wireId: 'weather:1', toolName: 'weather', output: { type: 'error', text: 'no such city' } },
      ],
    },
  ];

  it('show images in one user message after all of them', async () => {
    const messages = await wire(two);
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool', 'user']);
    expect(messages[1]?.['content']).toBe('map:\n[image (image/png): in the message after the results]');
    expect(messages[2]?.['content']).toBe('no such city');
    expect(messages[3]?.['content']).toEqual([
      { type: 'text', text: 'image (image/png) of the result of weather:' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ]);
  });

  it('show no images where they are dropped', async () => {
    const messages = await wire(two, { toolResultImages: 'drop' });
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool']);
    expect(messages[1]?.['content']).toBe('map:\n[image (image/png): not shown]');
  });

  it('show no images to a model without eyes', async () => {
    const messages = await wire(two, { capabilities: { images: false } });
    expect(JSON.stringify(messages)).not.toContain('AAAA');
  });

  it('hold images where the provider takes them there', async () => {
    const messages = await wire(two, { toolResultImages: 'native' });
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool']);
    expect(messages[1]?.['content']).toEqual([
      { type: 'text', text: 'map:' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ]);
  });

  it('are JSON where they are values', async () => {
    const messages = await wire([
      assistant([weather]),
      {
        role: 'tool',
        results: [{ wireId: 'weather:0', toolName: 'weather', output: { type: 'json', value: { c: [3] } } }],
      },
    ]);
    expect(messages[1]?.['content']).toBe('{"c":[3]}');
  });
});

describe('what a user says', () => {
  const file = (source: object) =>
    ({ role: 'user', content: [{ type: 'image', mediaType: 'image/png', source }] }) as PromptMessage;

  it.each([
    ['an address', { type: 'url', url: 'https://x.test/a.png' }, 'https://x.test/a.png'],
    ['base64', { type: 'base64', data: 'AAAA' }, 'data:image/png;base64,AAAA'],
    ['a data address', { type: 'url', url: 'data:image/png;base64,AAAA' }, 'data:image/png;base64,AAAA'],
  ])('carries an image as %s', async (_, source, url) => {
    const [message] = await wire([file(source)]);
    expect(message?.['content']).toEqual([{ type: 'image_url', image_url: { url } }]);
  });

  it.each([
    [
      'an artifact that was not read',
      { type: 'artifact', ref: { sha256: 'a'.repeat(64), size: 1, mediaType: 'image/png' } },
    ],
    ['no address', { type: 'url', url: 'not an address' }],
  ])('names an image that is %s', async (_, source) => {
    const [message] = await wire([file(source)]);
    expect(JSON.stringify(message)).toContain('[image (image/png): not available]');
  });

  it('stands behind the system text', async () => {
    const messages = await wire(
      [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      {},
      { system: 'be brief' },
    );
    expect(messages).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'hi' },
    ]);
  });
});
