import { isSwarmError } from '../errors.ts';
import { RESPONSE_LIMITS } from '../limits.ts';
import { type ErrorPayload, looksLikeError, readErrorPayload } from './error-payload.ts';
import { isRecord } from './provider-json.ts';
import { type RetryHint, readRetryHeaders, readRetryText } from './retry-after.ts';

/** What an error tells, in whatever form it came. The error itself holds prompt, body and headers: it is dropped. */
export interface FailureFacts {
  /** Name of the error class of the provider package. */
  readonly name: string;
  /** HTTP status, or the one the body names. Absent for a failure after a good status. */
  readonly status?: number;
  readonly payload: ErrorPayload;
  /** Where to look for words people wrote. */
  readonly text: string;
  /** `code` of the error and of its causes, outermost first. */
  readonly systemCodes: readonly string[];
  /** Messages of the causes, for failures below HTTP. */
  readonly systemMessage: string;
  readonly tooLarge: boolean;
  /** A chunk of the stream was no chunk: neither content nor an error. */
  readonly malformed: boolean;
  readonly retry: RetryHint;
  readonly requestId?: string;
}

/** Reads `error`, which may be anything a model throws or streams. `nowMs` is wall time, for dates. */
export function readFailure(error: unknown, nowMs: number): FailureFacts {
  const fields = asRecord(error);
  const name = typeof fields['name'] === 'string' ? fields['name'] : '';
  const chain = causes(error);
  const payload = payloadOf(error, fields, name);
  const status = httpStatus(fields['statusCode']) ?? payload.status;
  const headers = headersOf(fields['responseHeaders']);
  const requestId = readRequestId(headers);
  return {
    name,
    ...(status !== undefined && { status }),
    payload,
    text: payload.message,
    systemCodes: chain.codes,
    systemMessage: chain.messages.at(-1) ?? '',
    tooLarge: chain.tooLarge,
    malformed: isMalformed(fields, name) || chain.names.includes('AI_EmptyResponseBodyError'),
    retry: retryOf(headers, payload, nowMs),
    ...(requestId !== undefined && { requestId }),
  };
}

const REQUEST_ID_HEADERS = [
  'x-request-id',
  'request-id',
  'apim-request-id',
  'x-amzn-requestid',
  'x-goog-request-id',
  'x-trace-id',
  'cf-ray',
];

/** The id a provider's support asks for. Header names are lower case. */
export function readRequestId(headers: { readonly [name: string]: string }): string | undefined {
  for (const name of REQUEST_ID_HEADERS) {
    const value = headers[name];
    if (value !== undefined && /^[\w.:=/+-]{1,128}$/.test(value)) return value;
  }
  return undefined;
}

function payloadOf(error: unknown, fields: { readonly [key: string]: unknown }, name: string): ErrorPayload {
  const body = fields['responseBody'];
  if (typeof body === 'string' && body.trim() !== '') {
    return readErrorPayload(body.slice(0, RESPONSE_LIMITS.maxErrorBytes));
  }
  if (name === 'AI_TypeValidationError') {
    // Its message quotes the chunk; the chunk itself may be an error in a shape the package does not know.
    return readErrorPayload(looksLikeError(fields['value']) ? fields['value'] : undefined);
  }
  if (name === 'AI_JSONParseError' || name === 'AI_InvalidResponseDataError')
    return readErrorPayload(undefined);
  return readErrorPayload(error instanceof Error ? { message: error.message, code: fields['code'] } : error);
}

function isMalformed(fields: { readonly [key: string]: unknown }, name: string): boolean {
  if (name === 'AI_TypeValidationError') return !looksLikeError(fields['value']);
  return (
    name === 'AI_JSONParseError' ||
    name === 'AI_InvalidResponseDataError' ||
    name === 'AI_NoContentGeneratedError'
  );
}

function retryOf(
  headers: { readonly [name: string]: string },
  payload: ErrorPayload,
  nowMs: number,
): RetryHint {
  const said = readRetryHeaders(headers, nowMs);
  if (said.type !== 'none') return said;
  return payload.retry?.type === 'after' ? payload.retry : readRetryText(payload.message);
}

const MAX_CAUSES = 6;

interface Causes {
  readonly names: readonly string[];
  readonly codes: readonly string[];
  readonly messages: readonly string[];
  readonly tooLarge: boolean;
}

function causes(error: unknown): Causes {
  const names: string[] = [];
  const codes: string[] = [];
  const messages: string[] = [];
  let tooLarge = false;
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    const code = asRecord(current)['code'];
    if (typeof code === 'string') codes.push(code);
    names.push(current.name);
    messages.push(current.message);
    tooLarge ||= isSwarmError(current, 'response-too-large');
    current = current.cause;
  }
  return { names, codes, messages, tooLarge };
}

function asRecord(value: unknown): { readonly [key: string]: unknown } {
  return isRecord(value) ? value : {};
}

function httpStatus(value: unknown): number | undefined {
  // A good status with an error came before the failure, so it says nothing about it.
  return typeof value === 'number' && value >= 300 && value < 600 ? value : undefined;
}

function headersOf(value: unknown): { readonly [name: string]: string } {
  const headers: { [name: string]: string } = {};
  for (const [name, text] of Object.entries(asRecord(value))) {
    if (typeof text === 'string') headers[name.toLowerCase()] = text;
  }
  return headers;
}
