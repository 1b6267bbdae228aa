/** Children of one turn that other workers may have: as many at once as may, the others in the order they were wanted. */
export class ChildPlaces {
  /** Calls that have their share of the budget. */
  readonly granted = new Set<string>();
  readonly #fanOut: number;
  readonly #open: string[] = [];
  readonly #begin = new Map<string, () => Promise<void>>();
  #move: { readonly of: string; readonly isComing: Promise<boolean> } | undefined;

  constructor(fanOut: number) {
    this.#fanOut = fanOut;
  }

  /** Children beyond those that may be at work. */
  get waiting(): number {
    return Math.max(0, this.#open.length - this.#fanOut);
  }

  /** Whether one more may be at work. */
  get isFree(): boolean {
    return this.#open.length < this.#fanOut;
  }

  /** Whether it waits for a place, and so has never begun. */
  isWaiting(child: string): boolean {
    return this.#open.indexOf(child) >= this.#fanOut;
  }

  /**
   * Takes a place, or waits for one: false. `begin` is called when it is the child's turn, and may be called for one that
   * has begun.
   */
  async take(child: string, begin: () => Promise<void>): Promise<boolean> {
    if (!this.#open.includes(child)) this.#open.push(child);
    this.#begin.set(child, begin);
    if (this.#open.indexOf(child) >= this.#fanOut) return false;
    await begin();
    return true;
  }

  /**
   * Whether one of those at work has ended, so that its place is the next one's. All who wait ask at once, and look only
   * once.
   */
  isMoving(hasEnded: (child: string) => Promise<boolean>): Promise<boolean> {
    const atWork = this.#open.slice(0, this.#fanOut);
    const of = atWork.join();
    if (this.#move?.of === of) return this.#move.isComing;
    const isComing = Promise.all(atWork.map(hasEnded)).then((ended) => ended.includes(true));
    this.#move = { of, isComing };
    return isComing;
  }

  /** A child has its result: the next one may begin. */
  async leave(child: string): Promise<void> {
    const at = this.#open.indexOf(child);
    if (at < 0) return;
    this.#open.splice(at, 1);
    this.#begin.delete(child);
    const next = this.#open[this.#fanOut - 1];
    if (at < this.#fanOut && next !== undefined) await this.#begin.get(next)?.();
  }

  /** Takes the places that children of an earlier process had, in their order. */
  restore(children: readonly string[]): void {
    for (const child of children) if (!this.#open.includes(child)) this.#open.push(child);
  }
}
