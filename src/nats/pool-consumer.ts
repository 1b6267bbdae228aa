import { AckPolicy } from '@nats-io/jetstream';
import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { askJetStream, FAULT, NANOS_PER_MS, rejection } from './jet-stream-api.ts';
import { QUEUE_STREAM } from './ledger-streams.ts';
import { encodeToken, type SubjectOptions } from './subjects.ts';
import { createQueueSubjects } from './work-queue.ts';

/** Which workers share a queue, and how. */
export interface PoolPlace extends SubjectOptions {
  /** Default `default`. */
  readonly pool?: string | undefined;
  /** Silence of a worker after which its turns are handed to another. Default 30,000. */
  readonly leaseMs?: number | undefined;
}

/** The queue of a pool as the server has it. */
export interface JoinedPool {
  /** Of its consumer. */
  readonly name: string;
  /** Time a worker may be silent, as whoever made it said; of one that is missing, as it would be made. */
  readonly ackWaitMs: number;
  readonly state: 'made' | 'present' | 'missing';
}

const infoSchema = z.object({ config: z.object({ ack_wait: z.number() }) });

/**
 * The queue of a pool, the same for all of its workers. Made where it is missing: by `swarmwright nats init --pool`, or
 * by the first worker, where that may make one.
 * @throws SwarmError 'nats-unsuitable' where the server has no queues at all, 'nats-rejected', 'nats-unavailable'
 */
export async function joinPool(client: NatsClient, place: PoolPlace): Promise<JoinedPool> {
  const known = await findPool(client, place);
  if (known.state === 'present') return known;
  const { pool = 'default' } = place;
  const { name, ackWaitMs } = known;
  const filter = createQueueSubjects(place).turns(pool);
  const config = {
    durable_name: name,
    ack_policy: AckPolicy.Explicit,
    filter_subject: filter,
    ack_wait: ackWaitMs * NANOS_PER_MS,
    // How often is for the ledger to say: a worker that dies without a word counts there too.
    max_deliver: -1,
    // What is given back for a while counts as well.
    max_ack_pending: NATS_LIMITS.queuedTurns,
  };
  const body = { stream_name: QUEUE_STREAM, config };
  const made = await askJetStream(client, `CONSUMER.CREATE.${QUEUE_STREAM}.${name}.${filter}`, body);
  if (made.type === 'answer') return { name, ackWaitMs: ackWaitOf(made.body), state: 'made' };
  if (made.fault.code !== FAULT.streamNotFound) throw rejection(`joining ${name}`, made.fault);
  const message = `the stream ${QUEUE_STREAM} is missing: \`swarmwright nats init --ledger\` makes it`;
  throw new SwarmError('nats-unsuitable', message);
}

/** Looks for the queue of a pool, and makes nothing. @throws SwarmError 'nats-rejected', 'nats-unavailable' */
export async function findPool(client: NatsClient, place: PoolPlace): Promise<JoinedPool> {
  const { pool = 'default', ns = 'default', leaseMs = NATS_LIMITS.ackWaitMs } = place;
  // No token that is encoded holds a `=p`: two pairs of names never come to one queue.
  const name = `pool-${encodeToken(ns)}=p${encodeToken(pool)}`;
  const known = await askJetStream(client, `CONSUMER.INFO.${QUEUE_STREAM}.${name}`);
  if (known.type === 'answer') return { name, ackWaitMs: ackWaitOf(known.body), state: 'present' };
  const { code } = known.fault;
  if (code === FAULT.consumerNotFound || code === FAULT.streamNotFound) {
    return { name, ackWaitMs: leaseMs, state: 'missing' };
  }
  throw rejection(`joining ${name}`, known.fault);
}

function ackWaitOf(info: object): number {
  return infoSchema.parse(info).config.ack_wait / NANOS_PER_MS;
}
