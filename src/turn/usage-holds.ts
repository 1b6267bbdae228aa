/** What a request may come to. */
export interface ExpectedUse {
  readonly tokens: number;
  readonly costUsd: number;
}

/** Room of a budget that requests under way may still take, so that requests at the same time share what is left. */
export interface UsageHolds {
  /** Requests under way. */
  readonly count: number;
  readonly tokens: number;
  readonly costUsd: number;
  /** Holds room until the result is called; calling it again changes nothing. */
  take(expected: ExpectedUse): () => void;
  /** Resolves at the next change, or when the signal aborts; leaves no listener. */
  changed(signal: AbortSignal): Promise<void>;
}

export function createUsageHolds(): UsageHolds {
  const held = new Set<ExpectedUse>();
  const waiting = new Set<() => void>();
  const sumOf = (key: keyof ExpectedUse) => [...held].reduce((sum, one) => sum + one[key], 0);
  return {
    get count() {
      return held.size;
    },
    get tokens() {
      return sumOf('tokens');
    },
    get costUsd() {
      return sumOf('costUsd');
    },
    take(expected) {
      // Two requests may expect the same.
      const own = { ...expected };
      held.add(own);
      return () => {
        if (!held.delete(own)) return;
        for (const wake of [...waiting]) wake();
      };
    },
    changed: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const wake = () => {
          waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        waiting.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      }),
  };
}
