import type { JsonObject } from '../ledger/content.ts';
import type { FailureKind, ModelFailure } from '../model/adapter.ts';
import type { PlainResponse, ScriptedResponse, StreamResponse } from './script.ts';

interface FailureForm {
  readonly status: number;
  readonly type: string;
  readonly code?: string;
}

/** How OpenAI-compatible providers say each kind. */
const FORMS: Readonly<Partial<Record<FailureKind, FailureForm>>> = {
  auth: { status: 401, type: 'invalid_request_error', code: 'invalid_api_key' },
  'rate-limited': { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  overloaded: { status: 503, type: 'overloaded_error' },
  'context-overflow': { status: 400, type: 'invalid_request_error', code: 'context_length_exceeded' },
  'invalid-request': { status: 400, type: 'invalid_request_error' },
  'content-filter': { status: 400, type: 'invalid_request_error', code: 'content_filter' },
  'provider-error': { status: 500, type: 'server_error' },
};

/** The `error` object of a failure. */
export function errorBody(failure: ModelFailure): JsonObject {
  const form = FORMS[failure.kind];
  const quota = failure.detail === 'quota' ? 'insufficient_quota' : undefined;
  const code = failure.code ?? quota ?? form?.code;
  return {
    message: failure.message,
    type: quota ?? form?.type ?? 'server_error',
    ...(code === undefined ? {} : { code }),
    param: null,
  };
}

/** What a server does so that a client sees this failure, where a whole request fails. */
export function failureResponse(failure: ModelFailure): ScriptedResponse {
  switch (failure.kind) {
    case 'network':
      return { type: 'reset' };
    case 'timeout':
    case 'aborted':
      return { type: 'silence' };
    case 'malformed-response':
      return emptyStream;
    default:
      return plainFailure(failure);
  }
}

/** A stream that ends before it says anything. */
const emptyStream: StreamResponse = {
  type: 'stream',
  status: 200,
  headers: {},
  parts: [{ type: 'finish', reason: null }],
  done: true,
  splitBytes: [],
};

function plainFailure(failure: ModelFailure): PlainResponse {
  const { retryAfterMs, requestId } = failure;
  return {
    type: 'plain',
    status: failure.status ?? FORMS[failure.kind]?.status ?? 500,
    headers: {
      'content-type': 'application/json',
      ...(retryAfterMs === undefined ? {} : { 'retry-after-ms': String(retryAfterMs) }),
      ...(retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) }),
      ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
    },
    body: JSON.stringify({ error: errorBody(failure) }),
  };
}
