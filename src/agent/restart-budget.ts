import type { Clock } from '../clock.ts';

/** How often something that breaks is begun again. */
export interface RestartBudget {
  /** Takes a restart; false when as many as there may be were made within the window. */
  take(): boolean;
}

/** At most `maxRestarts` in any `windowMs`. */
export function createRestartBudget(
  clock: Clock,
  { maxRestarts, windowMs }: { readonly maxRestarts: number; readonly windowMs: number },
): RestartBudget {
  let taken: readonly number[] = [];
  return {
    take() {
      const now = clock.monotonicMs();
      taken = taken.filter((at) => now - at < windowMs);
      if (taken.length >= maxRestarts) return false;
      taken = [...taken, now];
      return true;
    },
  };
}
