import type { NatsMessage } from './client.ts';
import { NANOS_PER_MS } from './jet-stream-api.ts';

/** Tokens of the subject by which a message is acknowledged, where the server says nothing of domain and account. */
const SHORT_TOKENS = 9;
/** Place of the count of deliveries in one that does. */
const DELIVERIES = 6;

/**
 * An entry of a queue that the server handed out to be seen to, and what is said of it. The words and the subject they
 * go to are those of JetStream (ADR-13, ADR-15). What is lost on its way has the entry handed out once more.
 */
export class HandedEntry {
  readonly subject: string;
  readonly data: Uint8Array;
  /** How often it was handed out, this time included. */
  readonly deliveries: number;
  readonly #message: NatsMessage;

  constructor(message: NatsMessage) {
    this.#message = message;
    this.subject = message.subject;
    this.data = message.data;
    this.deliveries = deliveriesIn(message.reply);
  }

  /** It is done with, and leaves the queue. */
  done(): void {
    this.#say('+ACK');
  }

  /** It is worked on: nobody else is to get it meanwhile. */
  working(): void {
    this.#say('+WPI');
  }

  /** Somebody else is to get it, at once or after `pauseMs`. */
  giveBack(pauseMs = 0): void {
    this.#say(pauseMs > 0 ? `-NAK {"delay":${Math.ceil(pauseMs) * NANOS_PER_MS}}` : '-NAK');
  }

  /** Nobody is to get it any more. `reason`: a word for why. */
  giveUp(reason: string): void {
    this.#say(`+TERM ${reason}`);
  }

  #say(word: string): void {
    this.#message.respond(Buffer.from(word, 'utf8'));
  }
}

/** 1 where the subject is none that a server makes. */
function deliveriesIn(reply: string | undefined): number {
  const tokens = (reply ?? '').split('.');
  const at = tokens.length === SHORT_TOKENS ? DELIVERIES - 2 : DELIVERIES;
  const count = Number(tokens[at]);
  return Number.isInteger(count) && count > 0 ? count : 1;
}
