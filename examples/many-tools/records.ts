// The records of one place of the back office, in memory.

/** One record. */
export interface Entry {
  readonly number: number;
  readonly title: string;
  readonly status: string;
  readonly assignee?: string;
  readonly log: readonly string[];
}

/** Numbered records of one area. What a tool throws becomes a result that the model can read. */
export class Records {
  readonly #area: string;
  readonly #entries: Map<number, Entry>;

  constructor(area: string, entries: readonly Entry[]) {
    this.#area = area;
    this.#entries = new Map(entries.map((entry) => [entry.number, entry]));
  }

  get(number: number): Entry {
    const entry = this.#entries.get(number);
    if (entry === undefined) throw new RangeError(`there is no ${this.#area} ${number}`);
    return entry;
  }

  /** Newest first. */
  list(): readonly Entry[] {
    return [...this.#entries.values()].reverse();
  }

  add(title: string, about: number | undefined): Entry {
    const number = this.#entries.size + 1;
    const entry = { number, title, status: 'open', log: about === undefined ? [] : [`about ${about}`] };
    this.#entries.set(number, entry);
    return entry;
  }

  change(number: number, changes: Partial<Entry>, said: string): Entry {
    const entry = this.get(number);
    const changed = { ...entry, ...changes, log: [...entry.log, said] };
    this.#entries.set(number, changed);
    return changed;
  }
}
