import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkFailure, error, type FailureRow } from '../support/failure-rows.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { playReply } from '../support/run-step.ts';
import { type SseServer, startSseServer, status } from '../support/sse-server.ts';

let server: SseServer;
beforeAll(async () => {
  server = await startSseServer();
});
afterAll(() => server[Symbol.asyncDispose]());
expectSilence();

const FAILURES: readonly FailureRow[] = [
  {
    title: '400 other',
    code: 400,
    body: error('Unknown parameter: foo', { type: 'invalid_request_error' }),
    kind: 'invalid-request',
  },
  {
    title: '404',
    code: 404,
    body: error('The model does not exist', { code: 'model_not_found' }),
    kind: 'invalid-request',
  },
  { title: '405', code: 405, body: '', kind: 'invalid-request' },
  {
    title: '422',
    code: 422,
    body: { detail: [{ loc: ['body', 'tools'], msg: 'Extra inputs are not permitted', input: 'secret' }] },
    kind: 'invalid-request',
  },
  {
    title: 'a redirect',
    code: 302,
    headers: { location: 'http://127.0.0.1:1/elsewhere' },
    kind: 'invalid-request',
  },
  {
    title: 'a permanent redirect',
    code: 308,
    headers: { location: 'http://127.0.0.1:1/elsewhere' },
    kind: 'invalid-request',
  },
  {
    title: 'tool_use_failed',
    code: 400,
    body: error("Failed to call a function. Please adjust your prompt. See 'failed_generation'.", {
      type: 'invalid_request_error',
      code: 'tool_use_failed',
      failed_generation: '{}',
    }),
    kind: 'malformed-response',
    detail: 'tool_use_failed',
    retryable: true,
    maxRetries: 1,
  },
  { title: '401', code: 401, body: error('Incorrect API key provided'), kind: 'auth' },
  { title: '403', code: 403, body: error('Not allowed'), kind: 'auth' },
  {
    title: 'a wrong key with status 400',
    code: 400,
    body: [
      error('API key not valid. Please pass a valid API key.', { code: 400, status: 'INVALID_ARGUMENT' }),
    ],
    kind: 'auth',
  },
  {
    title: '403 moderation',
    code: 403,
    body: error('Your chosen model requires moderation and your input was flagged', { code: 403 }),
    kind: 'content-filter',
  },
  {
    title: '400 content filter',
    code: 400,
    body: error('The response was filtered', {
      code: 'content_filter',
      innererror: { code: 'ResponsibleAIPolicyViolation' },
    }),
    kind: 'content-filter',
  },
  {
    title: '400 data inspection',
    code: 400,
    body: error('Input data may contain inappropriate content.', { code: 'data_inspection_failed' }),
    kind: 'content-filter',
  },
  { title: '408', code: 408, body: error('slow'), kind: 'timeout', detail: 'provider', retryable: true },
  { title: '409', code: 409, body: error('conflict'), kind: 'provider-error', retryable: true },
  {
    title: '500',
    code: 500,
    body: error('Internal server error', { type: 'server_error' }),
    kind: 'provider-error',
    retryable: true,
  },
  {
    title: '500 about our own history',
    code: 500,
    body: error('Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]', {
      code: 500,
      type: 'server_error',
    }),
    kind: 'invalid-request',
    detail: 'history',
  },
  {
    title: '500 of a template',
    code: 500,
    body: error('Jinja Exception: System message must be at the beginning', { code: 500 }),
    kind: 'invalid-request',
    detail: 'history',
  },
  {
    title: '502 with a page',
    code: 502,
    body: '<html><body>Bad gateway at 10.0.0.1</body></html>',
    kind: 'provider-error',
    retryable: true,
  },
  { title: '504 with nothing', code: 504, body: '', kind: 'provider-error', retryable: true },
];

describe('MA-10 a refusal of the provider is one request and one failure', () => {
  it.each(FAILURES)('$title', (row) => checkFailure(server, row));
});

describe('a failure', () => {
  it('carries code and request id', async () => {
    const reply = status(400, error('no', { type: 'invalid_request_error', code: 'bad_thing' }), {
      'x-request-id': 'req_123',
    });
    const { outcome } = await playReply(server, reply);
    expect(outcome).toMatchObject({ failure: { code: 'bad_thing', requestId: 'req_123' } });
  });

  it('names the field a validator complains of, and no value', async () => {
    const body = {
      detail: [
        { loc: ['body', 'tools', 0], msg: 'Extra inputs are not permitted', input: 'my-secret-input' },
      ],
    };
    const { outcome } = await playReply(server, status(422, body));
    expect(outcome).toMatchObject({ failure: { message: 'Extra inputs are not permitted (body.tools.0)' } });
  });

  it('reads no more than the first part of an endless body', async () => {
    let sent = 0;
    const { outcome } = await playReply(server, (response) => {
      response.writeHead(500, { 'content-type': 'text/plain' });
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) sent += 65_536;
      };
      response.on('drain', more);
      more();
    });
    expect(outcome).toMatchObject({ type: 'failed', failure: { kind: 'provider-error', status: 500 } });
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  it('says that nobody listens', async () => {
    const closed = await startSseServer();
    await closed[Symbol.asyncDispose]();
    const { outcome } = await playReply(server, status(200), { baseURL: `${closed.origin}/v1` });
    expect(outcome).toMatchObject({ failure: { kind: 'network', retryable: true, phase: 'connect' } });
    expect(outcome).toMatchObject({ failure: { message: expect.stringContaining('ECONNREFUSED') } });
  });

  it('says that a host is not known', async () => {
    const { outcome } = await playReply(server, status(200), { baseURL: 'http://nowhere.invalid/v1' });
    expect(outcome).toMatchObject({ failure: { kind: 'network', retryable: true, phase: 'connect' } });
  });
});
