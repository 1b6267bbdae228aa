import { PAGE_LIMITS } from '../limits.ts';
import type { PlacedFact } from './fact-source.ts';

/** Facts that go to a viewer in one piece. */
export interface FactFrame {
  /** Position after which it begins. */
  readonly after: number;
  /** Position where it ends. */
  readonly last: number;
  /** The events as a JSON list; undefined where observers see none of the facts. */
  readonly text: string | undefined;
  /** Facts of it that are no longer here. */
  readonly missed: number;
}

/** Puts facts together into one {@link FactFrame} after another. */
export class FrameBuilder {
  #after: number;
  #last: number;
  #texts: string[] = [];
  #facts = 0;
  #chars = 0;
  #missed = 0;

  constructor(after: number) {
    this.#after = after;
    this.#last = after;
  }

  /** Position after which the next frame begins. */
  get after(): number {
    return this.#after;
  }

  get isEmpty(): boolean {
    return this.#facts === 0;
  }

  get isFull(): boolean {
    return this.#facts >= PAGE_LIMITS.batch || this.#chars >= PAGE_LIMITS.batchChars;
  }

  add({ position, text, missed = 0 }: PlacedFact): void {
    this.#last = position;
    this.#facts += 1;
    this.#missed += missed;
    if (text === undefined) return;
    this.#texts.push(text);
    this.#chars += text.length;
  }

  /** What was put together. `upTo`: to where it reaches at least. Default: the last fact. */
  take(upTo = 0): FactFrame {
    const last = Math.max(upTo, this.#last);
    const text = this.#texts.length === 0 ? undefined : `[${this.#texts.join(',')}]`;
    const frame = { after: this.#after, last, text, missed: this.#missed };
    this.#after = last;
    this.#last = last;
    this.#texts = [];
    this.#facts = 0;
    this.#chars = 0;
    this.#missed = 0;
    return frame;
  }
}
