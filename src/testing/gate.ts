/** A point that something under test waits at until a test lets it pass. */
export interface Gate {
  /** Resolves when something first waits here. */
  readonly reached: Promise<void>;
  /** How many wait here now. */
  readonly waiting: number;
  readonly isOpen: boolean;
  /** Lets all pass, those who come later included. */
  open(): void;
  /** Waits for `open`; resolves at once when `signal` aborts, and leaves no listener. */
  pass(signal?: AbortSignal): Promise<void>;
}

/**
 * Makes a closed {@link Gate}: the way to hold a response, a commit or a sink without any real time passing.
 *
 * @example
 * const gate = createGate();
 * const server = await scriptedServer({ script: [reply().text('a').wait(gate).text('b')] });
 * await gate.reached;
 * gate.open();
 */
export function createGate(): Gate {
  const reached = Promise.withResolvers<void>();
  const waiting = new Set<() => void>();
  let isOpen = false;
  return {
    reached: reached.promise,
    get waiting() {
      return waiting.size;
    },
    get isOpen() {
      return isOpen;
    },
    open() {
      isOpen = true;
      for (const go of [...waiting]) go();
    },
    pass(signal) {
      reached.resolve();
      if (isOpen || signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const go = () => {
          waiting.delete(go);
          signal?.removeEventListener('abort', go);
          resolve();
        };
        waiting.add(go);
        signal?.addEventListener('abort', go, { once: true });
      });
    },
  };
}
