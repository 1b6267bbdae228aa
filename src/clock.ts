/**
 * Time as an argument. The shape of `setTimeout` and `clearTimeout` is that of XState's own clock, so one
 * fake serves machines and runtime alike.
 */
export interface Clock {
  /** Wall time, milliseconds since the epoch. Information only: order never depends on it. */
  now(): number;
  /** Milliseconds that never go back, for deadlines. */
  monotonicMs(): number;
  setTimeout(run: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** The clock of the machine. A pending timer keeps the process alive, as work that waits for it is not done. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimeout: (run, delayMs) => setTimeout(run, delayMs),
  // The handle is what setTimeout above returned.
  clearTimeout: (handle) => clearTimeout(handle as NodeJS.Timeout),
};

/** Resolves `true` after `delayMs`, or `false` at once when `signal` aborts; leaves no timer or listener. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const onAbort = () => {
      clock.clearTimeout(timer);
      resolve(false);
    };
    const timer = clock.setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve(true);
    }, delayMs);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
