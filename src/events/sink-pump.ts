import { type Clock, sleep } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import type { Ledger, PositionedRecord } from '../ledger/ledger.ts';
import type { Limits } from '../limits.ts';
import { createProjector, type Projector } from './event-projector.ts';
import type { RunEvent } from './event-schemas.ts';
import { type Redactor, redactSecrets } from './redaction.ts';
import type { Sink, SinkState } from './sink.ts';

/** How far one sink is. */
export interface SinkStats {
  readonly name: string;
  readonly activity: 'starting' | 'following' | 'publishing' | 'backing-off' | 'closed';
  /** Events that arrived. */
  readonly published: number;
  /** Times the sink failed or took too long, or the ledger could not be read for it. */
  readonly failures: number;
  /** Ledger position up to which everything arrived. */
  readonly cursor: number;
  /** Positions of the ledger behind `cursor`, as of the last batch or failure. */
  readonly lag: number;
  /** Since when it is behind, milliseconds of the wall clock; absent while nothing is missing. */
  readonly laggingSince?: number;
  /** Why the last failure was one; absent once things went well again. */
  readonly lastFailure?: string;
  /** What the sink says of itself. */
  readonly sink?: SinkState;
}

export interface SinkPumpOptions {
  readonly ledger: Ledger;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly limits: Limits['events'];
  /** 0 to 1. */
  readonly random: () => number;
  /** Ledger position where a sink begins that remembers nothing. */
  readonly begin: Promise<number>;
  readonly redactor?: Redactor;
}

interface Batch {
  readonly events: readonly RunEvent[];
  /** Position of the last record looked at for it. */
  readonly upTo: number;
}

const STOPPED = Symbol('stopped');
const LATER = Symbol('later');
/** A cursor is remembered after so many events, or so long after the first of them. */
const CURSOR_EVENTS = 256;
const CURSOR_MS = 1_000;
/** Failures in a row, about a second, after which a sink that is down is not waited for. */
const HOPELESS_FAILURES = 4;
const MAX_FAILURE_CHARS = 500;
/** Records looked at for one batch, in multiples of its events: most records are events. */
const RECORDS_AN_EVENT = 4;

/** Feeds one sink. It holds one batch and one record, whatever the sink does: the ledger is the queue. */
export class SinkPump {
  readonly #options: SinkPumpOptions;
  readonly #projector: Projector;
  readonly #stopped = new AbortController();
  readonly #reading = new AbortController();
  readonly #done: Promise<void>;
  #activity: SinkStats['activity'] = 'starting';
  #cursor = 0;
  #newest = 0;
  #published = 0;
  #failures = 0;
  #failuresInARow = 0;
  #lastFailure: string | undefined;
  #laggingSince: number | undefined;
  /** Events that arrived since the cursor was remembered, and what will remember it if no more come. */
  #unsaved = 0;
  #saveTimer: unknown;
  #saving: Promise<void> = Promise.resolve();
  /** Position at which a pump that is closing has done its part. */
  #last = Number.POSITIVE_INFINITY;

  constructor(options: SinkPumpOptions) {
    this.#options = options;
    const { sink, redactor, limits, ledger } = options;
    this.#projector = createProjector(ledger, {
      maxEventBytes: sink.maxEventBytes ?? limits.maxEventBytes,
      ...(sink.content !== undefined && { content: sink.content }),
      ...(redactor !== undefined && { redactor }),
    });
    sink.attach?.(ledger);
    this.#stopped.signal.addEventListener('abort', () => this.#reading.abort(), { once: true });
    this.#done = this.#run();
  }

  stats(): SinkStats {
    const state = this.#options.sink.state?.();
    return {
      name: this.#options.sink.name,
      activity: this.#activity,
      published: this.#published,
      failures: this.#failures,
      cursor: this.#cursor,
      lag: Math.max(0, this.#newest - this.#cursor),
      ...(this.#laggingSince !== undefined && { laggingSince: this.#laggingSince }),
      ...(this.#lastFailure !== undefined && { lastFailure: this.#lastFailure }),
      ...(state !== undefined && { sink: state }),
    };
  }

  /** Takes what is committed by now, for at most `drainMs`, then ends. Never rejects. */
  async close(drainMs: number): Promise<void> {
    const closed = new AbortController();
    const timeUp = sleep(this.#options.clock, this.#isHopeless() ? 0 : drainMs, closed.signal);
    await Promise.race([this.#drain(), timeUp]);
    this.#stopped.abort();
    await Promise.race([this.#done, timeUp]);
    this.#saveCursor();
    await Promise.race([this.#saving, timeUp]);
    await Promise.race([this.#closeSink(), timeUp]);
    this.#activity = 'closed';
    closed.abort();
  }

  /** Waiting for a sink that says it is down, and has been for a while, would only hold the process up. */
  #isHopeless(): boolean {
    return this.#failuresInARow >= HOPELESS_FAILURES && this.#options.sink.state?.().type === 'down';
  }

  async #drain(): Promise<void> {
    this.#last = await this.#options.ledger.position().catch(() => 0);
    this.#newest = Math.max(this.#newest, this.#last);
    if (this.#activity !== 'starting' && this.#cursor >= this.#last) this.#reading.abort();
    await this.#done;
  }

  async #closeSink(): Promise<void> {
    try {
      await this.#options.sink.close?.();
    } catch (error) {
      this.#note(error);
    }
  }

  async #run(): Promise<void> {
    const start = await this.#insist(() => this.#timed((signal) => this.#startingPoint(signal)));
    if (start === STOPPED) return;
    this.#cursor = start;
    // A ledger that cannot be read for a while is asked again from where the sink is.
    await this.#insist(() => this.#follow());
  }

  async #startingPoint(signal: AbortSignal): Promise<number> {
    const { begin: opened, sink, ledger } = this.#options;
    const begin = await opened;
    const { cursorName } = sink;
    const known = cursorName === undefined ? undefined : await ledger.cursor(cursorName);
    const remembered = (await sink.resumeAfter?.(signal, known)) ?? known;
    // A place beyond the end is one in another ledger: the sink outlived the one it was fed from.
    const start = remembered === undefined || remembered > begin ? begin : remembered;
    // What is committed from now on counts as missing, should this process end before any of it arrives.
    if (cursorName !== undefined && known === undefined) await ledger.moveCursor(cursorName, start);
    return start;
  }

  /** Remembers the cursor in the ledger, soon. A repetition after a crash is what readers drop. */
  #moved(arrived: number): void {
    this.#unsaved += arrived;
    if (this.#options.sink.cursorName === undefined || this.#unsaved === 0) return;
    if (this.#unsaved >= CURSOR_EVENTS) this.#saveCursor();
    else this.#saveTimer ??= this.#options.clock.setTimeout(() => this.#saveCursor(), CURSOR_MS);
  }

  #saveCursor(): void {
    this.#options.clock.clearTimeout(this.#saveTimer);
    this.#saveTimer = undefined;
    const { ledger, sink } = this.#options;
    if (sink.cursorName === undefined || this.#unsaved === 0) return;
    this.#unsaved = 0;
    // One that could not be remembered is made good by the next.
    this.#saving = ledger.moveCursor(sink.cursorName, this.#cursor).catch((error) => this.#note(error));
  }

  #observe(): void {
    const positions = Math.max(0, this.#newest - this.#cursor);
    this.#laggingSince = positions === 0 ? undefined : (this.#laggingSince ?? this.#options.clock.now());
    this.#options.sink.observe?.({
      positions,
      since: this.#laggingSince,
      published: this.#published,
      failures: this.#failures,
    });
  }

  async #follow(): Promise<void> {
    this.#activity = 'following';
    if (this.#cursor >= this.#last) return;
    for await (const { events, upTo } of this.#batches()) {
      if (events.length > 0 && (await this.#deliver(events)) === STOPPED) return;
      this.#cursor = upTo;
      this.#newest = Math.max(this.#newest, upTo);
      this.#moved(events.length);
      this.#observe();
      this.#activity = 'following';
      if (this.#cursor >= this.#last) return;
    }
  }

  async #deliver(events: readonly RunEvent[]): Promise<typeof STOPPED | undefined> {
    const end = await this.#insist(() => {
      this.#activity = 'publishing';
      return this.#timed((signal) => this.#options.sink.publish(events, signal));
    });
    if (end === STOPPED) return STOPPED;
    this.#published += events.length;
    return undefined;
  }

  /** What is there to be read, as one batch after another; waits only while a batch is empty. */
  async *#batches(): AsyncGenerator<Batch, void> {
    const stop = new AbortController();
    const onStop = () => stop.abort();
    this.#reading.signal.addEventListener('abort', onStop, { once: true });
    if (this.#reading.signal.aborted) stop.abort();
    const records = this.#options.ledger.tail(this.#cursor, stop.signal)[Symbol.asyncIterator]();
    try {
      let next = records.next();
      for (;;) {
        const gathered = await this.#gather(records, next);
        if (gathered.upTo > this.#cursor) yield gathered;
        if (gathered.next === undefined) return;
        next = gathered.next;
      }
    } finally {
      this.#reading.signal.removeEventListener('abort', onStop);
      // A tail that waits ends by its signal alone.
      stop.abort();
    }
  }

  async #gather(
    records: AsyncIterator<PositionedRecord>,
    first: Promise<IteratorResult<PositionedRecord>>,
  ): Promise<Batch & { readonly next: Promise<IteratorResult<PositionedRecord>> | undefined }> {
    const { maxBatchEvents } = this.#options.limits;
    const events: RunEvent[] = [];
    let upTo = this.#cursor;
    let next = first;
    for (let seen = 0; seen < maxBatchEvents * RECORDS_AN_EVENT; seen += 1) {
      // What is gathered goes out first; a failure behind it is met by the next batch.
      const result = seen === 0 ? await next : await Promise.race([next, nextTurn()]).catch(later);
      if (result === LATER) break;
      if (result.done === true) return { events, upTo, next: undefined };
      const event = await this.#projector.project(result.value);
      if (event !== undefined) events.push(event);
      upTo = result.value.pos;
      next = records.next();
      // It is awaited later; a failure until then is no unhandled one.
      next.catch(ignore);
      if (events.length >= maxBatchEvents) break;
    }
    return { events, upTo, next };
  }

  /** Does `work` until it succeeds, with growing pauses, or until the pump is stopped. */
  async #insist<T>(work: () => Promise<T>): Promise<T | typeof STOPPED> {
    while (!this.#stopped.signal.aborted) {
      try {
        const result = await work();
        this.#failuresInARow = 0;
        this.#lastFailure = undefined;
        return result;
      } catch (error) {
        if (this.#stopped.signal.aborted || isSwarmError(error, 'ledger-closed')) break;
        this.#note(error);
        await this.#pause();
      }
    }
    return STOPPED;
  }

  async #pause(): Promise<void> {
    const { clock, limits, random, ledger, sink } = this.#options;
    this.#activity = 'backing-off';
    this.#failuresInARow += 1;
    this.#newest = Math.max(this.#newest, await ledger.position().catch(() => 0));
    this.#observe();
    const bound = sink.maxBackoffMs ?? limits.maxSinkBackoffMs;
    const longest = Math.min(bound, limits.sinkBackoffMs * 2 ** (this.#failuresInARow - 1));
    await sleep(clock, longest * (1 - random() / 4), this.#stopped.signal);
  }

  /** Runs `work` with a signal that aborts when its time is over or the pump is stopped; waits no longer. */
  async #timed<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, limits, sink } = this.#options;
    const stop = new AbortController();
    const failed = Promise.withResolvers<never>();
    const giveUp = (why: string) => {
      stop.abort();
      failed.reject(new SwarmError('sink-failed', `the sink ${sink.name} ${why}`));
    };
    const onStop = () => giveUp('was stopped');
    const timer = clock.setTimeout(
      () => giveUp(`did not answer within ${limits.sinkTimeoutMs} ms`),
      limits.sinkTimeoutMs,
    );
    this.#stopped.signal.addEventListener('abort', onStop, { once: true });
    try {
      return await Promise.race([started(work, stop.signal), failed.promise]);
    } finally {
      clock.clearTimeout(timer);
      this.#stopped.signal.removeEventListener('abort', onStop);
    }
  }

  #note(error: unknown): void {
    this.#failures += 1;
    const text = error instanceof Error ? error.message : String(error);
    this.#lastFailure = redactSecrets(text.slice(0, MAX_FAILURE_CHARS));
  }
}

/** Starts work that may also throw at once, and may go on failing after nobody waits for it. */
function started<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  const running = (async () => work(signal))();
  running.catch(ignore);
  return running;
}

function ignore(): void {}

function later(): typeof LATER {
  return LATER;
}

/** Comes after everything that is there already. */
function nextTurn(): Promise<typeof LATER> {
  return new Promise((resolve) => setImmediate(resolve, LATER));
}
