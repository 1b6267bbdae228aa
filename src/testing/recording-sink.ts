import { SwarmError } from '../errors.ts';
import type { ContentPolicy } from '../events/event-projector.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import type { Sink, SinkState } from '../events/sink.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import type { Gate } from './gate.ts';

/** A sink that keeps what it gets, and fails or hangs when told to. */
export interface RecordingSink extends Sink {
  /** Everything that arrived, repetitions included. */
  readonly events: readonly RunEvent[];
  /** What each accepted call brought. */
  readonly batches: readonly (readonly RunEvent[])[];
  /** Calls of `publish`, refused ones included. */
  readonly calls: number;
  readonly isClosed: boolean;
  /** Refuses the next `times` batches (default 1); `arrived` = they arrive all the same, and only the answer is lost. */
  failNext(times?: number, how?: { readonly arrived?: boolean }): void;
  /** From now on every batch waits at the gate before it arrives. */
  holdAt(gate: Gate): void;
  /** Resolves when this many events, or one that `count` accepts, have arrived. */
  received(count: number | ((event: RunEvent) => boolean)): Promise<readonly RunEvent[]>;
}

/** Options of {@link recordingSink}. */
export interface RecordingSinkOptions {
  /** Default `recording`. */
  readonly name?: string;
  readonly content?: ContentPolicy;
  /** Cursor it says it remembers. Not given = it remembers nothing. */
  readonly resumeAfter?: number;
  readonly state?: SinkState;
}

const OPTIONS: OptionNames<RecordingSinkOptions> = {
  name: true,
  content: true,
  resumeAfter: true,
  state: true,
};

/** Makes a {@link RecordingSink}. @throws SwarmError 'invalid-definition' for an unknown option */
export function recordingSink(options: RecordingSinkOptions = {}): RecordingSink {
  assertOptions('recordingSink', options, OPTIONS);
  const { name = 'recording', content, resumeAfter, state } = options;
  const arrivals = new Arrivals();
  let calls = 0;
  let failures = 0;
  let arrivesAnyway = false;
  let gate: Gate | undefined;
  let isClosed = false;
  return {
    name,
    ...(content !== undefined && { content }),
    ...(resumeAfter !== undefined && { resumeAfter: () => Promise.resolve(resumeAfter) }),
    ...(state !== undefined && { state: () => state }),
    events: arrivals.events,
    batches: arrivals.batches,
    get calls() {
      return calls;
    },
    get isClosed() {
      return isClosed;
    },
    failNext(times = 1, how = {}) {
      failures = times;
      arrivesAnyway = how.arrived ?? false;
    },
    holdAt(next) {
      gate = next;
    },
    async publish(batch, signal) {
      calls += 1;
      await gate?.pass(signal);
      if (failures > 0) {
        failures -= 1;
        if (arrivesAnyway) arrivals.take(batch);
        throw new SwarmError('fault-injected', `the sink ${name} was told to fail`);
      }
      if (!signal.aborted) arrivals.take(batch);
    },
    received: (count) => arrivals.received(count),
    async close() {
      isClosed = true;
    },
  };
}

/** What came, and who waits for more. */
class Arrivals {
  readonly events: RunEvent[] = [];
  readonly batches: (readonly RunEvent[])[] = [];
  readonly #watchers = new Set<() => void>();

  take(batch: readonly RunEvent[]): void {
    this.events.push(...batch);
    this.batches.push(batch);
    for (const wake of [...this.#watchers]) wake();
  }

  received(count: number | ((event: RunEvent) => boolean)): Promise<readonly RunEvent[]> {
    const { events } = this;
    const isEnough = typeof count === 'number' ? () => events.length >= count : () => events.some(count);
    return new Promise((resolve) => {
      const wake = () => {
        if (!isEnough()) return;
        this.#watchers.delete(wake);
        resolve([...events]);
      };
      this.#watchers.add(wake);
      wake();
    });
  }
}
