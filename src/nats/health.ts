import { z } from 'zod';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';

/** What a publisher says of itself. */
export const healthSchema = z.object({
  v: z.literal(1),
  state: z.enum(['connected', 'degraded', 'down', 'disabled']),
  /** Why it is not well. */
  message: z.string().optional(),
  /** Records of the ledger that did not arrive, and since when, in milliseconds of the wall clock. */
  lag: z.number(),
  since: z.number().optional(),
  stored: z.number(),
  duplicates: z.number(),
  skipped: z.number(),
  dropped: z.number(),
  goBacks: z.number(),
  at: z.string(),
});

/** Tells the bus how a publisher is doing. */
export interface HealthBeat {
  /** Something may have changed: tells it, if it did. */
  changed(): void;
  close(): void;
}

export interface HealthBeatOptions {
  readonly client: NatsClient;
  readonly subject: string;
  /** What there is to tell; `type` is told at once when it changes. */
  readonly report: () => { readonly type: string } & object;
}

/**
 * Publishes a report at every change of state, and from time to time while connected. Seen live or not at all; a
 * publisher that is silent for three times as long is gone.
 */
export function createHealthBeat({ client, subject, report }: HealthBeatOptions): HealthBeat {
  let last = '';
  const tell = () => {
    if (client.state.type !== 'connected') return;
    const current = report();
    last = current.type;
    const { type: state, ...figures } = current;
    const text = JSON.stringify({ v: 1, state, ...figures, at: new Date().toISOString() });
    try {
      client.publish(subject, new TextEncoder().encode(text));
    } catch {
      // It has gone down this very moment; the next change tells.
    }
  };
  const changed = () => {
    const { type } = report();
    if (type === last) return;
    last = type;
    tell();
  };
  const forget = client.watch(changed);
  const timer = setInterval(tell, NATS_LIMITS.healthMs);
  // The connection keeps the process for as long as it is open; this need not.
  timer.unref();
  return {
    changed,
    close() {
      clearInterval(timer);
      forget();
    },
  };
}
