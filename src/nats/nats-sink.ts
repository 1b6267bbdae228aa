import { type Clock, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type { ContentPolicy } from '../events/event-projector.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import type { Sink, SinkLag, SinkState } from '../events/sink.ts';
import { randomIds } from '../ids.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { NATS_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { type ArtifactBucket, createArtifactBucket } from './artifact-bucket.ts';
import { type BatchPublisher, createBatchPublisher, type StreamMessage } from './batch-publisher.ts';
import type { NatsClient } from './client.ts';
import { type Connection, openConnection } from './connection.ts';
import {
  createEventWriter,
  createTraceparents,
  type EventFormat,
  type EventWriter,
} from './event-message.ts';
import { createHealthBeat, type HealthBeat } from './health.ts';
import { copyArtifacts } from './ledger-artifacts.ts';
import { messageOf } from './nats-error.ts';
import { createResumption, type Resumption } from './resumption.ts';
import { createSubjects, type SubjectOptions } from './subjects.ts';

/** Options of {@link natsSink}. */
export interface NatsSinkOptions extends SubjectOptions {
  /** A connection, or how to make one. `undefined` switches the sink off: it says `disabled` and takes nothing. */
  readonly connection: Connection | undefined;
  /** Which events carry what people, models and tools said. Default none. */
  readonly content?: ContentPolicy;
  /** Default `json`. */
  readonly format?: EventFormat;
  /**
   * The W3C trace parent of an event, for the header `traceparent`. Default: one trace a run, worked out of its id.
   * `false` sends none.
   */
  readonly traceparent?: false | ((event: RunEvent) => string | undefined);
  /** What the publisher calls itself in its messages about itself. Default: a random token. */
  readonly publisher?: string;
  /**
   * Name under which the ledger remembers how far it is. Default `nats:<subjectRoot>:<ns>`: two sinks of one ledger
   * that publish to different servers need names of their own.
   */
  readonly cursorName?: string;
  /** Ledger position after which to publish once more, instead of where it left off. What is stored stays once. */
  readonly republishAfter?: number;
}

/** A sink that says more of itself. */
export interface NatsSink extends Sink {
  /** Counts since the start of the process. */
  counts(): NatsSinkCounts;
}

/** What a {@link NatsSink} counted. */
export interface NatsSinkCounts {
  /** Events the server has stored. */
  readonly stored: number;
  /** Of these, those it had already and recognised. */
  readonly duplicates: number;
  /** Events that were found stored before they were sent again. */
  readonly skipped: number;
  /** Events that no message can hold; a gap in their session tells readers of it. */
  readonly dropped: number;
  /** Batches that had to be sent again from their beginning. */
  readonly goBacks: number;
}

const OPTIONS: OptionNames<NatsSinkOptions> = {
  ns: true,
  subjectRoot: true,
  connection: true,
  content: true,
  format: true,
  traceparent: true,
  publisher: true,
  cursorName: true,
  republishAfter: true,
};

/**
 * Publishes every event to JetStream, in the order of the ledger, from where the last process left off. Nothing waits
 * for the server: while it is away the ledger is the queue.
 * @throws SwarmError 'invalid-definition', 'nats-insecure'
 * @example
 * const runtime = createRuntime({ ledger, sinks: [natsSink({ connection: 'nats://127.0.0.1:4222' })] });
 */
export function natsSink(options: NatsSinkOptions): NatsSink {
  assertOptions('natsSink', options, OPTIONS);
  if (options.connection === undefined) return disabledSink();
  return new StreamSink(options, options.connection);
}

const NOTHING: NatsSinkCounts = { stored: 0, duplicates: 0, skipped: 0, dropped: 0, goBacks: 0 };

function disabledSink(): NatsSink {
  return {
    name: 'nats',
    publish: async () => {},
    state: () => ({ type: 'disabled' }),
    counts: () => NOTHING,
  };
}

type Counts = { -readonly [K in keyof NatsSinkCounts]: number };

class StreamSink implements NatsSink {
  readonly name = 'nats';
  readonly cursorName: string;
  readonly content: ContentPolicy;
  /** What is too large becomes a reference here, which is better than to be left out before. */
  readonly maxEventBytes = Number.POSITIVE_INFINITY;
  /** A server that is back is noticed soon; asking costs nothing while there is no connection. */
  readonly maxBackoffMs = NATS_LIMITS.publishBackoffMs;
  readonly #client: NatsClient;
  readonly #isOwn: boolean;
  readonly #publisher: BatchPublisher;
  readonly #writer: EventWriter;
  readonly #bucket: ArtifactBucket;
  readonly #resumption: Resumption;
  readonly #health: HealthBeat;
  readonly #republishAfter: number | undefined;
  readonly #clock: Clock = systemClock;
  readonly #counts: Counts = { ...NOTHING };
  #ledger: Pick<Ledger, 'getArtifact'> | undefined;
  #lag: SinkLag = { positions: 0, since: undefined, published: 0, failures: 0 };
  /** What the last batch failed with, or what of it could not be stored. */
  #trouble: string | undefined;
  #isRefused = false;

  constructor(options: NatsSinkOptions, connection: Connection) {
    const { subjectRoot = 'swm', ns = 'default', content = false, format = 'json' } = options;
    const subjects = createSubjects(options);
    this.cursorName = options.cursorName ?? `nats:${subjectRoot}:${ns}`;
    this.content = content;
    this.#republishAfter = options.republishAfter;
    ({ client: this.#client, isOwn: this.#isOwn } = openConnection(connection));
    this.#publisher = createBatchPublisher(this.#client);
    this.#bucket = createArtifactBucket(this.#client);
    this.#resumption = createResumption(this.#client, subjects, this.#clock);
    const traceparent = options.traceparent ?? createTraceparents();
    this.#writer = createEventWriter({
      subjects,
      format,
      store: { put: (bytes, type) => this.#put(bytes, type) },
      traceparent: traceparent === false ? () => undefined : traceparent,
    });
    this.#health = createHealthBeat({
      client: this.#client,
      subject: subjects.health(options.publisher ?? randomIds.next('inbox')),
      report: () => ({ ...this.state(), ...this.#counts, lag: this.#lag.positions, since: this.#lag.since }),
    });
  }

  counts(): NatsSinkCounts {
    return { ...this.#counts };
  }

  attach(ledger: Pick<Ledger, 'getArtifact'>): void {
    this.#ledger = ledger;
  }

  async resumeAfter(): Promise<number | undefined> {
    return this.#republishAfter;
  }

  async publish(events: readonly RunEvent[], signal: AbortSignal): Promise<void> {
    // Fails at once while there is no connection: the pump comes again.
    this.#client.live();
    try {
      const missing = await this.#resumption.missing(events, signal);
      this.#counts.skipped += events.length - missing.length;
      const messages = await this.#messagesOf(missing);
      this.#count(await this.#publisher.publish(messages, signal));
      this.#resumption.arrived(events);
      if (!this.#isRefused) this.#trouble = undefined;
    } catch (error) {
      this.#counts.goBacks += 1;
      this.#trouble = messageOf(error);
      this.#resumption.failed(events);
      throw error;
    } finally {
      this.#health.changed();
    }
  }

  observe(lag: SinkLag): void {
    this.#lag = lag;
    this.#health.changed();
  }

  state(): SinkState {
    const { type, message } = this.#client.state;
    const why = this.#trouble ?? message;
    if (type !== 'connected') {
      return { type: 'down', message: message ?? `no connection to ${this.#client.address}` };
    }
    const isBehind = this.#lag.positions > NATS_LIMITS.degradedLag;
    if (why === undefined && !isBehind) return { type: 'connected' };
    return { type: 'degraded', message: why ?? `${this.#lag.positions} records behind` };
  }

  async close(): Promise<void> {
    this.#health.close();
    this.#publisher.close();
    if (this.#isOwn) await this.#client.close();
  }

  async #messagesOf(events: readonly RunEvent[]): Promise<readonly StreamMessage[]> {
    this.#isRefused = false;
    const messages: StreamMessage[] = [];
    for (const event of events) {
      // Before the event that names them, so that whoever reads it finds them.
      if (this.#ledger !== undefined)
        await this.#keep(copyArtifacts(event, this.content, this.#ledger, this.#bucket));
      const message = await this.#writer.write(event);
      if (message === undefined) this.#drop(`the event ${event.id} is larger than any message`);
      else messages.push(message);
    }
    return messages;
  }

  /** `undefined` where the bucket takes nothing, which is no reason to hold the events up. */
  async #put(bytes: Uint8Array, type: string) {
    return this.#keep(this.#bucket.put(bytes, type));
  }

  async #keep<T>(storing: Promise<T>): Promise<T | undefined> {
    try {
      return await storing;
    } catch (error) {
      // Without a connection the batch fails as a whole and comes again.
      this.#client.live();
      this.#isRefused = true;
      this.#trouble = messageOf(error);
      return undefined;
    }
  }

  #count(outcomes: Awaited<ReturnType<BatchPublisher['publish']>>): void {
    for (const outcome of outcomes) {
      if (outcome.type === 'unfit') this.#drop(outcome.message);
      else {
        this.#counts.stored += 1;
        if (outcome.duplicate) this.#counts.duplicates += 1;
      }
    }
  }

  #drop(why: string): void {
    this.#counts.dropped += 1;
    this.#isRefused = true;
    this.#trouble = new SwarmError('nats-rejected', why).message;
  }
}
