import type { Usage } from '../ledger/content.ts';
import type { FinishReason, ModelFailure } from './adapter.ts';
import { classifyFailure, type FailureContext } from './classify-failure.ts';
import { type Fold, hasAnswer, hasText, warn } from './fold.ts';

/** What a response that was read to its end amounts to. */
export type Ending =
  | { readonly type: 'completed'; readonly finish: { readonly reason: FinishReason; readonly raw?: string } }
  | { readonly type: 'truncated' | 'failed'; readonly failure: ModelFailure };

export interface EndingContext extends FailureContext {
  readonly usage: Usage | undefined;
  /** `content-type` of the response, if the model told it. */
  readonly contentType: string | undefined;
  /** What the request allowed, if it said so. */
  readonly maxOutputTokens: number | undefined;
}

/**
 * Decides how a response ended: a failure first, then a missing end, then the reason the provider gave. What
 * is odd and harmless becomes a warning of the fold.
 */
export function decideEnding(fold: Fold, context: EndingContext): Ending {
  if (fold.fault !== undefined) return { type: 'failed', failure: fold.fault };
  const cut = endsEarly(fold);
  if (fold.error !== undefined && !(cut && saysNoFinish(fold.error.error))) {
    return { type: 'failed', failure: classifyFailure(fold.error.error, context) };
  }
  if (cut || fold.finish === undefined) return missingEnd(fold, context);
  const finish = withKnownLength(fold, fold.finish);
  return failureOfReason(finish) ?? completed(fold, finish, context);
}

function endsEarly(fold: Fold): boolean {
  const { finish } = fold;
  if (finish === undefined || finish.unified === 'interrupted') return true;
  return finish.unified === 'error' && finish.raw === undefined && saysNoFinish(fold.error?.error);
}

/** The package reports an end without a reason as an error of its own. */
function saysNoFinish(error: unknown): boolean {
  return error instanceof Error && /without a finish reason/i.test(error.message);
}

/** Some providers never name a reason; with usage and text and no call the answer is whole. */
function missingEnd(fold: Fold, context: EndingContext): Ending {
  const openCall = fold.calls.length > 0 || fold.inputs.size > 0;
  if (context.usage !== undefined && hasText(fold) && !openCall) {
    warn(fold, 'missing-finish: the provider named no reason for the end of its answer');
    return { type: 'completed', finish: { reason: 'other' } };
  }
  return { type: 'truncated', failure: notSse(context) ?? failed('no-finish', NO_FINISH) };
}

const NO_FINISH = 'the response ended without an end';

function notSse({ contentType }: EndingContext): ModelFailure | undefined {
  if (contentType === undefined || /event-?stream/i.test(contentType)) return undefined;
  return failed('not-sse', 'the response is not an event stream');
}

function failed(detail: string, message: string): ModelFailure {
  return { kind: 'malformed-response', detail, message, retryable: true, maxRetries: 1, phase: 'stream' };
}

type Told = NonNullable<Fold['finish']>;

/** Reasons that are failures, as providers write them (lower case), whatever the package makes of them. */
const RAW_FAILURES: { readonly [raw: string]: Pick<ModelFailure, 'kind' | 'retryable' | 'detail'> } = {
  insufficient_system_resource: { kind: 'overloaded', retryable: true },
  error: { kind: 'provider-error', retryable: true },
  network_error: { kind: 'provider-error', retryable: true },
  sensitive: { kind: 'content-filter', retryable: false },
  model_context_window_exceeded: { kind: 'context-overflow', retryable: false },
  malformed_function_call: { kind: 'malformed-response', retryable: true, detail: 'tool_use_failed' },
  unexpected_tool_call: { kind: 'malformed-response', retryable: true, detail: 'tool_use_failed' },
};

/** A window that is full in the middle of an answer cuts it; before any answer the request did not fit. */
function withKnownLength(fold: Fold, finish: Told): Told {
  const isFull = finish.raw?.toLowerCase() === 'model_context_window_exceeded';
  return isFull && hasAnswer(fold) ? { ...finish, unified: 'length' } : finish;
}

function failureOfReason(finish: Told): Ending | undefined {
  const raw = finish.raw?.toLowerCase() ?? '';
  if (finish.unified === 'content-filter') {
    return asFailure({ kind: 'content-filter', retryable: false }, 'the provider withheld the answer', raw);
  }
  const known = Object.hasOwn(RAW_FAILURES, raw) ? RAW_FAILURES[raw] : undefined;
  if (known !== undefined && finish.unified !== 'length')
    return asFailure(known, 'the provider gave up', raw);
  if (finish.unified !== 'error') return undefined;
  return asFailure({ kind: 'provider-error', retryable: true }, 'the provider ended with an error', raw);
}

function asFailure(
  verdict: Pick<ModelFailure, 'kind' | 'retryable' | 'detail'>,
  what: string,
  raw: string,
): Ending {
  const code = /^[\w.:-]{1,64}$/.test(raw) ? raw : undefined;
  return {
    type: 'failed',
    failure: {
      ...verdict,
      message: code === undefined ? what : `${what} (${code})`,
      ...(verdict.detail !== undefined && { maxRetries: 1 }),
      ...(code !== undefined && { code }),
      phase: 'stream',
    },
  };
}

function completed(fold: Fold, finish: Told, context: EndingContext): Ending {
  const reason =
    fold.calls.length > 0 ? reasonWithCalls(fold, finish, context) : reasonWithoutCalls(fold, finish);
  if (reason === undefined) {
    return { type: 'failed', failure: notSse(context) ?? failed('empty', 'the answer is empty') };
  }
  const raw = finish.raw?.slice(0, MAX_RAW_CHARS);
  return { type: 'completed', finish: { reason, ...(raw !== undefined && { raw }) } };
}

const MAX_RAW_CHARS = 64;

/** Providers report `stop` with calls and `tool-calls` for cut ones, so the calls decide, not the reason. */
function reasonWithCalls(fold: Fold, finish: Told, context: EndingContext): FinishReason {
  if (finish.unified === 'length') return 'length';
  const { usage, maxOutputTokens } = context;
  if (maxOutputTokens !== undefined && (usage?.outputTokens ?? 0) >= maxOutputTokens) {
    warn(fold, 'output-limit: the answer used all tokens it was allowed, so its calls may be cut');
    return 'length';
  }
  return 'tool-calls';
}

function reasonWithoutCalls(fold: Fold, finish: Told): FinishReason | undefined {
  // Thinking may use up all that was allowed; the provider says so, and nothing is malformed.
  if (finish.unified === 'length') return 'length';
  if (!hasAnswer(fold)) return undefined;
  if (finish.unified === 'stop') return 'stop';
  warn(
    fold,
    finish.unified === 'tool-calls'
      ? 'missing-calls: the provider announced tool calls and sent none'
      : 'unknown-finish: the provider named a reason for the end that is not known',
  );
  return 'other';
}
