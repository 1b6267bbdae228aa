import { type Clock, sleep, systemClock } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';

export interface SteadyOptions {
  readonly client: NatsClient;
  /** Aborts when the ledger closes. */
  readonly closing: AbortSignal;
  readonly withinMs: number;
  readonly clock?: Clock;
}

/**
 * Does work that may be done again while the server is away for a moment, for a bounded time.
 * @throws SwarmError 'ledger-unavailable', 'ledger-closed', and what else the work throws
 */
export type Steady = <T>(work: () => Promise<T>) => Promise<T>;

export function createSteady({ client, closing, withinMs, clock = systemClock }: SteadyOptions): Steady {
  return async (work) => {
    const until = clock.monotonicMs() + withinMs;
    // Made when something has to be waited for, which is seldom: a timer for each look would stay for long.
    let end: AbortSignal | undefined;
    const waiting = () => {
      end ??= AbortSignal.any([closing, AbortSignal.timeout(wholeMs(until - clock.monotonicMs()))]);
      return end;
    };
    for (let tries = 0; ; tries += 1) {
      if (closing.aborted) throw ledgerClosed();
      try {
        if (client.state.type !== 'connected') await client.connected(waiting());
        return await work();
      } catch (error) {
        if (closing.aborted) throw ledgerClosed(error);
        if (isSwarmError(error, 'nats-rejected')) throw unavailable(error);
        if (!isSwarmError(error, 'nats-unavailable')) throw error;
        if (clock.monotonicMs() >= until) throw unavailable(error);
      }
      const pauseMs = Math.min(NATS_LIMITS.maxLedgerBackoffMs, NATS_LIMITS.ledgerBackoffMs * 2 ** tries);
      await sleep(clock, pauseMs, waiting());
    }
  };
}

/** A time as timers take it. */
function wholeMs(ms: number): number {
  return Math.min(2 ** 31 - 1, Math.max(0, Math.ceil(ms)));
}

export function ledgerClosed(cause?: unknown): SwarmError {
  return new SwarmError('ledger-closed', 'the ledger was closed', { cause });
}

function unavailable(cause: SwarmError): SwarmError {
  return new SwarmError('ledger-unavailable', `the ledger on NATS failed: ${cause.message}`, { cause });
}
