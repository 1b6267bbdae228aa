import type { Ledger } from '../ledger/ledger.ts';
import type { ContentPolicy } from './event-projector.ts';
import type { RunEvent } from './event-schemas.ts';

/** What a sink says of itself. */
export interface SinkState {
  readonly type: 'connected' | 'degraded' | 'down' | 'disabled';
  /** Fit for a log: no address with credentials. */
  readonly message?: string;
}

/** How far a sink is behind the ledger. */
export interface SinkLag {
  /** Positions of the ledger that did not arrive. */
  readonly positions: number;
  /** Since when, milliseconds of the wall clock; undefined while nothing is missing. */
  readonly since: number | undefined;
  /** Events that arrived. */
  readonly published: number;
  /** Times a batch had to be offered again, or the ledger could not be read. */
  readonly failures: number;
}

/**
 * Takes events somewhere else: a bus, a log, a test. Each sink is fed on its own, from its own place in the
 * ledger, so a slow, dead or throwing one delays no turn and no other sink.
 *
 * Events come in ledger order, hence in order within a session, at least once: after a failure the same batch is
 * offered again, so a sink or its readers drop what they have by `id`, or by `seq` within a session. An event
 * that a sink can never take must not be thrown at: it would come again for ever. Drop it and count it.
 */
export interface Sink {
  readonly name: string;
  /** Which events carry content. Default none. */
  readonly content?: ContentPolicy;
  /**
   * Name under which the ledger remembers how far this sink is, over restarts and for all processes on the ledger
   * together. Not given = nothing is remembered for it.
   */
  readonly cursorName?: string;
  /** Bytes of an event with content; over it the content stays behind. Default `limits.events.maxEventBytes`. */
  readonly maxEventBytes?: number;
  /** Longest pause before it is asked again after failures. Default `limits.events.maxSinkBackoffMs`. */
  readonly maxBackoffMs?: number;
  /**
   * Cursor of the last event that arrived for certain, from wherever the sink remembers it; reading goes on
   * behind it. `known` is what the ledger remembers under `cursorName`. Not given, or undefined, = reading goes on
   * behind `known`; where there is none, the sink begins with what is committed from now on.
   */
  resumeAfter?(signal: AbortSignal, known: number | undefined): Promise<number | undefined>;
  /** Called once, before anything else: where artifacts that events refer to can be read. */
  attach?(artifacts: Pick<Ledger, 'getArtifact'>): void;
  /**
   * Resolves when all of the batch has arrived. Rejecting = none of it counts as arrived. `signal` aborts when
   * the time for it is over or the runtime closes.
   */
  publish(events: readonly RunEvent[], signal: AbortSignal): Promise<void>;
  state?(): SinkState;
  /** Told how far behind the sink is, after each batch and failure. Must not throw. */
  observe?(lag: SinkLag): void;
  /** Called once, after the last `publish`. */
  close?(): Promise<void>;
}
