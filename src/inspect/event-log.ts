import type { RunEvent } from '../events/event-schemas.ts';
import { recordOfEvent } from './event-records.ts';
import type { FactSource, PlacedFact } from './fact-source.ts';
import { replayPath } from './replay-path.ts';

/** Events of a bus in the order in which they came, for any number of viewers. */
export interface EventLog extends FactSource {
  push(event: RunEvent): void;
  /** Those that are here, oldest first. */
  all(): readonly RunEvent[];
}

/**
 * Keeps the newest `max` events in memory. A position counts events from the first one that came, so it means the same
 * to every viewer for as long as this log lives.
 */
export function createEventLog(max: number): EventLog {
  let events: RunEvent[] = [];
  let dropped = 0;
  let waiting = Promise.withResolvers<void>();
  const position = () => dropped + events.length;
  return {
    push(event) {
      // What a bus says of a place is that of a ledger among many.
      events.push({ ...event, cursor: position() + 1 });
      if (events.length > max + max / 4) {
        dropped += events.length - max;
        events = events.slice(-max);
      }
      waiting.resolve();
      waiting = Promise.withResolvers<void>();
    },
    all: () => events,
    position: () => Promise.resolve(position()),
    async *facts(after, signal): AsyncGenerator<PlacedFact> {
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => aborted.resolve(), { once: true });
      for (let at = Math.max(after, dropped); !signal.aborted; ) {
        const event = events[at - dropped];
        if (event === undefined) await Promise.race([waiting.promise, aborted.promise]);
        else {
          at += 1;
          yield { position: at, event };
        }
        at = Math.max(at, dropped);
      }
    },
    path(instance, seq) {
      const session = instance.split('.')[0];
      const ofSession = events.filter((event) => event.session === session && event.seq <= seq);
      return Promise.resolve(replayPath(instance, ofSession.map(recordOfEvent)));
    },
    said: () => Promise.resolve(undefined),
  };
}
