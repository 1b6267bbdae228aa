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
  return new ManualClock(startMs);
}

class ManualClock implements FakeClock {
  readonly #startMs: number;
  readonly #timers = new Map<number, Timer>();
  readonly #watchers = new Set<() => void>();
  #elapsedMs = 0;
  #order = 0;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  // Those of a clock are fields: code under test takes them off it.
  readonly now = () => this.#startMs + this.#elapsedMs;
  readonly monotonicMs = () => this.#elapsedMs;

  readonly setTimeout = (run: () => void, delayMs: number): number => {
    this.#order += 1;
    const dueMs = this.#elapsedMs + Math.max(0, delayMs || 0);
    this.#timers.set(this.#order, { dueMs, order: this.#order, run });
    for (const wake of this.#watchers) wake();
    return this.#order;
  };

  readonly clearTimeout = (handle: unknown): void => {
    // Handles are the orders given by setTimeout above; any other value clears nothing.
    this.#timers.delete(handle as number);
  };

  get pending(): number {
    return this.#timers.size;
  }

  due(): readonly number[] {
    return [...this.#timers.values()].map(({ dueMs }) => this.#startMs + dueMs).sort((a, b) => a - b);
  }

  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    await this.#runDue(untilMs);
    this.#elapsedMs = Math.max(this.#elapsedMs, untilMs);
  }

  async advanceToNext(): Promise<boolean> {
    await settlePromises();
    const timer = this.#next();
    if (timer === undefined) return false;
    await this.advance(Math.max(0, timer.dueMs - this.#elapsedMs));
    return true;
  }

  whenPending(count = 1): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        if (this.#timers.size < count) return;
        this.#watchers.delete(wake);
        resolve();
      };
      this.#watchers.add(wake);
      wake();
    });
  }

  #next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers.values()) {
      if (first === undefined || timer.dueMs < first.dueMs) first = timer;
    }
    return first;
  }

  async #runDue(untilMs: number): Promise<void> {
    await settlePromises();
    for (let ran = 0; ; ran += 1) {
      const timer = this.#next();
      if (timer === undefined || timer.dueMs > untilMs) return;
      if (ran >= MAX_TIMERS_AN_ADVANCE) {
        throw new SwarmError('fault-injected', `over ${MAX_TIMERS_AN_ADVANCE} timers in one advance`);
      }
      this.#timers.delete(timer.order);
      this.#elapsedMs = Math.max(this.#elapsedMs, timer.dueMs);
      timer.run();
      await settlePromises();
    }
  }
}
