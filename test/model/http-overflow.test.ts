import { afterAll, beforeAll, describe, it } from 'vitest';
import { checkFailure, error, type FailureRow } from '../support/failure-rows.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { type SseServer, startSseServer } from '../support/sse-server.ts';

let server: SseServer;
beforeAll(async () => {
  server = await startSseServer();
});
afterAll(() => server[Symbol.asyncDispose]());
expectSilence();

const overflow = { kind: 'context-overflow' } as const;

const OVERFLOWS: readonly FailureRow[] = [
  {
    title: 'OpenAI, by code',
    code: 400,
    body: error('Your input exceeds something.', {
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    }),
    ...overflow,
  },
  {
    title: 'OpenAI, by text',
    code: 400,
    body: error(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    ),
    ...overflow,
  },
  {
    title: 'DeepSeek',
    code: 400,
    body: error("This model's maximum context length is 65536 tokens. However, you requested 70000 tokens", {
      code: 'invalid_request_error',
    }),
    ...overflow,
  },
  {
    title: 'Groq',
    code: 400,
    body: error('Please reduce the length of the messages or completion.', { type: 'invalid_request_error' }),
    ...overflow,
  },
  {
    title: 'OpenRouter',
    code: 400,
    body: error(
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens",
      { code: 400 },
    ),
    ...overflow,
  },
  {
    title: 'OpenRouter, what stands behind it',
    code: 400,
    body: error('Provider returned error', {
      code: 400,
      metadata: { raw: '{"message":"prompt is too long: 9 tokens > 8 maximum"}' },
    }),
    ...overflow,
  },
  {
    title: 'Qwen',
    code: 400,
    body: error('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]', {
      code: 'invalid_parameter_error',
    }),
    ...overflow,
  },
  {
    title: 'Kimi',
    code: 400,
    body: error('Invalid request: Your request exceeded model token limit: 131072 (requested: 150000)', {
      type: 'invalid_request_error',
    }),
    ...overflow,
  },
  {
    title: 'llama.cpp',
    code: 400,
    body: error('the request exceeds the available context size, try increasing it', {
      type: 'exceed_context_size_error',
      code: 400,
      n_ctx: 4096,
    }),
    ...overflow,
  },
  {
    title: 'Anthropic wording',
    code: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 215000 tokens > 200000 maximum' },
    },
    ...overflow,
  },
  {
    title: 'Anthropic wording, both limits',
    code: 400,
    body: error('input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'),
    ...overflow,
  },
  {
    title: 'newer vLLM',
    code: 400,
    body: error(
      "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens.",
      { type: 'BadRequestError', code: 400 },
    ),
    ...overflow,
  },
  {
    title: 'vLLM, parenthesized',
    code: 400,
    body: error("Input length (265330) exceeds model's maximum context length (262144)."),
    ...overflow,
  },
  {
    title: 'older vLLM, flat',
    code: 400,
    body: {
      object: 'error',
      message: "This model's maximum context length is 4096 tokens.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    ...overflow,
  },
  {
    title: 'Mistral, flat',
    code: 400,
    body: {
      object: 'error',
      message:
        'Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_prompt',
      code: 3051,
    },
    ...overflow,
  },
  {
    title: 'Gemini, in an array',
    code: 400,
    body: [
      {
        error: {
          code: 400,
          message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    ...overflow,
  },
  {
    title: 'xAI, a string',
    code: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
    ...overflow,
  },
  {
    title: 'LM Studio, a string',
    code: 400,
    body: {
      error:
        'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
    },
    ...overflow,
  },
  {
    title: 'TGI',
    code: 422,
    body: {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens',
      error_type: 'validation',
    },
    ...overflow,
  },
  {
    title: 'a detail text',
    code: 422,
    body: { detail: 'prompt too long; exceeded max context length by 12 tokens' },
    ...overflow,
  },
  {
    title: 'Together',
    code: 422,
    body: error("The input (210000 tokens) is longer than the model's context length (200000 tokens)"),
    ...overflow,
  },
  {
    title: 'MiniMax',
    code: 400,
    body: error('invalid params, context window exceeds limit (2013)'),
    ...overflow,
  },
  {
    title: 'a server that fails on it',
    code: 500,
    body: error('slot: context size has been exceeded'),
    ...overflow,
  },
  {
    title: 'a request of too many bytes',
    code: 413,
    body: '<html>413 Request Entity Too Large</html>',
    ...overflow,
    detail: 'request-size',
  },
];

describe('MA-10 a prompt that is too long is one request and context-overflow', () => {
  it.each(OVERFLOWS)('$title', (row) => checkFailure(server, row));
});
