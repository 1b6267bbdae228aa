import type { RunEvent } from '../events/event-schemas.ts';
import { recordOfEvent } from './event-records.ts';
import type { FactSource, PlacedFact } from './fact-source.ts';
import { replayPath } from './replay-path.ts';

/** Events of a bus in the order in which they came, for any number of viewers. */
export interface EventLog extends FactSource {
  push(event: RunEvent): void;
  /** The newest event whose JSON passes, among the newest `within`. */
  findLast(test: (text: string) => boolean, within: number): RunEvent | undefined;
}

/** How much an {@link EventLog} keeps. */
export interface EventLogBounds {
  readonly maxEvents: number;
  /** Bytes of their JSON. */
  readonly maxBytes: number;
}

interface Kept {
  readonly session: string;
  readonly seq: number;
  readonly text: string;
  readonly bytes: number;
}

/**
 * Keeps the newest events in memory, as JSON: that is what is sent, and takes a fraction of the room of objects. A
 * position counts events from the first one that came, so it means the same to every viewer for as long as this log
 * lives.
 */
export function createEventLog({ maxEvents, maxBytes }: EventLogBounds): EventLog {
  let kept: Kept[] = [];
  /** Places at the beginning of `kept` whose events are gone. */
  let gone = 0;
  /** Events before the first place. */
  let before = 0;
  let bytes = 0;
  const waiting = new Set<() => void>();
  const position = () => before + kept.length;

  const drop = () => {
    while (kept.length - gone > maxEvents || bytes > maxBytes) {
      bytes -= kept[gone]?.bytes ?? 0;
      gone += 1;
    }
    // Moved seldom: a copy costs as much as there is to keep.
    if (gone <= kept.length / 2) return;
    before += gone;
    kept = kept.slice(gone);
    gone = 0;
  };

  return {
    push(event) {
      // What a bus says of a place is that of a ledger among many.
      const text = JSON.stringify({ ...event, cursor: position() + 1 });
      const size = Buffer.byteLength(text);
      kept.push({ session: event.session, seq: event.seq, text, bytes: size });
      bytes += size;
      drop();
      for (const done of [...waiting]) done();
    },
    findLast(test, within) {
      const from = Math.max(gone, kept.length - within);
      const at = kept.findLastIndex(({ text }, index) => index >= from && test(text));
      return at < from ? undefined : eventIn(kept[at]);
    },
    position: () => Promise.resolve(position()),
    async *facts(after, signal, upTo = Number.POSITIVE_INFINITY): AsyncGenerator<PlacedFact> {
      let missed = 0;
      for (let at = after; at < upTo && !signal.aborted; ) {
        missed += Math.max(0, before + gone - at);
        at = Math.max(at, before + gone);
        const text = kept[at - before]?.text;
        if (text === undefined) await nextIn(waiting, signal);
        else {
          at += 1;
          yield { position: at, text, missed };
          missed = 0;
        }
      }
    },
    path(instance, seq) {
      const session = instance.split('.')[0];
      const records = kept
        .slice(gone)
        .filter((one) => one.session === session && one.seq <= seq)
        .flatMap((one) => eventIn(one) ?? []);
      return Promise.resolve(replayPath(instance, records.map(recordOfEvent)));
    },
    said: () => Promise.resolve(undefined),
  };
}

/** Resolves with the next event, and when the signal aborts. */
function nextIn(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      waiting.delete(done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    waiting.add(done);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** What was pushed as an event is one. */
function eventIn(kept: Kept | undefined): RunEvent | undefined {
  return kept === undefined ? undefined : (JSON.parse(kept.text) as RunEvent);
}
