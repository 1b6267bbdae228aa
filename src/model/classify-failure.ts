import type { FailureKind, ModelFailure } from './adapter.ts';
import { type FailureFacts, readFailure } from './failure-facts.ts';
import {
  AUTH_CODES,
  AUTH_TEXT,
  FILTER_CODES,
  FILTER_TEXT,
  INVALID_CODES,
  NETWORK_CODES,
  OVERFLOW_CODES,
  OVERFLOW_TEXTS,
  OVERLOAD_CODES,
  OVERLOAD_TEXT,
  OWN_HISTORY_TEXT,
  QUOTA_CODES,
  QUOTA_TEXT,
  RATE_CODES,
  RATE_TEXT,
  SERVER_CODES,
  SERVER_TEXT,
  TLS_CODE,
  TOO_LARGE_FOR_RATE,
  TOOL_USE_FAILED_CODES,
} from './failure-patterns.ts';
import { type Confidential, scrub } from './scrub.ts';

/** Where a failure came up and what its message must not say. */
export interface FailureContext extends Confidential {
  readonly phase: 'connect' | 'stream';
  /** Wall time, for a `Retry-After` that is a date. */
  readonly nowMs: number;
}

interface Verdict {
  readonly kind: FailureKind;
  readonly detail?: string;
  readonly retryable: boolean;
  readonly maxRetries?: number;
  /** For failures no provider wrote a message for. */
  readonly message?: string;
}

type Rule = (facts: FailureFacts, phase: FailureContext['phase']) => Verdict | undefined;

/** The first rule that knows a failure decides. Codes of machines come before words of people. */
const RULES: readonly Rule[] = [
  boundHit,
  malformed,
  belowHttp,
  tooLargeForRate,
  overflow,
  filtered,
  toolUseFailed,
  outOfQuota,
  unauthorized,
  rateLimited,
  overloaded,
  byStatus,
  byWords,
];

/**
 * What `error` is in the runtime's own words. It may be anything a model throws or streams; nothing of it is
 * kept but status, code, request id and a scrubbed message.
 */
export function classifyFailure(error: unknown, context: FailureContext): ModelFailure {
  const facts = readFailure(error, context.nowMs);
  const verdict = RULES.reduce<Verdict | undefined>(
    (known, rule) => known ?? rule(facts, context.phase),
    undefined,
  ) ?? { kind: 'provider-error' as const, retryable: false };
  const { kind, detail, retryable, maxRetries } = verdict;
  const said = verdict.message ?? facts.text;
  const message = scrub(said === '' ? fallbackMessage(facts, kind) : said, context);
  return {
    kind,
    ...(detail !== undefined && { detail }),
    message,
    retryable,
    ...(maxRetries !== undefined && { maxRetries }),
    ...(facts.retry.type === 'after' &&
      retryable &&
      waits(kind) && { retryAfterMs: facts.retry.retryAfterMs }),
    ...(facts.status !== undefined && { status: facts.status }),
    ...(facts.payload.code !== undefined && { code: facts.payload.code }),
    ...(facts.requestId !== undefined && { requestId: facts.requestId }),
    phase: context.phase,
  };
}

function waits(kind: FailureKind): boolean {
  return kind === 'rate-limited' || kind === 'overloaded' || kind === 'provider-error';
}

function fallbackMessage(facts: FailureFacts, kind: FailureKind): string {
  return facts.status === undefined
    ? `the provider failed without a message (${kind})`
    : `the provider answered with status ${facts.status} and no message`;
}

function says(facts: FailureFacts, codes: ReadonlySet<string>): boolean {
  return facts.payload.words.some((word) => codes.has(word));
}

function boundHit(facts: FailureFacts): Verdict | undefined {
  if (!facts.tooLarge) return undefined;
  return {
    kind: 'malformed-response',
    detail: 'too-large',
    retryable: false,
    message: 'the response is larger than the bound of one response',
  };
}

function malformed(facts: FailureFacts, phase: FailureContext['phase']): Verdict | undefined {
  if (!facts.malformed) return undefined;
  if (phase === 'connect' && facts.name === 'AI_TypeValidationError') {
    return {
      kind: 'invalid-request',
      detail: 'options',
      retryable: false,
      message: 'the options of the request are not what the provider package takes',
    };
  }
  const message =
    facts.name === 'AI_JSONParseError'
      ? 'a line of the stream is not JSON'
      : 'a part of the stream does not have the shape of one';
  return { kind: 'malformed-response', detail: 'chunk-shape', retryable: true, message };
}

function belowHttp(facts: FailureFacts, phase: FailureContext['phase']): Verdict | undefined {
  if (facts.status !== undefined) return undefined;
  const codes = facts.systemCodes;
  if (codes.includes('UND_ERR_HEADERS_TIMEOUT')) return timedOut('connect');
  if (codes.includes('UND_ERR_BODY_TIMEOUT')) return timedOut('idle');
  if (facts.name === 'TimeoutError') return timedOut('provider');
  const what = phase === 'connect' ? 'cannot connect' : 'the connection broke';
  const message = `${what}: ${facts.systemMessage}`;
  if (codes.some((code) => TLS_CODE.test(code))) {
    return { kind: 'network', detail: 'tls', retryable: false, message };
  }
  const broken =
    codes.some((code) => NETWORK_CODES.has(code) || code.startsWith('HPE_')) ||
    facts.name === 'AbortError' ||
    /^(?:fetch failed|failed to fetch|terminated|Cannot connect to API)/i.test(facts.text) ||
    // A package that reports the good status it had seen lost the body.
    (phase === 'stream' && facts.name === 'AI_APICallError' && facts.payload.words.length === 0);
  return broken ? { kind: 'network', retryable: true, message } : undefined;
}

function timedOut(detail: string): Verdict {
  return {
    kind: 'timeout',
    detail,
    retryable: true,
    message: `the provider sent nothing in time (${detail})`,
  };
}

function tooLargeForRate(facts: FailureFacts): Verdict | undefined {
  const status = facts.status;
  if (status !== undefined && status !== 413 && status !== 429) return undefined;
  return TOO_LARGE_FOR_RATE.test(facts.text)
    ? { kind: 'rate-limited', detail: 'request-larger-than-limit', retryable: false }
    : undefined;
}

const OVERFLOW_STATUS: ReadonlySet<number | undefined> = new Set([undefined, 400, 413, 422, 500]);

function overflow(facts: FailureFacts): Verdict | undefined {
  const verdict: Verdict = { kind: 'context-overflow', retryable: false };
  if (says(facts, OVERFLOW_CODES)) return verdict;
  if (!OVERFLOW_STATUS.has(facts.status) || RATE_TEXT.test(facts.text)) return undefined;
  if (OVERFLOW_TEXTS.some((pattern) => pattern.test(facts.text))) return verdict;
  // Too many bytes rather than too many tokens; the remedy is the same.
  return facts.status === 413 ? { ...verdict, detail: 'request-size' } : undefined;
}

const FILTER_STATUS: ReadonlySet<number | undefined> = new Set([undefined, 400, 403]);

function filtered(facts: FailureFacts): Verdict | undefined {
  if (!FILTER_STATUS.has(facts.status)) return undefined;
  return says(facts, FILTER_CODES) || FILTER_TEXT.test(facts.text)
    ? { kind: 'content-filter', retryable: false }
    : undefined;
}

function toolUseFailed(facts: FailureFacts): Verdict | undefined {
  return says(facts, TOOL_USE_FAILED_CODES)
    ? { kind: 'malformed-response', detail: 'tool_use_failed', retryable: true, maxRetries: 1 }
    : undefined;
}

function outOfQuota(facts: FailureFacts): Verdict | undefined {
  const { status } = facts;
  const verdict: Verdict = { kind: 'rate-limited', detail: 'quota', retryable: false };
  if (status === 402 || says(facts, QUOTA_CODES)) return verdict;
  if (status !== undefined && ![400, 403, 429].includes(status)) return undefined;
  // Free tiers speak of a quota too, but say when it is refilled.
  return QUOTA_TEXT.test(facts.text) && facts.retry.type !== 'after' ? verdict : undefined;
}

function unauthorized(facts: FailureFacts): Verdict | undefined {
  const { status } = facts;
  const told =
    says(facts, AUTH_CODES) || ((status === 400 || status === undefined) && AUTH_TEXT.test(facts.text));
  return status === 401 || status === 403 || told ? { kind: 'auth', retryable: false } : undefined;
}

function rateLimited(facts: FailureFacts): Verdict | undefined {
  if (says(facts, OVERLOAD_CODES)) return undefined;
  const told =
    says(facts, RATE_CODES) ||
    (facts.status === undefined && /rate.?limit|too many requests/i.test(facts.text));
  if (facts.status !== 429 && !told) return undefined;
  return facts.retry.type === 'unusable'
    ? { kind: 'rate-limited', detail: 'bad-retry-after', retryable: false }
    : { kind: 'rate-limited', retryable: true };
}

function overloaded(facts: FailureFacts): Verdict | undefined {
  const { status } = facts;
  const told =
    says(facts, OVERLOAD_CODES) ||
    ((status === undefined || status >= 500) && OVERLOAD_TEXT.test(facts.text));
  return status === 503 || status === 529 || told ? { kind: 'overloaded', retryable: true } : undefined;
}

function byStatus(facts: FailureFacts): Verdict | undefined {
  const { status } = facts;
  if (status === undefined) return undefined;
  if (status === 408) return { kind: 'timeout', detail: 'provider', retryable: true };
  if (status === 409) return { kind: 'provider-error', retryable: true };
  if (status < 500) return { kind: 'invalid-request', retryable: false };
  return OWN_HISTORY_TEXT.test(facts.text)
    ? { kind: 'invalid-request', detail: 'history', retryable: false }
    : { kind: 'provider-error', retryable: true };
}

const MISUSE_NAME = /^AI_(?:UnsupportedFunctionality|InvalidPrompt|InvalidArgument|NoSuchModel)/;

function byWords(facts: FailureFacts): Verdict | undefined {
  if (/^AI_Load(?:APIKey|Setting)Error$/.test(facts.name)) return { kind: 'auth', retryable: false };
  if (MISUSE_NAME.test(facts.name) || says(facts, INVALID_CODES)) {
    return { kind: 'invalid-request', retryable: false };
  }
  if (says(facts, SERVER_CODES) || SERVER_TEXT.test(facts.text)) {
    return { kind: 'provider-error', retryable: true };
  }
  return undefined;
}
