import type { ContentPolicy } from './event-projector.ts';
import type { RunEvent } from './event-schemas.ts';

/** What a sink says of itself. */
export interface SinkState {
  readonly type: 'connected' | 'degraded' | 'down' | 'disabled';
  /** Fit for a log: no address with credentials. */
  readonly message?: string;
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
   * Cursor of the last event that arrived for certain, from wherever the sink remembers it; reading goes on
   * behind it. Not given = the sink begins with what is committed from now on.
   */
  resumeAfter?(signal: AbortSignal): Promise<number | undefined>;
  /**
   * Resolves when all of the batch has arrived. Rejecting = none of it counts as arrived. `signal` aborts when
   * the time for it is over or the runtime closes.
   */
  publish(events: readonly RunEvent[], signal: AbortSignal): Promise<void>;
  state?(): SinkState;
  /** Called once, after the last `publish`. */
  close?(): Promise<void>;
}
