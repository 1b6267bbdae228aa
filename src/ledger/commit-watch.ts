/** What those who follow all records wait for. */
export const RECORDS = 'records';
/** What those wait for who send or receive messages. */
export const MESSAGES = 'messages';

/** Looks from time to time whether somebody else committed; only while anybody waits. */
export interface ForeignCommits {
  readonly intervalMs: number;
  /** What another process may have changed since the last call. */
  look(): 'all' | typeof MESSAGES | 'nothing';
}

/**
 * Wakes those who wait for commits. A waiter takes `version` before it looks at the store and waits for a
 * change since then, so that no commit falls between the two.
 */
export class CommitWatch {
  /** By what they wait for; an empty set is not kept. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #foreign: ForeignCommits | undefined;
  #version = 0;
  #closed = false;
  /** Calls of `until` that have no answer yet. */
  #asking = 0;
  #poll: NodeJS.Timeout | undefined;

  constructor(foreign?: ForeignCommits) {
    this.#foreign = foreign;
  }

  get version(): number {
    return this.#version;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Wakes those who wait for one of `topics`. Default: everybody. */
  wake(topics?: readonly string[]): void {
    this.#version += 1;
    for (const topic of topics ?? [...this.#waiting.keys()]) {
      for (const resolve of [...(this.#waiting.get(topic) ?? [])]) resolve();
    }
  }

  close(): void {
    this.#closed = true;
    this.wake();
  }

  /** Resolves when `topic` is woken after `since`, on abort and on close; may resolve for no reason at all. */
  changed(since: number, signal: AbortSignal, topic: string = RECORDS): Promise<void> {
    if (this.#version !== since || this.#closed || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(topic) ?? new Set();
      const done = () => {
        waiting.delete(done);
        if (waiting.size === 0 && this.#waiting.get(topic) === waiting) this.#waiting.delete(topic);
        signal.removeEventListener('abort', done);
        if (this.#waiting.size === 0) this.#stopPoll();
        resolve();
      };
      this.#waiting.set(topic, waiting.add(done));
      signal.addEventListener('abort', done, { once: true });
      this.#startPoll();
    });
  }

  /**
   * Items of page after page; waits where a page is empty, ends with the signal or on close. `left` is called when a
   * reader that has begun reads no more.
   */
  async *follow<T>(
    nextPage: () => readonly T[],
    signal: AbortSignal,
    topic: string = RECORDS,
    left: () => void = () => undefined,
  ): AsyncGenerator<T, void, undefined> {
    try {
      while (!this.#closed && !signal.aborted) {
        const since = this.#version;
        const page = nextPage();
        for (const item of page) {
          yield item;
          if (this.#closed || signal.aborted) return;
        }
        if (page.length === 0) await this.changed(since, signal, topic);
      }
    } finally {
      left();
    }
  }

  /**
   * The first answer of `probe` to a message that is not `undefined`; `undefined` after abort or close. Keeps the
   * process alive where another process may answer.
   */
  async until<T>(probe: () => T | undefined, signal: AbortSignal): Promise<T | undefined> {
    this.#asking += 1;
    try {
      while (!this.#closed && !signal.aborted) {
        const since = this.#version;
        const found = probe();
        if (found !== undefined) return found;
        await this.changed(since, signal, MESSAGES);
      }
      return undefined;
    } finally {
      this.#asking -= 1;
      if (this.#asking === 0) this.#poll?.unref();
    }
  }

  // A timer of the machine, not of a clock that was passed in: another process commits in real time. Who only
  // follows is no reason to stay alive, who asks is.
  #startPoll(): void {
    const foreign = this.#foreign;
    if (foreign === undefined) return;
    this.#poll ??= setInterval(() => {
      const changed = foreign.look();
      if (changed !== 'nothing') this.wake(changed === 'all' ? undefined : [changed]);
    }, foreign.intervalMs);
    if (this.#asking > 0) this.#poll.ref();
    else this.#poll.unref();
  }

  #stopPoll(): void {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }
}
