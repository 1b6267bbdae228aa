import type { Limits } from '../limits.ts';
import type { ModelFailure } from '../model/adapter.ts';

/** Whether a failed attempt may be made again, as far as its failure says; the step machine adds its own rules. */
export type RetryVerdict =
  | { readonly type: 'retry'; readonly delayMs: number; readonly reason: string }
  | { readonly type: 'give-up' };

/** Failures of one step that were retried, so that classes with a bound of their own keep to it. */
export interface RetryPolicy {
  /** `attempt` is the number of the one that failed, from 1. */
  judge(failure: ModelFailure, attempt: number): RetryVerdict;
}

/** `random` gives 0 to 1 and serves the jitter alone. */
export function createRetryPolicy(limits: Limits, random: () => number): RetryPolicy {
  const { attempts } = limits;
  const retried = new Map<string, number>();
  return {
    judge(failure, attempt) {
      if (!failure.retryable || attempt >= attempts.max) return { type: 'give-up' };
      const reason = failure.detail === undefined ? failure.kind : `${failure.kind}/${failure.detail}`;
      const count = retried.get(reason) ?? 0;
      if (count >= maxRetries(failure, limits)) return { type: 'give-up' };
      if ((failure.retryAfterMs ?? 0) > attempts.maxRetryAfterMs) return { type: 'give-up' };
      retried.set(reason, count + 1);
      return { type: 'retry', delayMs: failure.retryAfterMs ?? backoffMs(attempt, attempts, random), reason };
    },
  };
}

function maxRetries(failure: ModelFailure, limits: Limits): number {
  const isBlindRateLimit = failure.kind === 'rate-limited' && failure.retryAfterMs === undefined;
  const own = isBlindRateLimit ? limits.attempts.rateLimitWithoutHint : Number.POSITIVE_INFINITY;
  return Math.min(own, failure.maxRetries ?? Number.POSITIVE_INFINITY);
}

/** Doubling from `baseDelayMs` to `maxDelayMs`, plus up to `jitter` of it. */
function backoffMs(attempt: number, limits: Limits['attempts'], random: () => number): number {
  const base = Math.min(limits.baseDelayMs * 2 ** (attempt - 1), limits.maxDelayMs);
  return base * (1 + limits.jitter * random());
}
