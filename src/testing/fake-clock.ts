import type { Clock } from '../clock.ts';
import { SwarmError } from '../errors.ts';

/** A clock that stands still until it is told to go on; also fits XState's `clock`. */
export interface FakeClock extends Clock {
  /** Number of timers set and neither run nor cleared. */
  readonly pending: number;
  /** When the pending timers are due, as `now()` will then say, earliest first. */
  due(): readonly number[];
  /**
   * Lets `ms` milliseconds pass: runs every timer due by then, in order of time and then of setting, also
   * those set meanwhile, and lets promises settle before, between and after them.
   * @throws SwarmError 'fault-injected' after 100,000 timers: something sets timers without end
   */
  advance(ms: number): Promise<void>;
  /** Goes on to the next timer and runs what is due then. False when no timer is pending. */
  advanceToNext(): Promise<boolean>;
  /** Resolves as soon as at least `count` timers are pending (default 1): the code under test is waiting. */
  whenPending(count?: number): Promise<void>;
}

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
}

const MAX_TIMERS_AN_ADVANCE = 100_000;

/** Lets everything go on that waits for nothing but promises. */
export function settlePromises(): Promise<void> {
  // A turn of the event loop begins only after all microtasks ran, chained ones included.
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Makes a {@link FakeClock} that begins at `startMs` (default 2026-01-01). `now` and `monotonicMs` go on
 * together; the latter begins at 0.
 *
 * @example
 * const clock = fakeClock();
 * const done = sleep(clock, 1_000, signal);
 * await clock.advance(1_000);
 * await done; // true
 */
export function fakeClock(startMs = Date.UTC(2026, 0, 1)): FakeClock {
  let elapsedMs = 0;
  let order = 0;
  const timers = new Map<number, Timer>();
  const watchers = new Set<() => void>();

  const next = (): Timer | undefined => {
    let first: Timer | undefined;
    for (const timer of timers.values()) {
      if (first === undefined || timer.dueMs < first.dueMs) first = timer;
    }
    return first;
  };

  const runDue = async (untilMs: number) => {
    await settlePromises();
    for (let ran = 0; ; ran += 1) {
      const timer = next();
      if (timer === undefined || timer.dueMs > untilMs) return;
      if (ran >= MAX_TIMERS_AN_ADVANCE) {
        throw new SwarmError('fault-injected', `over ${MAX_TIMERS_AN_ADVANCE} timers in one advance`);
      }
      timers.delete(timer.order);
      elapsedMs = Math.max(elapsedMs, timer.dueMs);
      timer.run();
      await settlePromises();
    }
  };

  const advance = async (ms: number) => {
    const untilMs = elapsedMs + ms;
    await runDue(untilMs);
    elapsedMs = Math.max(elapsedMs, untilMs);
  };

  return {
    now: () => startMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    setTimeout(run, delayMs) {
      order += 1;
      timers.set(order, { dueMs: elapsedMs + Math.max(0, delayMs || 0), order, run });
      for (const wake of watchers) wake();
      return order;
    },
    clearTimeout(handle) {
      // Handles are the orders given by setTimeout above; any other value clears nothing.
      timers.delete(handle as number);
    },
    get pending() {
      return timers.size;
    },
    due: () => [...timers.values()].map(({ dueMs }) => startMs + dueMs).sort((a, b) => a - b),
    advance,
    async advanceToNext() {
      await settlePromises();
      const timer = next();
      if (timer === undefined) return false;
      await advance(Math.max(0, timer.dueMs - elapsedMs));
      return true;
    },
    whenPending(count = 1) {
      return new Promise((resolve) => {
        const wake = () => {
          if (timers.size < count) return;
          watchers.delete(wake);
          resolve();
        };
        watchers.add(wake);
        wake();
      });
    },
  };
}
