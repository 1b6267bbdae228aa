import type { RunEvent } from '../events/event-schemas.ts';
import { NATS_LIMITS } from '../limits.ts';

/** How an event stands to those of its session before it. */
export type Standing =
  /** It is the next one, or the first that is seen of the session. */
  | { readonly type: 'next' }
  | { readonly type: 'repeated' }
  /** Events between `after` and it did not come. */
  | { readonly type: 'gap'; readonly after: number };

/** Follows the order of many sessions: by (session, seq), never by time. */
export interface SessionOrder {
  /** Says how an event stands; what is not repeated counts as seen from then on. */
  take(event: Pick<RunEvent, 'session' | 'seq' | 'prev'>): Standing;
}

/** Options of {@link createSessionOrder}. */
export interface SessionOrderOptions {
  /** Last event of a session that was handled in an earlier life; undefined for none. */
  readonly known?: ((session: string) => number | undefined) | undefined;
  /** False where only some of the events come, so that one missing tells nothing. */
  readonly isWhole: boolean;
  /** Sessions that are followed; those that moved longest ago are forgotten. */
  readonly maxSessions?: number;
}

/** Makes a {@link SessionOrder}. Memory: one number for each of the sessions that moved last. */
export function createSessionOrder(options: SessionOrderOptions): SessionOrder {
  const { known = () => undefined, isWhole, maxSessions = NATS_LIMITS.subscriberSessions } = options;
  const lasts = new Map<string, number>();
  return {
    take({ session, seq, prev }) {
      const last = lasts.get(session) ?? known(session);
      if (last !== undefined && seq <= last) return { type: 'repeated' };
      lasts.delete(session);
      lasts.set(session, seq);
      const [oldest] = lasts.keys();
      if (lasts.size > maxSessions && oldest !== undefined) lasts.delete(oldest);
      if (!isWhole || last === undefined || prev <= last) return { type: 'next' };
      return { type: 'gap', after: last };
    },
  };
}
