import { AckPolicy, type Consumer, type JsMsg, jetstream } from '@nats-io/jetstream';
import { z } from 'zod';
import type { Agent } from '../agent/define-agent.ts';
import type { RuntimeOptions } from '../agent/runtime-options.ts';
import { sleep, systemClock } from '../clock.ts';
import { isSwarmError } from '../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { NATS_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import type { Runtime } from '../runtime.ts';
import type { NatsClient } from './client.ts';
import { type Connection, openConnection } from './connection.ts';
import { askJetStream, FAULT, readJson, rejection } from './jet-stream-api.ts';
import { QUEUE_STREAM } from './ledger-streams.ts';
import { messageOf, natsError } from './nats-error.ts';
import { assertKeepsLedger } from './server-fit.ts';
import { encodeToken, type SubjectOptions } from './subjects.ts';
import { createQueueSubjects, type QueuedTurn, type QueueSubjects, queuedTurnSchema } from './work-queue.ts';
import { standingOf } from './worker-progress.ts';

const NANOS_PER_MS = 1_000_000;
/** Signs that a turn is worked on, in the time a worker may be silent. */
const SIGNS = 3;

/** Options of {@link startWorker}. */
export interface WorkerOptions extends SubjectOptions {
  readonly connection: Connection;
  /** Which queue. Default `default`. */
  readonly pool?: string;
  /** Turns at once. Default 4. */
  readonly concurrency?: number;
  /**
   * Silence of a worker after which its turns are handed to another, as the first worker of the pool said. Default
   * 30,000; no shorter than the lease of the ledger, or they are handed out in vain.
   */
  readonly leaseMs?: number;
  readonly runtime: Runtime;
  /** The ledger of the runtime: one that all workers of the pool share. */
  readonly ledger: Ledger;
  /** The registry of the runtime. */
  readonly agents: NonNullable<RuntimeOptions['agents']>;
}

/** Counts of a worker since its start. */
export interface WorkerCounts {
  /** Turns that were run or taken up, and came to an end or a pause. */
  readonly worked: number;
  /** Turns that were handed out once more and had ended already. */
  readonly repeated: number;
  /** Turns that went back into the queue. */
  readonly returned: number;
  /** Turns that were given up, and are among the dead letters. */
  readonly dead: number;
}

/** Works on turns until it is closed. */
export interface Worker extends AsyncDisposable {
  counts(): WorkerCounts;
  /** Takes no more turns and resolves when those under way have ended. The runtime stays open. */
  close(): Promise<void>;
}

const OPTIONS: OptionNames<WorkerOptions> = {
  ns: true,
  subjectRoot: true,
  connection: true,
  pool: true,
  concurrency: true,
  leaseMs: true,
  runtime: true,
  ledger: true,
  agents: true,
};

/**
 * Starts to work on the turns of a pool. A turn is pulled only when there is room for it. What a worker may do to a
 * session is decided by the ledger, never by the queue: a turn that is handed out twice runs once.
 * @throws SwarmError 'nats-unsuitable', 'nats-unavailable', 'nats-rejected', 'invalid-definition', 'nats-insecure'
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  assertOptions('startWorker', options, OPTIONS);
  const { client, isOwn } = openConnection(options.connection);
  try {
    await client.connected(AbortSignal.timeout(10_000));
    assertKeepsLedger(client.server);
    const subjects = createQueueSubjects(options);
    const { pool = 'default', ns = 'default', leaseMs = NATS_LIMITS.ackWaitMs } = options;
    const name = `pool-${encodeToken(ns)}-${encodeToken(pool)}`;
    const found = await ensurePool(client, { name, filter: subjects.turns(pool), ackWaitMs: leaseMs });
    return new PoolWorker(options, { client, isOwn, subjects, consumer: name, ackWaitMs: found });
  } catch (error) {
    if (isOwn) await client.close();
    throw natsError(error, 'starting a worker');
  }
}

interface PoolPlan {
  readonly name: string;
  readonly filter: string;
  readonly ackWaitMs: number;
}

const infoSchema = z.object({ config: z.object({ ack_wait: z.number() }) });

/** The same for every worker of a pool: whoever comes first makes it. Gives the time a worker may be silent. */
async function ensurePool(client: NatsClient, { name, filter, ackWaitMs }: PoolPlan): Promise<number> {
  const known = await askJetStream(client, `CONSUMER.INFO.${QUEUE_STREAM}.${name}`);
  if (known.type === 'answer') return ackWaitOf(known.body);
  if (known.fault.code !== FAULT.consumerNotFound) throw rejection(`joining ${name}`, known.fault);
  const config = {
    durable_name: name,
    ack_policy: AckPolicy.Explicit,
    filter_subject: filter,
    ack_wait: ackWaitMs * NANOS_PER_MS,
    // How often is for the ledger to say: a worker that dies without a word counts there too.
    max_deliver: -1,
  };
  const body = { stream_name: QUEUE_STREAM, config };
  const made = await askJetStream(client, `CONSUMER.CREATE.${QUEUE_STREAM}.${name}.${filter}`, body);
  if (made.type === 'fault') throw rejection(`joining ${name}`, made.fault);
  return ackWaitOf(made.body);
}

function ackWaitOf(info: object): number {
  return infoSchema.parse(info).config.ack_wait / NANOS_PER_MS;
}

interface PoolParts {
  readonly client: NatsClient;
  readonly isOwn: boolean;
  readonly subjects: QueueSubjects;
  readonly consumer: string;
  readonly ackWaitMs: number;
}

class PoolWorker implements Worker {
  readonly #options: WorkerOptions;
  readonly #parts: PoolParts;
  readonly #closing = new AbortController();
  readonly #slots: readonly Promise<void>[];
  readonly #counts = { worked: 0, repeated: 0, returned: 0, dead: 0 };

  constructor(options: WorkerOptions, parts: PoolParts) {
    this.#options = options;
    this.#parts = parts;
    this.#slots = Array.from({ length: options.concurrency ?? 4 }, () => this.#work());
  }

  counts(): WorkerCounts {
    return { ...this.#counts };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#slots);
    if (this.#parts.isOwn) await this.#parts.client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One place for one turn after the other. */
  async #work(): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#parts.client.connected(signal);
        const message = await this.#pull();
        failures = 0;
        if (message !== undefined) await this.#take(message);
      } catch {
        // The queue has it still: it comes again, to whoever asks.
        failures += 1;
      }
      const pauseMs = failures === 0 ? 0 : NATS_LIMITS.ledgerBackoffMs * 2 ** failures;
      await sleep(systemClock, Math.min(NATS_LIMITS.maxReconnectMs, pauseMs), signal);
    }
  }

  async #pull(): Promise<JsMsg | undefined> {
    const { client, consumer } = this.#parts;
    const stopped = AbortSignal.any([this.#closing.signal, client.life]);
    const pool: Consumer = await jetstream(client.live()).consumers.get(QUEUE_STREAM, consumer);
    const messages = await pool.fetch({ max_messages: 1, expires: NATS_LIMITS.requestMs });
    const stop = () => messages.stop();
    stopped.addEventListener('abort', stop, { once: true });
    try {
      if (stopped.aborted) return undefined;
      for await (const message of messages) return message;
      return undefined;
    } finally {
      stopped.removeEventListener('abort', stop);
      messages.stop();
    }
  }

  async #take(message: JsMsg): Promise<void> {
    const beat = setInterval(() => message.working(), this.#parts.ackWaitMs / SIGNS);
    try {
      const turn = queuedTurnSchema.safeParse(readJson(message.data));
      if (!turn.success) return await this.#bury(message, 'malformed', 'not a turn');
      await this.#settle(message, turn.data);
    } catch (error) {
      this.#giveBack(message);
      if (!isSwarmError(error)) throw error;
    } finally {
      clearInterval(beat);
    }
  }

  async #settle(message: JsMsg, turn: QueuedTurn): Promise<void> {
    const { ledger, agents, runtime } = this.#options;
    const head = await ledger.head(turn.session);
    const records = head === undefined ? [] : await ledger.read(turn.session);
    // Of a session without a record nobody but the queue knows how often it was tried.
    const claims = message.info.deliveryCount - 1;
    const standing = standingOf(records, turn.run, head?.epoch ?? claims);
    if (standing.type === 'ended') {
      this.#counts.repeated += 1;
      return void (await message.ackAck());
    }
    if (standing.type === 'waits') return this.#giveBack(message);
    if (!Object.hasOwn(agents, turn.target)) {
      return this.#bury(message, 'unknown-agent', `no definition named ${turn.target} is registered here`);
    }
    if (standing.claims >= NATS_LIMITS.claimsWithoutProgress) {
      const why = `taken up ${standing.claims} times and got no further`;
      if (standing.type === 'open') await runtime.abandon(turn.session, `poison: ${why}`);
      return this.#bury(message, 'poison', why);
    }
    await this.#run(message, turn, standing.type === 'open');
  }

  async #run(message: JsMsg, turn: QueuedTurn, isOpen: boolean): Promise<void> {
    const { runtime, agents } = this.#options;
    const settings = { runId: turn.run, onApproval: 'pause' } as const;
    const run = isOpen
      ? runtime.resume(turn.target, turn.session, settings)
      : // What kind of definition it is, and whether the input fits it, is checked where it starts.
        runtime.run(agents[turn.target] as unknown as Agent, turn.input as string, {
          ...settings,
          sessionId: turn.session,
        });
    const result = await run.result;
    const failure = result.status === 'failed' ? result.error.kind : undefined;
    if (failure !== undefined && PASSING.has(failure)) return this.#giveBack(message);
    await message.ackAck();
    // It was handed out once more while it was worked on, and has ended meanwhile.
    if (failure === 'nothing-to-resume') this.#counts.repeated += 1;
    else this.#counts.worked += 1;
  }

  #giveBack(message: JsMsg): void {
    this.#counts.returned += 1;
    message.nak(NATS_LIMITS.redeliverMs);
  }

  /** The dead letter first: one that is there twice is better than one that is nowhere. */
  async #bury(message: JsMsg, reason: string, why: string): Promise<void> {
    const { client, subjects } = this.#parts;
    const letter = {
      v: 1,
      reason,
      message: messageOf(why),
      subject: message.subject,
      deliveries: message.info.deliveryCount,
      body: Buffer.from(message.data).toString('utf8'),
    };
    await client.request(subjects.deadLetter('turn', reason), Buffer.from(JSON.stringify(letter), 'utf8'));
    message.term(reason);
    this.#counts.dead += 1;
  }
}

/** Kinds of a failed run that say nothing of the turn: somebody else, or this worker later, brings it to an end. */
const PASSING: ReadonlySet<string> = new Set([
  'runtime-closed',
  'session-owned-elsewhere',
  'ledger-closed',
  'ledger-unavailable',
  'ledger-indeterminate',
  'ledger-rejected',
  'turn-open',
]);
