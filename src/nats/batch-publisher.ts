import { type Clock, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient, NatsHeaders, NatsMessage, NatsSubscription } from './client.ts';
import { FAULT, faultIn, type JetStreamFault, readJson, rejection } from './jet-stream-api.ts';

/** A message for a stream. */
export interface StreamMessage {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers: NatsHeaders;
}

/** What became of one message of a batch. */
export type MessageOutcome =
  | { readonly type: 'stored'; readonly sequence: number; readonly duplicate: boolean }
  /** No server will ever take it: it is too large. */
  | { readonly type: 'unfit'; readonly message: string };

/** Publishes to streams, many messages at once, and hears what became of each. */
export interface BatchPublisher {
  /**
   * Resolves when each message is stored or known never to be. Rejecting = it is unknown what is stored; by then no
   * message of the batch is on its way any more, unless the server stands still.
   * @throws SwarmError 'nats-unavailable', 'nats-rejected'
   */
  publish(messages: readonly StreamMessage[], signal: AbortSignal): Promise<readonly MessageOutcome[]>;
  close(): void;
}

/**
 * Makes a {@link BatchPublisher}. One subscription takes all acknowledgements and one timer watches a batch, which
 * is a third of what a request for each message costs.
 */
export function createBatchPublisher(client: NatsClient, clock: Clock = systemClock): BatchPublisher {
  const inbox = client.inbox();
  const waiting = new Map<string, { readonly flight: Flight; readonly index: number }>();
  let next = 0;
  let subscription: NatsSubscription | undefined;

  const take = (message: NatsMessage) => {
    const token = message.subject.slice(inbox.length + 1);
    const found = waiting.get(token);
    waiting.delete(token);
    found?.flight.landed(found.index, outcomeOf(message));
  };

  const send = ({ subject, payload, headers }: StreamMessage, token: string) =>
    client.publish(subject, payload, { headers, reply: `${inbox}.${token}` });

  return {
    async publish(messages, signal) {
      if (messages.length === 0) return [];
      subscription ??= client.subscribe(`${inbox}.*`, take);
      const flight = new Flight(messages.length);
      const watch = watchFlight(flight, { life: client.life, signal, clock });
      const tokens = messages.map(() => (next++).toString(36));
      try {
        for (const [index, token] of tokens.entries()) waiting.set(token, { flight, index });
        for (const [index, message] of messages.entries()) send(message, tokens[index] ?? '');
        return await flight.outcomes;
      } finally {
        watch.end();
        for (const token of tokens) waiting.delete(token);
      }
    },
    close: () => subscription?.close(),
  };
}

/** The messages of one batch on their way. */
class Flight {
  readonly outcomes: Promise<readonly MessageOutcome[]>;
  readonly #outcomes: MessageOutcome[] = [];
  readonly #settled = Promise.withResolvers<readonly MessageOutcome[]>();
  #open: number;
  #failure: SwarmError | undefined;

  constructor(count: number) {
    this.#open = count;
    this.outcomes = this.#settled.promise;
  }

  /** One message has its answer. A failure is told when all have theirs: until then others may be stored. */
  landed(index: number, outcome: MessageOutcome | SwarmError): void {
    if (outcome instanceof SwarmError) this.#failure ??= outcome;
    else this.#outcomes[index] = outcome;
    this.#open -= 1;
    if (this.#open > 0) return;
    if (this.#failure === undefined) this.#settled.resolve(this.#outcomes);
    else this.#settled.reject(this.#failure);
  }

  /** No answer is waited for any more. */
  fail(why: string): void {
    this.#settled.reject(this.#failure ?? new SwarmError('nats-unavailable', why));
  }
}

interface FlightBounds {
  readonly life: AbortSignal;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Fails a flight whose connection is lost, that is stopped, or that takes too long. */
function watchFlight(flight: Flight, { life, signal, clock }: FlightBounds): { end(): void } {
  const onLost = () => flight.fail('the connection was lost before the server had stored everything');
  const onStop = () => flight.fail('stopped before the server had stored everything');
  const onLate = () => flight.fail(`the server did not acknowledge within ${NATS_LIMITS.ackMs} ms`);
  life.addEventListener('abort', onLost, { once: true });
  signal.addEventListener('abort', onStop, { once: true });
  const timer = clock.setTimeout(onLate, NATS_LIMITS.ackMs);
  return {
    end() {
      clock.clearTimeout(timer);
      life.removeEventListener('abort', onLost);
      signal.removeEventListener('abort', onStop);
    },
  };
}

function outcomeOf(message: NatsMessage): MessageOutcome | SwarmError {
  if (message.status === 503) {
    return new SwarmError('nats-unavailable', 'no stream takes the events: is the server provisioned?');
  }
  const answer = readJson(message.data);
  const fault = faultIn(answer);
  if (fault !== undefined) return faultOutcome(fault);
  if (typeof answer !== 'object' || answer === null || !('seq' in answer)) {
    return new SwarmError('nats-unavailable', 'the server answered with what is no acknowledgement');
  }
  return {
    type: 'stored',
    sequence: Number(answer.seq),
    duplicate: 'duplicate' in answer && answer.duplicate === true,
  };
}

function faultOutcome(fault: JetStreamFault): MessageOutcome | SwarmError {
  if (fault.code === FAULT.messageTooLarge) return { type: 'unfit', message: fault.description };
  return rejection('storing an event', fault);
}
