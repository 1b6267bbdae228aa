import { type Clock, systemClock } from '../clock.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient, NatsSubscription } from './client.ts';
import { type SequencedMessage, sequenced } from './stream-reader.ts';

/** A message of a session, passed on once it was stored. */
export interface PassedMessage extends SequencedMessage {
  /** Sequence of the message before it in the session; 0 for the first one. */
  readonly before: number;
}

/**
 * What the server passes on of one session, for one reader. Nothing is promised: a message may be lost with a
 * connection, on its way between two servers, or because the reader is slow. The reader sees a gap by `before`, and is
 * told to look for itself where a gap could not be seen, and from time to time.
 */
export class SessionFeed {
  readonly #client: NatsClient;
  readonly #clock: Clock;
  readonly #subscription: NatsSubscription;
  #waiting: PassedMessage[] = [];
  #waitingBytes = 0;
  /** Something may have been stored that was not passed on. */
  #mustLook: boolean;
  #idleMs: number = NATS_LIMITS.feedLookMs;
  #wake: (() => void) | undefined;
  #life: AbortSignal;

  /** `isNew`: nothing was stored so far, so that there is nothing to look for. */
  constructor(
    client: NatsClient,
    subject: string,
    options: { readonly isNew: boolean; readonly clock?: Clock },
  ) {
    const { isNew, clock = systemClock } = options;
    // While nobody is heard, what is stored is not either.
    this.#mustLook = !isNew || client.state.type !== 'connected';
    this.#client = client;
    this.#clock = clock;
    this.#subscription = client.subscribe(subject, (message) => {
      this.#add({ ...sequenced(message), before: Number(message.header('Nats-Last-Sequence') ?? 0) });
    });
    this.#life = client.life;
    this.#life.addEventListener('abort', this.#onLost, { once: true });
  }

  /** What came since the last call, in order. Undefined = look for yourself; what came is let go of. */
  take(): readonly PassedMessage[] | undefined {
    const news = this.#mustLook ? undefined : this.#waiting;
    this.#empty();
    this.#mustLook = false;
    return news;
  }

  /** Resolves when there is something to take, or on abort. */
  async changed(signal: AbortSignal): Promise<void> {
    if (this.#hasNews() || signal.aborted) return;
    const timer = this.#clock.setTimeout(() => this.#onIdle(), this.#idleMs);
    await new Promise<void>((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = done;
      signal.addEventListener('abort', done, { once: true });
    });
    this.#clock.clearTimeout(timer);
  }

  close(): void {
    this.#subscription.close();
    this.#life.removeEventListener('abort', this.#onLost);
    this.#empty();
  }

  #hasNews(): boolean {
    return this.#mustLook || this.#waiting.length > 0;
  }

  #add(message: PassedMessage): void {
    this.#idleMs = NATS_LIMITS.feedLookMs;
    if (!this.#mustLook) {
      this.#waiting.push(message);
      this.#waitingBytes += message.data.byteLength;
    }
    const { feedMessages, feedBytes } = NATS_LIMITS;
    if (this.#waiting.length > feedMessages || this.#waitingBytes > feedBytes) this.lookNext();
    this.#wake?.();
  }

  #onIdle(): void {
    this.#idleMs = Math.min(NATS_LIMITS.maxFeedLookMs, this.#idleMs * 2);
    this.lookNext();
    this.#wake?.();
  }

  /** What is taken next is to be looked for. */
  lookNext(): void {
    this.#mustLook = true;
    this.#empty();
  }

  #empty(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  /** What comes until the connection is back is not heard. A look waits for it. */
  readonly #onLost = (): void => {
    this.#life = this.#client.life;
    this.#life.addEventListener('abort', this.#onLost, { once: true });
    this.lookNext();
    this.#wake?.();
  };
}
