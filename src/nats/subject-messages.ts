import { DeliverPolicy, jetstream } from '@nats-io/jetstream';
import { type Clock, sleep, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { natsError } from './nats-error.ts';
import type { SequencedMessage, StreamReader } from './stream-reader.ts';

/** Looks that find a copy of the stream behind before it counts as unavailable. */
const MAX_LOOKS = 12;

/** What to read, and how far at least. */
export interface Reading {
  readonly filter: string;
  /** First sequence that is of interest. */
  readonly from: number;
  /** A sequence that is known to be stored; a copy of the stream that does not have it yet is asked again. */
  readonly atLeast: number;
}

/**
 * What is stored by now under a filter, in pages.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function* readSubject(
  reader: StreamReader,
  { filter, from, atLeast }: Reading,
  clock: Clock = systemClock,
): AsyncGenerator<SequencedMessage, void, undefined> {
  const never = new AbortController().signal;
  let next = from;
  let behind = 0;
  for (;;) {
    const { messages, isLast } = await reader.page(filter, next);
    yield* messages;
    next = (messages.at(-1)?.sequence ?? next - 1) + 1;
    if (isLast && next > atLeast) return;
    if (messages.length > 0) continue;
    behind += 1;
    if (behind > MAX_LOOKS) throw new SwarmError('nats-unavailable', `a copy of ${filter} is behind`);
    await sleep(clock, NATS_LIMITS.ledgerBackoffMs * behind, never);
  }
}

/**
 * Headers of the last message of every subject under a filter, in the order of the stream.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function readLastOfEach(
  client: NatsClient,
  stream: string,
  filter: string,
): Promise<readonly SequencedMessage[]> {
  try {
    const consumer = await jetstream(client.live()).consumers.get(stream, {
      filter_subjects: filter,
      deliver_policy: DeliverPolicy.LastPerSubject,
      headers_only: true,
      inactive_threshold: NATS_LIMITS.consumerMs,
    });
    const found: SequencedMessage[] = [];
    const { num_pending: pending } = await consumer.info(true);
    try {
      if (pending === 0) return found;
      const messages = await consumer.consume({ max_messages: 1_000, expires: NATS_LIMITS.requestMs });
      const stop = () => messages.stop();
      client.life.addEventListener('abort', stop, { once: true });
      try {
        for await (const { seq: sequence, subject, data, headers, info } of messages) {
          const header = (name: string) => (headers?.has(name) === true ? headers.get(name) : undefined);
          found.push({ sequence, subject, data, header });
          if (info.pending === 0) return found;
        }
      } finally {
        client.life.removeEventListener('abort', stop);
        // Not `close`, which waits for a reader to see the end.
        messages.stop();
      }
      throw new SwarmError('nats-unavailable', `reading ${filter}: the connection was lost`);
    } finally {
      if (client.state.type === 'connected') await consumer.delete().catch(() => undefined);
    }
  } catch (error) {
    throw natsError(error, `reading ${filter}`);
  }
}
