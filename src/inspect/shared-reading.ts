import { setImmediate, setTimeout } from 'node:timers/promises';
import { PAGE_LIMITS } from '../limits.ts';
import { type FactFrame, FrameBuilder } from './fact-frame.ts';
import type { FactSource } from './fact-source.ts';
import type { MoveRing } from './move-ring.ts';

/** Frames kept for viewers that are a little behind the others. */
const MAX_KEPT = 8;

/**
 * The one reading of facts that come, for all viewers of a page, and the newest frames of it. A frame is made when there
 * is something new and a viewer that has all the frames before; until then facts stay where they are, so that nothing
 * is queued for viewers that are slow. What comes waits `flushMs` for company unread: to look at each fact as it is
 * committed costs more than to write its event. While nothing happens no timer runs.
 */
export class SharedReading {
  readonly #ring: MoveRing;
  readonly #builder: FrameBuilder;
  readonly #end = new AbortController();
  readonly #unwatch: () => void;
  /** Viewers that have taken all frames there are. */
  readonly #waiting = new Set<() => void>();
  #kept: FactFrame[] = [];
  #made = 0;
  /** Number of the last transition that a frame was made for. */
  #moves: number;
  /** Facts may be taken while it is resolved. */
  #gate = Promise.withResolvers<void>();
  #isMaking = false;
  /** The last frame was full: more is there already. */
  #isBehind = false;
  #failure: { readonly cause: unknown } | undefined;

  constructor(source: FactSource, ring: MoveRing, position: number) {
    this.#ring = ring;
    this.#builder = new FrameBuilder(position);
    this.#moves = ring.last;
    this.#unwatch = ring.watch(() => this.#news());
    void this.#read(source, position);
  }

  /** Frames so far, which is the number of the newest. */
  get made(): number {
    return this.#made;
  }

  /** Number of the oldest frame that is kept. */
  get oldest(): number {
    return this.#made - this.#kept.length + 1;
  }

  /** Up to where frames reach. */
  get position(): number {
    return this.#builder.after;
  }

  /** It came to an end by itself: who looks later needs another one. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /**
   * A frame that is kept, or the next one when it is made. Undefined where the signal aborted, or it is kept no more.
   * @throws what the source threw
   */
  async frame(number: number, signal: AbortSignal): Promise<FactFrame | undefined> {
    if (number > this.#made) await this.#nextFrame(signal);
    if (this.#failure !== undefined) throw this.#failure.cause;
    return this.#kept[number - this.oldest];
  }

  stop(): void {
    this.#unwatch();
    this.#end.abort();
    this.#gate.resolve();
  }

  #nextFrame(signal: AbortSignal): Promise<void> {
    if (this.#failure !== undefined || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
      this.#news();
    });
  }

  async #read(source: FactSource, after: number): Promise<void> {
    try {
      for await (const fact of source.facts(after, this.#end.signal)) {
        this.#builder.add(fact);
        if (this.#builder.isFull) this.#cut();
        this.#news();
        await this.#gate.promise;
      }
    } catch (cause) {
      this.#failure = { cause };
      this.stop();
      this.#wake();
    }
  }

  /** Something is new, or somebody wants to be told: has a frame made if there is both. */
  #news(): void {
    if (this.#isMaking || this.#waiting.size === 0) return;
    if (this.#isBehind || this.#hasNews) void this.#make();
  }

  get #hasNews(): boolean {
    return !this.#builder.isEmpty || this.#ring.last > this.#moves;
  }

  async #make(): Promise<void> {
    this.#isMaking = true;
    if (!this.#isBehind) await setTimeout(PAGE_LIMITS.flushMs, undefined, { ref: false });
    this.#isBehind = false;
    this.#gate.resolve();
    // All facts that are there come within this turn of the loop.
    await setImmediate();
    if (!this.#isBehind) this.#gate = Promise.withResolvers();
    if (!this.#isBehind && this.#hasNews) this.#cut();
    this.#isMaking = false;
    this.#news();
  }

  #cut(): void {
    this.#isBehind = this.#builder.isFull;
    this.#gate = Promise.withResolvers();
    this.#moves = this.#ring.last;
    this.#kept.push(this.#builder.take());
    if (this.#kept.length > MAX_KEPT) this.#kept.shift();
    this.#made += 1;
    this.#wake();
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }
}
