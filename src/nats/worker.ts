import { sleep, systemClock } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import { type TurnWork, workOf } from '../graph/turn-work.ts';
import { NATS_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import type { Runtime } from '../runtime.ts';
import type { NatsClient } from './client.ts';
import { type Connection, openConnection } from './connection.ts';
import { EntryPull } from './entry-pull.ts';
import type { HandedEntry } from './handed-entry.ts';
import { faultIn, readJson, rejection } from './jet-stream-api.ts';
import { createLedgerSubjects } from './ledger-subjects.ts';
import { natsError } from './nats-error.ts';
import { joinPool } from './pool-consumer.ts';
import { queueEntrySchema } from './queue-entry.ts';
import { scanTurns } from './scan-turns.ts';
import { assertKeepsLedger } from './server-fit.ts';
import type { SubjectOptions } from './subjects.ts';
import { type EntryEnd, workOnEntry } from './work-on-entry.ts';
import { createQueueSubjects, type QueueSubjects } from './work-queue.ts';
import { writeDeadLetter } from './write-dead-letter.ts';

/** Signs that a turn is worked on, in the time a worker may be silent. */
const SIGNS = 3;

/** Turns at once. */
const DEFAULT_PLACES = 4;
const MAX_PLACES = 1_000;

/** Options of {@link startWorker}. */
export interface WorkerOptions extends SubjectOptions {
  readonly connection: Connection;
  /** Which queue. Default `default`. */
  readonly pool?: string;
  /** Turns at once, at most 1,000. Default 4. */
  readonly concurrency?: number;
  /**
   * Silence of a worker after which its turns are handed to another, as the first worker of the pool said. Default
   * 30,000; no shorter than the lease of the ledger, or they are handed out in vain.
   */
  readonly leaseMs?: number;
  /** Runs the turns, on a ledger that all workers of the pool share, with what is in its `agents`. */
  readonly runtime: Runtime;
  /** Told of each turn that is given up, once it is among the dead letters. What it throws is passed over. */
  readonly onDead?: (letter: DeadTurn) => void;
  /** Told of what keeps it from its work: it goes on trying. What it throws is passed over. */
  readonly onFault?: (error: SwarmError) => void;
}

/** A turn that was given up. */
export interface DeadTurn {
  /** A word for why: `poison`, `definition-mismatch`, `unknown-agent`, `malformed`. */
  readonly reason: string;
  readonly message: string;
  /** Of the entry in the queue. */
  readonly subject: string;
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
  /** Silence after which its turns are handed to another, as whoever made the queue of the pool said. */
  readonly leaseMs: number;
  counts(): WorkerCounts;
  /**
   * Takes no more turns and resolves when those under way have ended, and the runtime stays open. After `drainMs`
   * (default: never) it closes the runtime: turns that did not end are left open, and given at once to other workers.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

const OPTIONS: OptionNames<WorkerOptions> = {
  ns: true,
  subjectRoot: true,
  connection: true,
  pool: true,
  concurrency: true,
  leaseMs: true,
  runtime: true,
  onDead: true,
  onFault: true,
};

/**
 * Starts to work on the turns of a pool. A turn is pulled only when there is room for it. What a worker may do to a
 * session is decided by the ledger, never by the queue: a turn that is handed out twice runs once.
 * @throws SwarmError 'nats-unsuitable', 'nats-unavailable', 'nats-rejected', 'invalid-definition', 'nats-insecure'
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  assertOptions('startWorker', options, OPTIONS);
  const { concurrency = DEFAULT_PLACES } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_PLACES) {
    const message = `startWorker: concurrency is a whole number from 1 to ${MAX_PLACES}`;
    throw new SwarmError('invalid-definition', message);
  }
  const work = workOf(options.runtime);
  if (work === undefined)
    throw new SwarmError('invalid-definition', 'startWorker: runtime is none of createRuntime()');
  const { client, isOwn } = openConnection(options.connection);
  try {
    await client.connected(AbortSignal.timeout(10_000));
    assertKeepsLedger(client.server);
    const subjects = createQueueSubjects(options);
    const { name, ackWaitMs } = await joinPool(client, options);
    return new PoolWorker(options, {
      client,
      isOwn,
      subjects,
      consumer: name,
      ackWaitMs,
      work,
    });
  } catch (error) {
    if (isOwn) await client.close();
    throw natsError(error, 'starting a worker');
  }
}

interface PoolParts {
  readonly client: NatsClient;
  readonly isOwn: boolean;
  readonly subjects: QueueSubjects;
  readonly consumer: string;
  readonly ackWaitMs: number;
  readonly work: TurnWork;
}

class PoolWorker implements Worker {
  readonly leaseMs: number;
  readonly #options: WorkerOptions;
  readonly #parts: PoolParts;
  readonly #closing = new AbortController();
  readonly #pull: EntryPull;
  readonly #slots: readonly Promise<void>[];
  readonly #scan: Promise<void>;
  readonly #counts = { worked: 0, repeated: 0, returned: 0, dead: 0 };

  constructor(options: WorkerOptions, parts: PoolParts) {
    this.leaseMs = parts.ackWaitMs;
    this.#options = options;
    this.#parts = parts;
    const { concurrency = DEFAULT_PLACES } = options;
    this.#pull = new EntryPull(parts.client, parts.consumer);
    this.#slots = Array.from({ length: concurrency }, () => this.#work());
    this.#scan = this.#look();
  }

  counts(): WorkerCounts {
    return { ...this.#counts };
  }

  async close({ drainMs = Number.POSITIVE_INFINITY }: { readonly drainMs?: number } = {}): Promise<void> {
    this.#closing.abort();
    const drained = new AbortController();
    const ended = Promise.all(this.#slots).finally(() => drained.abort());
    if (Number.isFinite(drainMs) && (await sleep(systemClock, drainMs, drained.signal))) {
      await this.#options.runtime.close();
    }
    await ended;
    await this.#scan;
    await this.#pull.close();
    if (this.#parts.isOwn) await this.#parts.client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #look(): Promise<void> {
    const { client, work } = this.#parts;
    // One that can wake nobody does not keep others from it.
    if (work.pool === undefined) return;
    const subject = createLedgerSubjects(this.#options).owner(`scan=w${work.pool}`);
    const { signal } = this.#closing;
    await scanTurns({ client, subject, signal, look: () => work.wakeSleepers() });
  }

  /** One place for one turn after the other. */
  async #work(): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#parts.client.connected(signal);
        if (failures > 0) await this.#rejoin();
        const entry = await this.#pull.next(signal);
        failures = 0;
        if (entry !== undefined) await this.#take(entry);
      } catch (error) {
        // The queue has it still: it comes again, to whoever asks.
        failures += 1;
        if (!signal.aborted) this.#tell(this.#options.onFault, natsError(error, 'working on a turn'));
      }
      const pauseMs = failures === 0 ? 0 : NATS_LIMITS.ledgerBackoffMs * 2 ** failures;
      await sleep(systemClock, Math.min(NATS_LIMITS.maxReconnectMs, pauseMs), signal);
    }
  }

  /** Whoever took the queue away left what waits in it: it is made again as it was. */
  async #rejoin(): Promise<void> {
    await joinPool(this.#parts.client, { ...this.#options, leaseMs: this.leaseMs });
  }

  async #take(entry: HandedEntry): Promise<void> {
    // It came with the word to stop: others need not wait for it.
    if (this.#closing.signal.aborted) {
      entry.giveBack();
      return;
    }
    const beat = setInterval(() => entry.working(), this.#parts.ackWaitMs / SIGNS);
    try {
      const asked = queueEntrySchema.safeParse(readJson(entry.data));
      if (!asked.success) return await this.#bury(entry, 'malformed', 'no entry of a queue');
      const ground = { work: this.#parts.work };
      await this.#finish(entry, await workOnEntry(ground, asked.data, entry.deliveries));
    } catch (error) {
      this.#giveBack(entry);
      if (!isSwarmError(error)) throw error;
    } finally {
      clearInterval(beat);
    }
  }

  async #finish(entry: HandedEntry, end: EntryEnd): Promise<void> {
    if (end.type === 'later') return this.#giveBack(entry, end.isLeaving);
    if (end.type === 'dead') return this.#bury(entry, end.reason, end.why);
    // One that is lost has the entry handed out again, and the ledger tells that it is done.
    entry.done();
    this.#counts[end.how] += 1;
  }

  #giveBack(entry: HandedEntry, isLeaving = false): void {
    this.#counts.returned += 1;
    const { redeliverMs, maxRedeliverMs } = NATS_LIMITS;
    const pauseMs = Math.min(maxRedeliverMs, redeliverMs * 2 ** (entry.deliveries - 1));
    if (isLeaving) entry.giveBack();
    else entry.giveBack(pauseMs);
  }

  /** The dead letter first: one that is there twice is better than one that is nowhere. */
  async #bury(entry: HandedEntry, reason: string, why: string): Promise<void> {
    const { client, subjects } = this.#parts;
    await client.connected(AbortSignal.timeout(NATS_LIMITS.requestMs));
    const { maxPayload = Number.POSITIVE_INFINITY } = client.server ?? {};
    const { message: words, payload } = writeDeadLetter(entry, { reason, why, maxPayload });
    const answer = await client.request(subjects.deadLetter('turn', reason), payload);
    const fault = faultIn(readJson(answer.data));
    if (fault !== undefined) throw rejection('burying a turn', fault);
    entry.giveUp(reason);
    this.#counts.dead += 1;
    this.#tell(this.#options.onDead, { reason, message: words, subject: entry.subject });
  }

  #tell<T>(listener: ((value: T) => void) | undefined, value: T): void {
    try {
      listener?.(value);
    } catch {
      // Whoever listens does not stop the work.
    }
  }
}
