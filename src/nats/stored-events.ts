import { type ConsumerMessages, DeliverPolicy, jetstream } from '@nats-io/jetstream';
import { z } from 'zod';
import { sleep, systemClock } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { askJetStream, FAULT, rejection } from './jet-stream-api.ts';
import { natsError } from './nats-error.ts';
import { EVENT_STREAM } from './streams.ts';

/** A message as the stream of events has it. */
export interface StoredMessage {
  /** Place in the stream. */
  readonly sequence: number;
  readonly subject: string;
  readonly data: Uint8Array;
  /** Messages that wait behind it, as of its delivery. */
  readonly pending: number;
}

/** Where reading of the stream begins. */
export type StreamStart =
  | { readonly type: 'new' }
  | { readonly type: 'sequence'; readonly sequence: number }
  | { readonly type: 'time'; readonly time: Date };

/**
 * Messages of the stream in its order, without end and without gap, over reconnects too. The reader sets the pace:
 * the server keeps what was not fetched.
 * @throws SwarmError 'nats-rejected'; ends without an error when the signal aborts or the client is closed
 */
export async function* readStored(
  client: NatsClient,
  filter: string,
  start: StreamStart,
  signal: AbortSignal,
): AsyncGenerator<StoredMessage, void> {
  let next = start;
  for (let failures = 0; !signal.aborted && client.state.type !== 'closed'; failures += 1) {
    try {
      await client.connected(signal);
      const from = await pinned(client, next, signal);
      next = from;
      for await (const message of readOnce(client, filter, from, { signal, endsWhenEmpty: false })) {
        failures = 0;
        next = { type: 'sequence', sequence: message.sequence + 1 };
        yield message;
      }
    } catch (error) {
      if (!isSwarmError(error, 'nats-unavailable')) throw error;
    }
    const pauseMs = Math.min(NATS_LIMITS.maxReconnectMs, NATS_LIMITS.reconnectMs * 2 ** failures);
    await sleep(systemClock, failures === 0 ? 0 : pauseMs, signal);
  }
}

/**
 * What is stored by now under a filter, in the order of the stream; `newest` = of each subject the last message only.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function* readAllStored(
  client: NatsClient,
  filter: string,
  signal: AbortSignal,
  which: 'all' | 'newest' = 'all',
): AsyncGenerator<StoredMessage, void> {
  const start: ConsumerStart =
    which === 'all' ? { type: 'sequence', sequence: 1 } : { type: 'last-per-subject' };
  for await (const message of readOnce(client, filter, start, { signal, endsWhenEmpty: true })) {
    yield message;
    if (message.pending === 0) return;
  }
}

/**
 * Place of the newest message under a filter, as of now; undefined for none.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function lastSequenceUnder(
  client: NatsClient,
  filter: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  let last: number | undefined;
  for await (const { sequence } of readAllStored(client, filter, signal, 'newest')) {
    last = Math.max(last ?? 0, sequence);
  }
  return last;
}

type ConsumerStart = Exclude<StreamStart, { type: 'new' }> | { readonly type: 'last-per-subject' };

const stateSchema = z.object({ state: z.object({ last_seq: z.number() }) });

/** "From now on" as a place, so that it stays what it was when the connection is lost before the first message. */
async function pinned(
  client: NatsClient,
  start: StreamStart,
  signal: AbortSignal,
): Promise<Exclude<StreamStart, { type: 'new' }>> {
  if (start.type !== 'new') return start;
  const answer = await askJetStream(client, `STREAM.INFO.${EVENT_STREAM}`, {}, signal);
  if (answer.type === 'fault') {
    if (answer.fault.code === FAULT.streamNotFound) throw noStream();
    throw rejection('looking for the events', answer.fault);
  }
  const { last_seq } = stateSchema.parse(answer.body).state;
  return { type: 'sequence', sequence: last_seq + 1 };
}

/** Reads for as long as the connection lasts. */
async function* readOnce(
  client: NatsClient,
  filter: string,
  start: ConsumerStart,
  { signal, endsWhenEmpty }: { readonly signal: AbortSignal; readonly endsWhenEmpty: boolean },
): AsyncGenerator<StoredMessage, void> {
  const { life } = client;
  const stopped = AbortSignal.any([signal, life]);
  const reader = await openReader(client, filter, start);
  const stop = () => reader.messages.stop();
  stopped.addEventListener('abort', stop, { once: true });
  try {
    if (stopped.aborted || (endsWhenEmpty && reader.pending === 0)) return;
    for await (const { seq: sequence, subject, data, info } of reader.messages) {
      yield { sequence, subject, data, pending: info.pending };
    }
  } catch (error) {
    throw natsError(error, `reading ${filter}`);
  } finally {
    stopped.removeEventListener('abort', stop);
    await reader.close(!life.aborted);
  }
}

interface Reader {
  readonly messages: ConsumerMessages;
  /** Messages that were waiting when it was opened. */
  readonly pending: number;
  close(isConnected: boolean): Promise<void>;
}

async function openReader(client: NatsClient, filter: string, start: ConsumerStart): Promise<Reader> {
  try {
    const consumer = await jetstream(client.live()).consumers.get(EVENT_STREAM, {
      filter_subjects: filter,
      // One that a crash left behind goes by itself.
      inactive_threshold: NATS_LIMITS.consumerMs,
      ...policyOf(start),
    });
    // As the answer to its creation said: nothing of it was fetched yet.
    const { num_pending: pending } = await consumer.info(true);
    const messages = await consumer.consume({ max_messages: 256, expires: NATS_LIMITS.requestMs });
    return {
      messages,
      pending,
      async close(isConnected) {
        // Its own end is only reached by reading on to it.
        messages.stop();
        if (isConnected) await consumer.delete().catch(() => undefined);
      },
    };
  } catch (error) {
    if (error instanceof Error && error.name === 'StreamNotFoundError') throw noStream(error);
    throw natsError(error, `reading ${filter}`);
  }
}

/** What everybody meets who has just started a server. */
function noStream(cause?: Error): SwarmError {
  const advice = '`provision` makes it, as does `swarmwright nats init`';
  return new SwarmError('nats-rejected', `the stream ${EVENT_STREAM} is missing: ${advice}`, { cause });
}

function policyOf(start: ConsumerStart) {
  switch (start.type) {
    case 'time':
      return { deliver_policy: DeliverPolicy.StartTime, opt_start_time: start.time.toISOString() };
    case 'sequence':
      return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: Math.max(1, start.sequence) };
    case 'last-per-subject':
      return { deliver_policy: DeliverPolicy.LastPerSubject };
  }
}
