import type { InstanceSnapshot } from '../lifecycle/registry.ts';
import { PAGE_LIMITS } from '../limits.ts';
import type { MoveRing } from './move-ring.ts';

interface MoveTellerOptions {
  readonly ring: MoveRing;
  readonly live: () => readonly InstanceSnapshot[];
  /** Number of the last transition that the viewer knows. */
  readonly told: number;
}

/** Tells one viewer of the transitions, in pieces of a bounded size. */
export class MoveTeller {
  readonly #ring: MoveRing;
  readonly #live: () => readonly InstanceSnapshot[];
  #told: number;
  #hasHole = false;

  constructor({ ring, live, told }: MoveTellerOptions) {
    this.#ring = ring;
    this.#live = live;
    this.#told = told;
  }

  /** Number of the last transition that was told. */
  get told(): number {
    return this.#told;
  }

  get hasMore(): boolean {
    return this.#told < this.#ring.last;
  }

  /** The next of them as JSON; undefined where there are none. */
  next(): string | undefined {
    if (!this.hasMore) return undefined;
    const { moves, last, dropped } = this.#ring.after(this.#told, PAGE_LIMITS.batch);
    this.#told = last;
    this.#hasHole ||= dropped > 0;
    return `{"moves":[${moves.join(',')}],"dropped":${dropped}${this.#mended()}}`;
  }

  /** What was missed may have been an end: the viewer is told anew what is live, as soon as it has caught up. */
  #mended(): string {
    if (!this.#hasHole || this.hasMore) return '';
    this.#hasHole = false;
    return `,"instances":${JSON.stringify(this.#live().slice(0, PAGE_LIMITS.instances))}`;
  }
}
