import { z } from 'zod';
import type { Clock } from '../clock.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { readJson } from './jet-stream-api.ts';
import { readAllStored } from './stored-events.ts';
import type { Subjects } from './subjects.ts';

/**
 * Knows which events are stored already. The server recognises a repeated id for some minutes; after a longer outage,
 * and at the start, the stream itself is asked.
 */
export interface Resumption {
  /** Those of a batch that are not stored, as far as it had to be looked up. @throws what reading the stream throws */
  missing(events: readonly RunEvent[], signal: AbortSignal): Promise<readonly RunEvent[]>;
  /** A batch is stored. */
  arrived(events: readonly RunEvent[]): void;
  /** It is unknown what of a batch is stored. */
  failed(events: readonly RunEvent[]): void;
}

/** Events that the process before may have stored without having remembered it: two batches and what a cursor lags. */
const LOOKED_UP_EVENTS = 1_024;
/** The window starts at the first try, and the last one takes its time too. */
const TRUSTED_MS = NATS_LIMITS.duplicateWindowMs / 2;

export function createResumption(client: NatsClient, subjects: Subjects, clock: Clock): Resumption {
  let toLookUp = LOOKED_UP_EVENTS;
  /** When the batch under way was tried first. */
  let triedAt: number | undefined;
  return {
    async missing(events, signal) {
      const isStale = triedAt !== undefined && clock.monotonicMs() - triedAt > TRUSTED_MS;
      if (toLookUp <= 0 && !isStale) return events;
      const stored = new Set<string>();
      for (const [session, [first]] of bySession(events)) {
        if (first === undefined) continue;
        const filter = subjects.events({ root: first.root, session });
        for (const id of await storedFrom(client, filter, first.seq, signal)) stored.add(id);
      }
      return events.filter(({ id }) => !stored.has(id));
    },
    arrived(events) {
      triedAt = undefined;
      toLookUp = Math.max(0, toLookUp - events.length);
    },
    failed() {
      triedAt ??= clock.monotonicMs();
    },
  };
}

function bySession(events: readonly RunEvent[]): ReadonlyMap<string, readonly RunEvent[]> {
  return Map.groupBy(events, ({ session }) => session);
}

const placeSchema = z.object({ id: z.string(), seq: z.number() });

/** Ids of a session from `seq` on that are stored. Mostly none is, which one look at its newest messages shows. */
async function storedFrom(
  client: NatsClient,
  filter: string,
  seq: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const isFrom = ({ seq: stored }: { readonly seq: number }) => stored >= seq;
  const newest = await placesUnder(client, filter, signal, 'newest');
  if (!newest.some(isFrom)) return [];
  // There may be holes: one that was refused while a later one was stored.
  return (await placesUnder(client, filter, signal, 'all')).filter(isFrom).map(({ id }) => id);
}

async function placesUnder(
  client: NatsClient,
  filter: string,
  signal: AbortSignal,
  which: 'all' | 'newest',
): Promise<readonly { readonly id: string; readonly seq: number }[]> {
  const places: { id: string; seq: number }[] = [];
  for await (const { data } of readAllStored(client, filter, signal, which)) {
    const parsed = placeSchema.safeParse(readJson(data));
    if (parsed.success) places.push(parsed.data);
  }
  return places;
}
