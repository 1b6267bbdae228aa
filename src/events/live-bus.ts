import { SwarmError } from '../errors.ts';
import { DEFAULT_LIMITS } from '../limits.ts';

/** A piece of an answer as the model writes it. Shown to whoever looks, never kept, in no ledger and no event. */
export interface LiveDelta {
  readonly type: 'text-delta' | 'reasoning-delta';
  readonly text: string;
  readonly session: string;
  readonly step: string;
  /** Names of the agents from the root to the one that speaks. */
  readonly agentPath: readonly string[];
}

/** What a reader sees. A `gap` stands where it was too far behind and `missed` pieces were dropped. */
export type LivePart = LiveDelta | { readonly type: 'gap'; readonly missed: number };

/** Which pieces a reader wants. */
export interface LiveReadOptions {
  readonly wants?: (delta: LiveDelta) => boolean;
  /** Ends the reading at once. */
  readonly signal?: AbortSignal;
}

/**
 * Hands live pieces to those who read at this moment. Publishing never waits and keeps nothing where nobody
 * reads; a slow reader costs its bounded backlog and nobody else anything.
 */
export interface LiveBus {
  publish(delta: LiveDelta): void;
  /**
   * Pieces from this call on, until `close`, a break or the signal; may be iterated once.
   * @throws SwarmError 'too-many-readers'
   */
  read(options?: LiveReadOptions): AsyncIterable<LivePart>;
  /** Readers attached now. */
  readonly readers: number;
  /** Lets readers finish their backlog and then ends them; later pieces are dropped. Idempotent. */
  close(): void;
}

/** Bounds of {@link createLiveBus}; defaults are those of `limits.events`. */
export interface LiveBusOptions {
  /** Pieces a reader may be behind before the oldest are dropped. */
  readonly maxReaderBacklog?: number;
  readonly maxReaders?: number;
}

/** Makes a {@link LiveBus}. */
export function createLiveBus(options: LiveBusOptions = {}): LiveBus {
  const { maxReaderBacklog, maxReaders } = { ...DEFAULT_LIMITS.events, ...options };
  const readers = new Set<LiveReader>();
  let closed = false;
  return {
    publish(delta) {
      if (closed) return;
      for (const reader of readers) reader.push(delta);
    },
    read({ wants = () => true, signal } = {}) {
      if (readers.size >= maxReaders) {
        throw new SwarmError('too-many-readers', `${maxReaders} readers are attached to this run`);
      }
      const reader = new LiveReader({
        wants,
        signal,
        maxBacklog: maxReaderBacklog,
        left: () => readers.delete(reader),
      });
      if (!closed && signal?.aborted !== true) readers.add(reader);
      else reader.finish();
      return reader;
    },
    get readers() {
      return readers.size;
    },
    close() {
      closed = true;
      for (const reader of [...readers]) reader.finish();
    },
  };
}

interface ReaderOptions {
  readonly wants: (delta: LiveDelta) => boolean;
  readonly signal: AbortSignal | undefined;
  readonly maxBacklog: number;
  /** Called once, when the reader needs nothing more. */
  left(): void;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

class LiveReader implements AsyncIterableIterator<LivePart, undefined> {
  readonly #options: ReaderOptions;
  readonly #onAbort = () => this.#stop();
  /** A ring of `maxBacklog` places; the oldest of `#size` pieces stands at `#start`. */
  #ring: (LiveDelta | undefined)[] = [];
  #start = 0;
  #size = 0;
  #missed = 0;
  #ended = false;
  #waiting: ((result: IteratorResult<LivePart, undefined>) => void) | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(delta: LiveDelta): void {
    if (!this.#options.wants(delta)) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#keep(delta);
    else waiting({ done: false, value: delta });
  }

  next(): Promise<IteratorResult<LivePart, undefined>> {
    const part = this.#take();
    if (part !== undefined) return Promise.resolve({ done: false, value: part });
    if (this.#ended) return Promise.resolve(DONE);
    if (this.#waiting !== undefined) {
      return Promise.reject(
        new SwarmError('stream-misuse', 'the next live piece was asked for twice at once'),
      );
    }
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  return(): Promise<IteratorResult<LivePart, undefined>> {
    this.#stop();
    return Promise.resolve(DONE);
  }

  /** Takes no more; what is here can still be read. */
  finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#options.left();
    this.#waiting?.(DONE);
    this.#waiting = undefined;
  }

  #stop(): void {
    this.#ring = [];
    this.#size = 0;
    this.#missed = 0;
    this.finish();
  }

  #keep(delta: LiveDelta): void {
    const { maxBacklog } = this.#options;
    if (this.#size < maxBacklog) {
      this.#ring[(this.#start + this.#size) % maxBacklog] = delta;
      this.#size += 1;
      return;
    }
    this.#missed += 1;
    if (maxBacklog === 0) return;
    this.#ring[this.#start] = delta;
    this.#start = (this.#start + 1) % maxBacklog;
  }

  #take(): LivePart | undefined {
    const missed = this.#missed;
    this.#missed = 0;
    if (missed > 0) return { type: 'gap', missed };
    if (this.#size === 0) return undefined;
    const oldest = this.#ring[this.#start];
    this.#ring[this.#start] = undefined;
    this.#start = (this.#start + 1) % this.#options.maxBacklog;
    this.#size -= 1;
    return oldest;
  }
}
