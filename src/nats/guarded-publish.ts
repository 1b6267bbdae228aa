import { randomBytes } from 'node:crypto';
import { type Clock, sleep, systemClock } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient, NatsHeaders } from './client.ts';
import { FAULT, faultIn, type JetStreamFault, readJson, rejection } from './jet-stream-api.ts';
import type { SequencedMessage, StreamReader } from './stream-reader.ts';

/** One message of a batch. */
export interface GuardedMessage {
  readonly payload: Uint8Array;
  readonly headers: NatsHeaders;
}

/** Messages for one subject, to be stored whole or not at all, and only behind the message they were built on. */
export interface GuardedBatch {
  readonly subject: string;
  /** Sequence of the last message of the subject; 0 for a subject without one. */
  readonly expected: number;
  /** At least one. */
  readonly messages: readonly GuardedMessage[];
  /** Tells the first message of this batch from those of others. */
  isOwn(message: SequencedMessage): boolean;
}

/** What became of a batch. */
export type GuardedOutcome =
  /** `last`: sequence of its last message; those before have the sequences before. */
  | { readonly type: 'stored'; readonly last: number }
  /** Another message stands in its place. It never was and never will be stored. */
  | { readonly type: 'overtaken' }
  /** The server takes nothing of that size. It was not stored. */
  | { readonly type: 'refused'; readonly message: string }
  /** It may or may not be stored, now or later. */
  | { readonly type: 'unknown'; readonly cause: SwarmError };

export interface GuardedPublisherOptions {
  readonly client: NatsClient;
  readonly reader: StreamReader;
  readonly clock?: Clock;
}

/** Stores batches under the condition that nothing came before them. */
export interface GuardedPublisher {
  /**
   * Tries until it is known what became of the batch, for as long as `withinMs`. Trying again is safe: the condition
   * lets one of the copies through at most, and a copy that made it is recognised.
   */
  publish(batch: GuardedBatch, withinMs: number): Promise<GuardedOutcome>;
}

export function createGuardedPublisher(options: GuardedPublisherOptions): GuardedPublisher {
  const { client, clock = systemClock } = options;
  return {
    async publish(batch, withinMs) {
      const timeUp = new AbortController();
      const timer = clock.setTimeout(() => timeUp.abort(), Math.min(withinMs, 2 ** 31 - 1));
      let cause: SwarmError | undefined;
      try {
        for (let tries = 0; !timeUp.signal.aborted; tries += 1) {
          const outcome = await attempt(options, batch, tries, timeUp.signal);
          if (outcome.type !== 'unknown') return outcome;
          ({ cause } = outcome);
          const pauseMs = Math.min(NATS_LIMITS.maxLedgerBackoffMs, NATS_LIMITS.ledgerBackoffMs * 2 ** tries);
          await sleep(clock, pauseMs * (0.5 + Math.random() / 2), timeUp.signal);
        }
      } finally {
        clock.clearTimeout(timer);
      }
      // What is still on its way may be stored yet.
      cause ??= new SwarmError('nats-unavailable', `nothing was stored within ${withinMs} ms`);
      return { type: 'unknown', cause };
    },
  };

  async function attempt(
    parts: GuardedPublisherOptions,
    batch: GuardedBatch,
    tries: number,
    signal: AbortSignal,
  ): Promise<GuardedOutcome> {
    try {
      await client.connected(signal);
      const answer = await send(client, batch, signal);
      if (answer.type === 'stored') return answer;
      const { fault } = answer;
      // Nothing of ours was on its way before, so it is somebody else's.
      if (isOvertaken(fault) && tries === 0) return { type: 'overtaken' };
      if (isRefused(fault)) return { type: 'refused', message: fault.description };
      const found = await look(parts.reader, batch);
      return found ?? { type: 'unknown', cause: rejection(`storing on ${batch.subject}`, fault) };
    } catch (error) {
      if (!isSwarmError(error)) throw error;
      return (await lookIfConnected(parts, batch)) ?? { type: 'unknown', cause: error };
    }
  }
}

async function lookIfConnected(
  { client, reader }: GuardedPublisherOptions,
  batch: GuardedBatch,
): Promise<GuardedOutcome | undefined> {
  if (client.state.type !== 'connected') return undefined;
  try {
    return await look(reader, batch);
  } catch (error) {
    if (isSwarmError(error)) return undefined;
    throw error;
  }
}

/** What stands in the place of the batch. Undefined = nothing yet, though a copy of it may be on its way. */
async function look(reader: StreamReader, batch: GuardedBatch): Promise<GuardedOutcome | undefined> {
  const first = await reader.next(batch.subject, batch.expected + 1);
  if (first === undefined) return undefined;
  // A batch is stored whole, one message behind the other.
  if (batch.isOwn(first)) return { type: 'stored', last: first.sequence + batch.messages.length - 1 };
  return { type: 'overtaken' };
}

type Answer =
  | { readonly type: 'stored'; readonly last: number }
  | { readonly type: 'fault'; readonly fault: JetStreamFault };

/**
 * Sends a batch under headers of our own, as the client's batches hide why one was refused. A new id each time: one
 * that was cut off leaves its beginning behind on the server for some seconds.
 */
async function send(client: NatsClient, batch: GuardedBatch, signal: AbortSignal): Promise<Answer> {
  const { subject, messages, expected } = batch;
  const isBatch = messages.length > 1;
  const id = isBatch ? randomBytes(12).toString('hex') : '';
  for (const [index, { payload, headers }] of messages.entries()) {
    const all: NatsHeaders = {
      ...headers,
      ...(index === 0 ? { 'Nats-Expected-Last-Subject-Sequence': String(expected) } : {}),
      ...(isBatch ? { 'Nats-Batch-Id': id, 'Nats-Batch-Sequence': String(index + 1) } : {}),
    };
    if (index < messages.length - 1) {
      client.publish(subject, payload, { headers: all });
      continue;
    }
    const last = { ...all, ...(isBatch ? { 'Nats-Batch-Commit': '1' } : {}) };
    return answerOf(await client.request(subject, payload, { headers: last, signal }));
  }
  throw new SwarmError('nats-rejected', 'a batch without messages');
}

function answerOf(message: { readonly status: number; readonly data: Uint8Array }): Answer {
  const answer = readJson(message.data);
  const fault = faultIn(answer);
  if (fault !== undefined) return { type: 'fault', fault };
  if (typeof answer === 'object' && answer !== null && 'seq' in answer && typeof answer.seq === 'number') {
    return { type: 'stored', last: answer.seq };
  }
  throw new SwarmError('nats-unavailable', 'the server answered with what is no acknowledgement');
}

function isOvertaken({ code }: JetStreamFault): boolean {
  return code === FAULT.wrongLastSequence || code === FAULT.wrongLastSequenceConstant;
}

/** A stream that is full takes it once there is room: that is waited for, as for a server that is away. */
function isRefused({ code }: JetStreamFault): boolean {
  return code === FAULT.messageTooLarge;
}
