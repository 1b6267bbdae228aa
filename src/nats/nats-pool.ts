import { z } from 'zod';
import type { Queued, QueuedRun, QueuedWake, WorkPool } from '../agent/work-pool.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import { NATS_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import type { NatsClient } from './client.ts';
import { type Connection, openConnection } from './connection.ts';
import { FAULT, faultIn, readJson, rejection } from './jet-stream-api.ts';
import { queuedWakeSchema } from './queue-entry.ts';
import type { SubjectOptions } from './subjects.ts';
import { createQueueSubjects, type QueueSubjects, queuedTurnSchema, storeTurn } from './work-queue.ts';

/** Options of {@link natsPool}. */
export interface NatsPoolOptions extends SubjectOptions {
  /** A connection, which others may use too, or how to make one. */
  readonly connection: Connection;
  /** Which workers. Default `default`. */
  readonly pool?: string;
}

const OPTIONS: OptionNames<NatsPoolOptions> = {
  ns: true,
  subjectRoot: true,
  connection: true,
  pool: true,
};

/**
 * Workers on NATS, for the option `pool` of `createRuntime`: runs are queued there, and `swarmwright worker` or
 * {@link startWorker} works on them. Ledger and workers are of the same namespace. Each entry is stored when it is
 * acknowledged, waits a day at most, and may be repeated safely.
 * @throws SwarmError 'invalid-definition', 'nats-insecure'
 * @example
 * const connection = connectNats('nats://127.0.0.1:4222');
 * const runtime = createRuntime({
 *   agents: { reviewer },
 *   ledger: jetstreamLedger({ connection }),
 *   pool: natsPool({ connection }),
 * });
 * const result = await runtime.run('reviewer', 'Review src/main.ts').result;
 */
export function natsPool(options: NatsPoolOptions): WorkPool {
  assertOptions('natsPool', options, OPTIONS);
  const subjects = createQueueSubjects(options);
  return new NatsPool(openConnection(options.connection), { subjects, name: options.pool ?? 'default' });
}

class NatsPool implements WorkPool {
  readonly name: string;
  readonly #client: NatsClient;
  readonly #isOwnClient: boolean;
  readonly #subjects: QueueSubjects;

  constructor(
    { client, isOwn }: { readonly client: NatsClient; readonly isOwn: boolean },
    { subjects, name }: { readonly subjects: QueueSubjects; readonly name: string },
  ) {
    this.#client = client;
    this.#isOwnClient = isOwn;
    this.#subjects = subjects;
    this.name = name;
  }

  async submit(run: QueuedRun): Promise<Queued> {
    const turn = queuedTurnSchema.safeParse({ v: 1, ...run });
    if (!turn.success) throw new SwarmError('invalid-input', `not a turn: ${z.prettifyError(turn.error)}`);
    const subject = this.#subjects.turn(this.name, run.session);
    // The stream is that of all namespaces: an id is one of its subject.
    const entry = { subject, turn: turn.data, messageId: `${subject}:${run.run}` };
    return this.#send(() => storeTurn(this.#client, entry));
  }

  async wake({ pool = this.name, ...wake }: QueuedWake): Promise<void> {
    const entry = queuedWakeSchema.parse({ v: 1, kind: 'wake', ...wake });
    const subject = this.#subjects.wake(pool, wake.session, wake.cause);
    const payload = Buffer.from(JSON.stringify(entry), 'utf8');
    const answer = await this.#send(() => this.#client.request(subject, payload));
    const fault = faultIn(readJson(answer.data));
    // The same reason waits already, or somebody sees to it who knows of it.
    if (fault === undefined || isThere(fault)) return;
    throw rejection(`waking ${wake.session}`, fault);
  }

  /**
   * Once more where the answer was lost: what was stored would be worked on though whoever gave it was told it failed.
   * An entry that comes twice is worked on once.
   */
  async #send<T>(store: () => Promise<T>): Promise<T> {
    await this.#client.connected(AbortSignal.timeout(NATS_LIMITS.requestMs));
    try {
      return await store();
    } catch (error) {
      if (!isSwarmError(error, 'nats-unavailable')) throw error;
      await this.#client.connected(AbortSignal.timeout(NATS_LIMITS.requestMs));
      return store();
    }
  }

  async close(): Promise<void> {
    if (this.#isOwnClient) await this.#client.close();
  }
}

function isThere({ code, description }: { readonly code: number; readonly description: string }): boolean {
  return code === FAULT.notStored && description.includes('per subject');
}
