import { type Clock, systemClock } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { DEFAULT_LIMITS, type Limits } from '../limits.ts';
import type { Redactor } from './redaction.ts';
import type { Sink } from './sink.ts';
import { SinkPump, type SinkStats } from './sink-pump.ts';

export type { SinkStats } from './sink-pump.ts';

/** Options of {@link createOutbox}. */
export interface OutboxOptions {
  readonly ledger: Ledger;
  readonly sinks: readonly Sink[];
  readonly clock?: Clock;
  readonly redactor?: Redactor;
  /** Default `limits.events`. */
  readonly limits?: Limits['events'];
  /** 0 to 1, for the jitter of pauses. Default `Math.random`. */
  readonly random?: () => number;
}

/** Carries committed facts to sinks, behind the back of the turns that wrote them. */
export interface Outbox extends AsyncDisposable {
  /** How far each sink is. */
  stats(): readonly SinkStats[];
  /**
   * Lets every sink take what was committed before the call, for at most `drainMs` (default
   * `limits.events.drainMs`), then stops and closes them. A sink that did not manage goes on from its own place
   * the next time. Idempotent; never rejects.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** Starts feeding the sinks, each by a pump of its own. */
export function createOutbox(options: OutboxOptions): Outbox {
  const { ledger, sinks, clock = systemClock, redactor, random = Math.random } = options;
  const limits = options.limits ?? DEFAULT_LIMITS.events;
  // Taken before anything can be committed after this call, so that no event falls between.
  const begin = ledger.position().catch(() => 0);
  const pumps = sinks.map(
    (sink) =>
      new SinkPump({
        ledger,
        sink,
        clock,
        limits,
        random,
        begin,
        ...(redactor !== undefined && { redactor }),
      }),
  );
  let closing: Promise<void> | undefined;
  const close = (drainMs = limits.drainMs) => {
    closing ??= Promise.all(pumps.map((pump) => pump.close(drainMs))).then(() => undefined);
    return closing;
  };
  return {
    stats: () => pumps.map((pump) => pump.stats()),
    close: (closeOptions) => close(closeOptions?.drainMs),
    [Symbol.asyncDispose]: () => close(),
  };
}
