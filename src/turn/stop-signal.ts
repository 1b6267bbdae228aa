import type { Failure } from '../ledger/records.ts';
import type { BudgetRefusal } from './run-budget.ts';

/** Why a turn will not go on. */
export type StopCause =
  | { readonly type: 'cancelled'; readonly reason: string }
  | { readonly type: 'interrupted'; readonly reason: string }
  /** `exceeded`: the bound that was hit, if nobody has recorded it yet. */
  | { readonly type: 'failed'; readonly failure: Failure; readonly exceeded?: BudgetRefusal }
  /** The turn stays open in the ledger and leaves this process: closing runtime or lost session. */
  | { readonly type: 'detached'; readonly reason: string; readonly code: 'runtime-closed' | 'session-lost' };

const RANK = { failed: 0, interrupted: 1, cancelled: 2, detached: 3 } as const;

/**
 * The one way to end a turn from outside its own flow. The signal aborts once; a stronger cause may replace a
 * weaker one until the terminal fact is written.
 */
export interface StopSignal {
  readonly signal: AbortSignal;
  readonly cause: StopCause | undefined;
  /** Ends after the step under way instead of at once. */
  readonly afterStep: boolean;
  /** Aborts when `afterStep` is set: what only waits for a further attempt need not wait. */
  readonly afterStepSignal: AbortSignal;
  /** Leaves the turn open after the step under way, unless it ends there. */
  readonly pauses: boolean;
  /** Aborts when `pauses` is set: a call that only waits for a person is not waited for any more. */
  readonly pausesSignal: AbortSignal;
  stop(cause: StopCause): void;
  stopAfterStep(): void;
  pauseAfterStep(): void;
  /** The end is being written: what comes now is too late. */
  readonly sealed: boolean;
  seal(): void;
}

export function createStopSignal(onStop: (cause: StopCause) => void, onAfterStep: () => void): StopSignal {
  const controller = new AbortController();
  // Made for who waits for them: most turns have neither.
  let afterStep: AbortController | undefined;
  let pauses: AbortController | undefined;
  let cause: StopCause | undefined;
  let sealed = false;
  return {
    signal: controller.signal,
    get cause() {
      return cause;
    },
    get afterStep() {
      return afterStep?.signal.aborted === true;
    },
    get afterStepSignal() {
      afterStep ??= new AbortController();
      return afterStep.signal;
    },
    get pauses() {
      return pauses?.signal.aborted === true;
    },
    get pausesSignal() {
      pauses ??= new AbortController();
      return pauses.signal;
    },
    stop(next) {
      if (sealed) return;
      if (cause !== undefined && RANK[next.type] <= RANK[cause.type]) return;
      cause = next;
      onStop(next);
      controller.abort(new DOMException(`turn ${next.type}`, 'AbortError'));
    },
    stopAfterStep() {
      if (afterStep?.signal.aborted === true) return;
      onAfterStep();
      afterStep ??= new AbortController();
      afterStep.abort();
    },
    pauseAfterStep() {
      pauses ??= new AbortController();
      pauses.abort();
    },
    get sealed() {
      return sealed;
    },
    seal() {
      sealed = true;
    },
  };
}
