import { type Consumer, type ConsumerMessages, DeliverPolicy, jetstream } from '@nats-io/jetstream';
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
 * Headers of the last message of every subject under a filter as of the question, in the order of the stream.
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
    const { num_pending: count } = await consumer.info(true);
    try {
      return count === 0 ? [] : await takeLast(client, await consume(consumer), count);
    } finally {
      if (client.state.type === 'connected') await consumer.delete().catch(() => undefined);
    }
  } catch (error) {
    throw natsError(error, `reading ${filter}`);
  }
}

function consume(consumer: Consumer): Promise<ConsumerMessages> {
  return consumer.consume({ max_messages: 1_000, expires: NATS_LIMITS.requestMs });
}

/**
 * The first `count` messages, one of each subject. Behind them the server goes on with what was stored meanwhile, also
 * under subjects it has told of, and on a busy stream without end.
 */
async function takeLast(
  client: NatsClient,
  messages: ConsumerMessages,
  count: number,
): Promise<readonly SequencedMessage[]> {
  const found = new Map<string, SequencedMessage>();
  const stop = () => messages.stop();
  client.life.addEventListener('abort', stop, { once: true });
  let taken = 0;
  let reader: string | undefined;
  try {
    for await (const { seq: sequence, subject, data, headers, info } of messages) {
      reader ??= info.consumer;
      // One that is made anew after a silence goes on with every message, not with the last ones.
      if (info.consumer !== reader) break;
      const header = (name: string) => (headers?.has(name) === true ? headers.get(name) : undefined);
      // Where one of the first was removed meanwhile, a newer one of the same subject may come in its place.
      found.delete(subject);
      found.set(subject, { sequence, subject, data, header });
      taken += 1;
      if (taken === count || info.pending === 0) return [...found.values()];
    }
  } finally {
    client.life.removeEventListener('abort', stop);
    // Not `close`, which waits for a reader to see the end.
    messages.stop();
  }
  throw new SwarmError('nats-unavailable', 'the server was silent, or the connection was lost');
}
