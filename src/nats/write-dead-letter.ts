import type { HandedEntry } from './handed-entry.ts';
import { messageOf } from './nats-error.ts';

/** Room for the headers of a letter and what the server adds. */
const HEADER_BYTES = 4_096;

/** Most bytes that JSON makes of one unit of a text. */
const MAX_UNIT_BYTES = 6;

/** A letter and its words. */
export interface WrittenLetter {
  readonly message: string;
  readonly payload: Uint8Array;
}

/**
 * The dead letter of an entry. One that a message cannot hold once more, with what is said of it, keeps its beginning:
 * it could not be buried else, and would be handed out for ever.
 */
export function writeDeadLetter(
  { subject, data, deliveries }: Pick<HandedEntry, 'subject' | 'data' | 'deliveries'>,
  { reason, why, maxPayload }: DeathReport,
): WrittenLetter {
  const body = Buffer.from(data).toString('utf8');
  const letterOf = (words: string, text: string): WrittenLetter => {
    const message = messageOf(words);
    const letter = { v: 1, reason, message, subject, deliveries, body: text };
    return { message, payload: Buffer.from(JSON.stringify(letter), 'utf8') };
  };
  const room = maxPayload - HEADER_BYTES;
  const whole = letterOf(why, body);
  if (whole.payload.byteLength <= room) return whole;
  const words = `${why}; of its ${data.byteLength} bytes the beginning is kept`;
  const others = letterOf(words, '').payload.byteLength;
  return letterOf(words, body.slice(0, Math.max(0, Math.floor((room - others) / MAX_UNIT_BYTES))));
}

/** Why an entry is given up. */
export interface DeathReport {
  readonly reason: string;
  readonly why: string;
  /** Bytes of a message that the server takes. */
  readonly maxPayload: number;
}
