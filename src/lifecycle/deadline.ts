import type { Clock } from '../clock.ts';

/** How a call of foreign code ended. */
export type CallEnd =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown }
  /** It had not answered by its deadline; what it does from then on is ignored. */
  | { readonly type: 'late' }
  /** The work it was called for was stopped. */
  | { readonly type: 'stopped' };

export interface CallBounds {
  readonly clock: Clock;
  /** `Infinity` for no deadline. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Longest delay timers take without wrapping to 0, in milliseconds. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** True for anything that can be awaited to a later answer. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

/**
 * Calls `run` and waits for its answer, at most until the deadline or the abort of `signal`. The signal `run`
 * gets aborts with either. Never rejects; leaves no timer and no listener.
 */
export async function callWithin(
  bounds: CallBounds,
  run: (signal: AbortSignal) => unknown,
): Promise<CallEnd> {
  const { signal } = bounds;
  if (signal.aborted) return { type: 'stopped' };
  const own = new AbortController();
  try {
    const value = run(own.signal);
    // Most hooks answer at once: no timer, no listener for them.
    return isThenable(value) ? await waitFor(bounds, own, value) : { type: 'returned', value };
  } catch (error) {
    return { type: 'threw', error };
  }
}

function waitFor(bounds: CallBounds, own: AbortController, value: PromiseLike<unknown>): Promise<CallEnd> {
  const { clock, timeoutMs, signal } = bounds;
  return new Promise((resolve) => {
    const end = (one: CallEnd): void => {
      if (timer !== undefined) clock.clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(one);
    };
    const onAbort = () => {
      own.abort(signal.reason);
      end({ type: 'stopped' });
    };
    const onLate = () => {
      own.abort();
      end({ type: 'late' });
    };
    const timer = Number.isFinite(timeoutMs)
      ? clock.setTimeout(onLate, Math.min(timeoutMs, MAX_DELAY_MS))
      : undefined;
    signal.addEventListener('abort', onAbort, { once: true });
    Promise.resolve(value).then(
      (answer) => end({ type: 'returned', value: answer }),
      (error: unknown) => end({ type: 'threw', error }),
    );
  });
}
