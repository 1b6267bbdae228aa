/** Children of one turn that other workers may have: as many at once as may, the others in the order they were wanted. */
export class ChildPlaces {
  /** Calls that have their share of the budget. */
  readonly granted = new Set<string>();
  readonly #fanOut: number;
  readonly #open: string[] = [];
  readonly #begin = new Map<string, () => Promise<void>>();

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

  /** Takes a place. `begin` is called when it is the child's turn, and may be called for one that has begun. */
  async take(child: string, begin: () => Promise<void>): Promise<void> {
    if (!this.#open.includes(child)) this.#open.push(child);
    this.#begin.set(child, begin);
    if (this.#open.indexOf(child) < this.#fanOut) await begin();
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
