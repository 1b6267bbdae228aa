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
  const opened = Promise.withResolvers<void>();
  let waiting = 0;
  let isOpen = false;
  return {
    reached: reached.promise,
    get waiting() {
      return waiting;
    },
    get isOpen() {
      return isOpen;
    },
    open() {
      isOpen = true;
      opened.resolve();
    },
    async pass(signal) {
      reached.resolve();
      if (isOpen || signal?.aborted) return;
      waiting += 1;
      const aborted = Promise.withResolvers<void>();
      const onAbort = () => aborted.resolve();
      signal?.addEventListener('abort', onAbort, { once: true });
      await Promise.race([opened.promise, aborted.promise]);
      signal?.removeEventListener('abort', onAbort);
      waiting -= 1;
    },
  };
}
