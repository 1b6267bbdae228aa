import type { Clock } from '../clock.ts';

/** How an implementation ended, or that it did not. */
export type Execution =
  | {
      readonly type: 'returned';
      readonly value: unknown;
      readonly aborted: 'aborted' | 'timeout' | undefined;
    }
  | { readonly type: 'threw'; readonly error: unknown; readonly aborted: 'aborted' | 'timeout' | undefined }
  /** It ignored its signal for the whole grace period. What it does later is dropped. */
  | { readonly type: 'abandoned'; readonly aborted: 'aborted' | 'timeout' };

export interface ExecutionOptions {
  /** Enters the implementation. Called exactly once, with the signal it should heed. */
  readonly enter: (signal: AbortSignal) => unknown;
  readonly clock: Clock;
  /** `Infinity` = no limit, for either. */
  readonly timeoutMs: number;
  readonly graceMs: number;
  /** Ends the execution from outside: cancel, fencing, close. */
  readonly signal: AbortSignal;
  /** The implementation's signal aborts now. */
  onAborting(cause: 'aborted' | 'timeout'): void;
  /** An abandoned implementation came back after all. */
  onLate(afterMs: number): void;
}

/**
 * Runs an implementation under a time limit and a signal. Settles at the latest one grace period after either
 * of them fires, whatever the implementation does; never rejects; leaves no timer and no listener.
 */
export function executeWithin(options: ExecutionOptions): Promise<Execution> {
  const { clock, signal } = options;
  const own = new AbortController();
  let aborted: 'aborted' | 'timeout' | undefined;
  let settled = false;
  let timer: unknown;
  let abandonedAtMs = 0;

  return new Promise((resolve) => {
    const finish = (execution: Execution) => {
      if (settled) return;
      settled = true;
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve(execution);
    };
    const abort = (cause: 'aborted' | 'timeout') => {
      if (settled || aborted !== undefined) return;
      aborted = cause;
      clock.clearTimeout(timer);
      options.onAborting(cause);
      if (Number.isFinite(options.graceMs)) {
        timer = clock.setTimeout(() => {
          abandonedAtMs = clock.monotonicMs();
          finish({ type: 'abandoned', aborted: cause });
        }, options.graceMs);
      }
      own.abort(abortReason(cause));
    };
    const onAbort = () => abort('aborted');

    if (Number.isFinite(options.timeoutMs)) {
      timer = clock.setTimeout(() => abort('timeout'), Math.min(options.timeoutMs, 0x7fffffff));
    }
    signal.addEventListener('abort', onAbort, { once: true });
    // An async wrapper turns a synchronous throw into a rejection as well.
    const entered = (async () => options.enter(own.signal))();
    entered.then(
      (value) => {
        if (settled) options.onLate(clock.monotonicMs() - abandonedAtMs);
        finish({ type: 'returned', value, aborted });
      },
      (error: unknown) => {
        if (settled) options.onLate(clock.monotonicMs() - abandonedAtMs);
        finish({ type: 'threw', error, aborted });
      },
    );
    if (signal.aborted) onAbort();
  });
}

function abortReason(cause: 'aborted' | 'timeout'): DOMException {
  return cause === 'timeout'
    ? new DOMException('The tool ran out of time.', 'TimeoutError')
    : new DOMException('The turn was stopped.', 'AbortError');
}
