import { DeliverPolicy, jetstream } from '@nats-io/jetstream';
import { z } from 'zod';
import { type Clock, sleep, systemClock } from '../clock.ts';
import { CommitWatch } from '../ledger/commit-watch.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { askJetStream, rejection } from './jet-stream-api.ts';
import type { SequencedMessage } from './stream-reader.ts';

export interface StreamWatchOptions {
  readonly client: NatsClient;
  readonly stream: string;
  readonly filter: string;
  /** What waiters of a message wait for, out of its subject and headers. */
  keysOf(message: Pick<SequencedMessage, 'subject' | 'header'>): readonly string[];
  readonly clock?: Clock;
}

/** One thing that is waited for. */
export interface Watched {
  /** Wakes when something under the key was stored. Take its version before looking. */
  readonly watch: CommitWatch;
  /** Sequence that a look has to reach, as the server has told of it. */
  newest(): number;
  /** Call it once when nobody waits any more. */
  release(): void;
}

/**
 * Tells who waits that something was stored. One reader of headers for all of them, from the first one on; each looks
 * for itself then, so a message that is missed while the connection is away costs nothing: all look when it is back.
 */
export class StreamWatch {
  readonly #options: StreamWatchOptions;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, { watch: CommitWatch; users: number; newest: number }>();
  readonly #closed = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: StreamWatchOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  on(key: string): Watched {
    const entry = this.#waiting.get(key) ?? { watch: new CommitWatch(), users: 0, newest: 0 };
    entry.users += 1;
    this.#waiting.set(key, entry);
    if (this.#closed.signal.aborted) entry.watch.close();
    else this.#running ??= this.#run();
    let isReleased = false;
    return {
      watch: entry.watch,
      newest: () => entry.newest,
      release: () => {
        if (isReleased) return;
        isReleased = true;
        entry.users -= 1;
        if (entry.users === 0) this.#waiting.delete(key);
      },
    };
  }

  /** A message was stored. */
  note(keys: readonly string[], sequence: number): void {
    for (const key of keys) {
      const entry = this.#waiting.get(key);
      // Whoever stored it may have told of it before the server does.
      if (entry === undefined || sequence <= entry.newest) continue;
      entry.newest = sequence;
      entry.watch.wake();
    }
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const { watch } of this.#waiting.values()) watch.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        await this.#options.client.connected(signal);
        await this.#follow(() => {
          failures = 0;
        });
      } catch {
        // Tried again, whatever it is: who waits is told of it by its own look at the stream.
      }
      const pauseMs = Math.min(NATS_LIMITS.maxReconnectMs, NATS_LIMITS.ledgerBackoffMs * 2 ** failures);
      await sleep(this.#clock, pauseMs, signal);
    }
  }

  /** For as long as the connection lasts. */
  async #follow(onMessage: () => void): Promise<void> {
    const { client, stream, filter, keysOf } = this.#options;
    const stopped = AbortSignal.any([this.#closed.signal, client.life]);
    const consumer = await jetstream(client.live()).consumers.get(stream, {
      filter_subjects: filter,
      // "From now on" as a place, so that a reader that is made again by itself goes on where it was.
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: (await lastSequence(client, stream, stopped)) + 1,
      headers_only: true,
      inactive_threshold: NATS_LIMITS.consumerMs,
    });
    const messages = await consumer.consume({ max_messages: 256, expires: NATS_LIMITS.requestMs });
    const stop = () => messages.stop();
    stopped.addEventListener('abort', stop, { once: true });
    try {
      // Between the last reader and this one anything may have come.
      for (const { watch } of this.#waiting.values()) watch.wake();
      if (stopped.aborted) return;
      for await (const { seq, subject, headers } of messages) {
        onMessage();
        const header = (name: string) => (headers?.has(name) === true ? headers.get(name) : undefined);
        this.note(keysOf({ subject, header }), seq);
      }
    } finally {
      stopped.removeEventListener('abort', stop);
      // Not `close`, which waits for a reader to see the end.
      messages.stop();
      if (!client.life.aborted && client.state.type === 'connected') {
        await consumer.delete().catch(() => undefined);
      }
    }
  }
}

const infoSchema = z.object({ state: z.object({ last_seq: z.number() }) });

async function lastSequence(client: NatsClient, stream: string, signal: AbortSignal): Promise<number> {
  const answer = await askJetStream(client, `STREAM.INFO.${stream}`, {}, signal);
  if (answer.type === 'fault') throw rejection(`following ${stream}`, answer.fault);
  return infoSchema.parse(answer.body).state.last_seq;
}
