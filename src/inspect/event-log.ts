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
export function createEventLog(bounds: EventLogBounds): EventLog {
  const kept = new KeptEvents(bounds);
  const waiting = new Set<() => void>();
  return {
    push(event) {
      // What a bus says of a place is that of a ledger among many.
      const text = JSON.stringify({ ...event, cursor: kept.end + 1 });
      kept.add({ session: event.session, seq: event.seq, text, bytes: Buffer.byteLength(text) });
      for (const done of [...waiting]) done();
    },
    findLast: (test, within) => eventIn(kept.newest(within).findLast(({ text }) => test(text))),
    position: () => Promise.resolve(kept.end),
    async *facts(after, signal, upTo = Number.POSITIVE_INFINITY): AsyncGenerator<PlacedFact> {
      let missed = 0;
      for (let at = after; at < upTo && !signal.aborted; ) {
        missed += Math.max(0, kept.begin - at);
        at = Math.max(at, kept.begin);
        const text = kept.at(at)?.text;
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
      const own = kept.newest().filter((one) => one.session === session && one.seq <= seq);
      const records = own.flatMap((one) => eventIn(one) ?? []).map(recordOfEvent);
      return Promise.resolve(replayPath(instance, records));
    },
    said: () => Promise.resolve(undefined),
  };
}

/** The newest events, by how many came before each. */
class KeptEvents {
  readonly #bounds: EventLogBounds;
  #all: Kept[] = [];
  /** Places at the beginning of `#all` whose events are gone. */
  #gone = 0;
  /** Events before the first place. */
  #before = 0;
  #bytes = 0;

  constructor(bounds: EventLogBounds) {
    this.#bounds = bounds;
  }

  /** Position of the oldest. */
  get begin(): number {
    return this.#before + this.#gone;
  }

  /** Position of the next to come. */
  get end(): number {
    return this.#before + this.#all.length;
  }

  /** One that is not gone. */
  at(position: number): Kept | undefined {
    return this.#all[position - this.#before];
  }

  newest(count = this.#all.length): readonly Kept[] {
    return this.#all.slice(Math.max(this.#gone, this.#all.length - count));
  }

  add(event: Kept): void {
    this.#all.push(event);
    this.#bytes += event.bytes;
    const { maxEvents, maxBytes } = this.#bounds;
    while (this.#all.length - this.#gone > maxEvents || this.#bytes > maxBytes) {
      this.#bytes -= this.#all[this.#gone]?.bytes ?? 0;
      this.#gone += 1;
    }
    // Moved seldom: a copy costs as much as there is to keep.
    if (this.#gone <= this.#all.length / 2) return;
    this.#before += this.#gone;
    this.#all = this.#all.slice(this.#gone);
    this.#gone = 0;
  }
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
