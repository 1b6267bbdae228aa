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

const LIMITS: readonly FailureRow[] = [
  {
    title: 'more tokens than a minute allows',
    code: 413,
    body: error(
      'Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size and try again.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
    kind: 'rate-limited',
    detail: 'request-larger-than-limit',
  },
  {
    title: 'more tokens than a minute allows, as 429',
    code: 429,
    body: error('Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 20000.'),
    kind: 'rate-limited',
    detail: 'request-larger-than-limit',
  },
  {
    title: 'payment required',
    code: 402,
    body: error('Insufficient Balance'),
    kind: 'rate-limited',
    detail: 'quota',
  },
  {
    title: 'insufficient_quota',
    code: 429,
    body: error('You exceeded your current quota, please check your plan and billing details.', {
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
    headers: { 'retry-after': '1' },
    kind: 'rate-limited',
    detail: 'quota',
  },
  {
    title: 'an empty balance',
    code: 429,
    body: error('Your account balance is too low'),
    kind: 'rate-limited',
    detail: 'quota',
  },
  {
    title: 'an empty credit with status 400',
    code: 400,
    body: error('Your credit balance is too low to access the API.'),
    kind: 'rate-limited',
    detail: 'quota',
  },
  {
    title: 'a free quota that is refilled',
    code: 429,
    body: [
      error('You exceeded your current quota. Please retry in 34.07s.', {
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }],
      }),
    ],
    kind: 'rate-limited',
    retryable: true,
    retryAfterMs: 34_000,
  },
  {
    title: '429 with seconds',
    code: 429,
    body: error('slow down'),
    headers: { 'retry-after': '2' },
    kind: 'rate-limited',
    retryable: true,
    retryAfterMs: 2_000,
  },
  {
    title: '429 with retry-after-ms',
    code: 429,
    body: error('slow down'),
    headers: { 'retry-after': '9', 'retry-after-ms': '250' },
    kind: 'rate-limited',
    retryable: true,
    retryAfterMs: 250,
  },
  {
    title: '429 with a time in its text',
    code: 429,
    body: error('Rate limit reached. Please try again in 1.5s.'),
    kind: 'rate-limited',
    retryable: true,
    retryAfterMs: 1_500,
  },
  {
    title: '429 with minutes in its text',
    code: 429,
    body: error('Rate limit reached. Please try again in 6m0s.'),
    kind: 'rate-limited',
    retryable: true,
    retryAfterMs: 360_000,
  },
  { title: '429 without a time', code: 429, body: error('slow down'), kind: 'rate-limited', retryable: true },
  {
    title: 'MA-11 429 with an unparsable time',
    code: 429,
    body: error('slow down, try again in 2s'),
    headers: { 'retry-after': 'soon' },
    kind: 'rate-limited',
    detail: 'bad-retry-after',
  },
  {
    title: 'an overloaded engine as 429',
    code: 429,
    body: error('The engine is currently overloaded', { type: 'engine_overloaded_error' }),
    kind: 'overloaded',
    retryable: true,
  },
  {
    title: '503',
    code: 503,
    body: error('no'),
    headers: { 'retry-after': '3' },
    kind: 'overloaded',
    retryable: true,
    retryAfterMs: 3_000,
  },
  {
    title: '529',
    code: 529,
    body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    kind: 'overloaded',
    retryable: true,
  },
  {
    title: 'overloaded with status 500',
    code: 500,
    body: error('The model is overloaded. Please try again later.'),
    kind: 'overloaded',
    retryable: true,
  },
];

describe('MA-10 a limit of the provider is one request and one failure', () => {
  it.each(LIMITS)('$title', (row) => checkFailure(server, row));

  it('tells the wait until a date', async () => {
    const at = new Date(Date.now() + 60_000).toUTCString();
    const { outcome } = await playReply(server, status(429, error('slow down'), { 'retry-after': at }));
    const waitMs = outcome.type === 'failed' ? (outcome.failure.retryAfterMs ?? 0) : 0;
    expect(waitMs).toBeGreaterThan(55_000);
    expect(waitMs).toBeLessThanOrEqual(60_000);
  });
});
