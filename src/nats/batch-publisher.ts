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

interface Flight {
  readonly outcomes: (MessageOutcome | undefined)[];
  open: number;
  failure: SwarmError | undefined;
  /** Called once nothing is open. */
  done(): void;
}

/**
 * Makes a {@link BatchPublisher}. One subscription takes all acknowledgements and one timer watches a batch, which
 * is a third of what a request for each message costs.
 */
export function createBatchPublisher(client: NatsClient, clock: Clock = systemClock): BatchPublisher {
  const inbox = client.inbox();
  const flights = new Map<string, { readonly flight: Flight; readonly index: number }>();
  let next = 0;
  let subscription: NatsSubscription | undefined;

  const take = (message: NatsMessage) => {
    const token = message.subject.slice(inbox.length + 1);
    const found = flights.get(token);
    if (found === undefined) return;
    flights.delete(token);
    const { flight, index } = found;
    const outcome = outcomeOf(message);
    if (outcome instanceof SwarmError) flight.failure ??= outcome;
    else flight.outcomes[index] = outcome;
    flight.open -= 1;
    if (flight.open === 0) flight.done();
  };

  return {
    async publish(messages, signal) {
      if (messages.length === 0) return [];
      subscription ??= client.subscribe(`${inbox}.*`, take);
      const settled = Promise.withResolvers<void>();
      const flight: Flight = {
        outcomes: [],
        open: messages.length,
        failure: undefined,
        done: settled.resolve,
      };
      const tokens: string[] = [];
      const fail = (why: string) => {
        flight.failure ??= new SwarmError('nats-unavailable', why);
        settled.resolve();
      };
      const { life } = client;
      const onLost = () => fail('the connection was lost before the server had stored everything');
      const onStop = () => fail('stopped before the server had stored everything');
      life.addEventListener('abort', onLost, { once: true });
      signal.addEventListener('abort', onStop, { once: true });
      const timer = clock.setTimeout(
        () => fail(`the server did not acknowledge within ${NATS_LIMITS.ackMs} ms`),
        NATS_LIMITS.ackMs,
      );
      try {
        for (const [index, message] of messages.entries()) {
          const token = (next++).toString(36);
          tokens.push(token);
          flights.set(token, { flight, index });
          const { subject, payload, headers } = message;
          client.publish(subject, payload, { headers, reply: `${inbox}.${token}` });
        }
        await settled.promise;
      } finally {
        clock.clearTimeout(timer);
        life.removeEventListener('abort', onLost);
        signal.removeEventListener('abort', onStop);
        for (const token of tokens) flights.delete(token);
      }
      if (flight.failure !== undefined) throw flight.failure;
      // Nothing is open and nothing failed, so each one has an outcome.
      return flight.outcomes as MessageOutcome[];
    },
    close: () => subscription?.close(),
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
