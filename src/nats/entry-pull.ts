import { SwarmError } from '../errors.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient, NatsMessage, NatsSubscription } from './client.ts';
import { HandedEntry } from './handed-entry.ts';
import { NANOS_PER_MS } from './jet-stream-api.ts';
import { QUEUE_STREAM } from './ledger-streams.ts';

/** Time beyond that of a request after which the server does not answer it any more. */
const LATE_MS = 1_000;

/** Codes of the server for a request that ended without a message: none in time, and none at all. */
const NOTHING: ReadonlySet<number> = new Set([404, 408]);

const REQUEST = Buffer.from(JSON.stringify({ batch: 1, expires: NATS_LIMITS.requestMs * NANOS_PER_MS }));

type Take = (answer: NatsMessage | undefined) => void;

/**
 * Takes the entries of a queue one by one, each when it is asked for. One subscription hears all answers: the client
 * library makes a subscription, a timer and three listeners for each request.
 */
export class EntryPull {
  readonly #client: NatsClient;
  readonly #subject: string;
  readonly #inbox: string;
  readonly #subscription: NatsSubscription;
  /** In the order they asked, which is that of the answers. An entry does not tell which request it answers. */
  readonly #waiting = new Set<Take>();

  constructor(client: NatsClient, consumer: string) {
    this.#client = client;
    this.#subject = `$JS.API.CONSUMER.MSG.NEXT.${QUEUE_STREAM}.${consumer}`;
    this.#inbox = client.inbox();
    this.#subscription = client.subscribe(this.#inbox, (answer) => this.#hear(answer));
  }

  /**
   * The next entry; undefined where none came in time, the connection was lost, or `signal` aborts first.
   * @throws SwarmError 'nats-unavailable' where nobody answers for the queue
   */
  async next(signal: AbortSignal): Promise<HandedEntry | undefined> {
    const { life } = this.#client;
    if (signal.aborted || life.aborted) return undefined;
    const { promise, resolve: take } = Promise.withResolvers<NatsMessage | undefined>();
    this.#waiting.add(take);
    const stop = () => {
      // What was taken already is not let go of.
      if (this.#waiting.delete(take)) take(undefined);
    };
    signal.addEventListener('abort', stop, { once: true });
    life.addEventListener('abort', stop, { once: true });
    // A request whose end was not told is made again.
    const timer = setTimeout(stop, NATS_LIMITS.requestMs + LATE_MS);
    try {
      this.#client.publish(this.#subject, REQUEST, { reply: this.#inbox });
      return entryOf(await promise);
    } finally {
      this.#waiting.delete(take);
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      life.removeEventListener('abort', stop);
    }
  }

  /** Nothing is asked for any more. What is on its way here is given back, which it would be only after a silence. */
  close(): Promise<void> {
    return this.#subscription.drain();
  }

  #hear(answer: NatsMessage): void {
    const [oldest] = this.#waiting;
    if (oldest !== undefined) {
      this.#waiting.delete(oldest);
      oldest(answer);
    }
    // Others need not wait until it is handed out again.
    else if (answer.status === 0) new HandedEntry(answer).giveBack();
  }
}

function entryOf(answer: NatsMessage | undefined): HandedEntry | undefined {
  if (answer === undefined || NOTHING.has(answer.status)) return undefined;
  if (answer.status === 0) return new HandedEntry(answer);
  throw new SwarmError('nats-unavailable', `the queue of the pool does not answer: ${answer.status}`);
}
