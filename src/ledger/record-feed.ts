import { type CommitWatch, RECORDS } from './commit-watch.ts';
import type { PositionedRecord, TailOptions, TailScope } from './ledger.ts';
import type { LedgerRecord } from './records.ts';

/** Records handed out at a time. */
const PAGE = 64;
/** Records one follower may be behind before it asks the store for them. */
const MAX_PENDING = 256;

/** The records of a store, in commit order. */
export interface RecordStore {
  /** Position of the newest record; 0 when empty. */
  position(): number;
  /** Records after a position, at most `max`, of the sessions in `only`. */
  after(position: number, max: number, only: TailScope | undefined): readonly PositionedRecord[];
}

/**
 * Hands the records that this process commits to those who follow them, and to nobody else: a look at the store for
 * each commit by each follower made the cost of many sessions at once grow with their square. Positions of one store
 * have no gaps, so it shows when a record of another process lies between; then everybody asks the store.
 */
export class RecordFeed {
  readonly #store: RecordStore;
  readonly #watch: CommitWatch;
  /** By what they follow. */
  readonly #followers = new Map<string, Set<Follower>>();
  /** No record up to here is unknown to the feed. */
  #newest = 0;

  constructor(store: RecordStore, watch: CommitWatch) {
    this.#store = store;
    this.#watch = watch;
  }

  /** This process committed records of one session; `first` is the position of the first of them. */
  noteOwn(first: number, records: readonly LedgerRecord[]): void {
    const [record] = records;
    if (record === undefined) return;
    const hasGap = first > this.#newest + 1;
    if (hasGap) this.#fallBehind();
    this.#newest = Math.max(this.#newest, first + records.length - 1);
    const topics = [RECORDS, topicOf({ session: record.session }), topicOf({ root: record.root })];
    for (const topic of topics) {
      for (const follower of this.#followers.get(topic) ?? []) follower.push(first, records);
    }
    // What lies in the gap may be anybody's.
    this.#watch.wake(hasGap ? undefined : topics);
  }

  /** Looks whether another process committed. */
  noteForeign(): boolean {
    const position = this.#store.position();
    if (position <= this.#newest) return false;
    this.#newest = position;
    this.#fallBehind();
    return true;
  }

  /** As `Ledger.tail`. */
  tail(
    after: number,
    signal: AbortSignal,
    { only, upTo }: TailOptions = {},
  ): AsyncGenerator<PositionedRecord, void, undefined> {
    if (upTo !== undefined) return this.#history(after, upTo, { signal, only });
    const topic = only === undefined ? RECORDS : topicOf(only);
    const follower = new Follower(this.#store, Math.max(0, after), only);
    const nextPage = () => {
      this.#join(topic, follower);
      return follower.nextPage();
    };
    return this.#watch.follow(nextPage, signal, topic, () => this.#leave(topic, follower));
  }

  /** With the first page: who never reads is never told anything. */
  #join(topic: string, follower: Follower): void {
    const followers = this.#followers.get(topic);
    if (followers === undefined) this.#followers.set(topic, new Set([follower]));
    else followers.add(follower);
  }

  #leave(topic: string, follower: Follower): void {
    const followers = this.#followers.get(topic);
    followers?.delete(follower);
    if (followers?.size === 0) this.#followers.delete(topic);
  }

  async *#history(
    after: number,
    upTo: number,
    { signal, only }: { readonly signal: AbortSignal; readonly only: TailScope | undefined },
  ): AsyncGenerator<PositionedRecord, void, undefined> {
    let cursor = after;
    while (cursor < upTo) {
      const page = this.#store.after(cursor, PAGE, only);
      for (const positioned of page) {
        if (signal.aborted || this.#watch.closed || positioned.pos > upTo) return;
        yield positioned;
      }
      cursor = page.length < PAGE ? upTo : (page.at(-1)?.pos ?? upTo);
    }
  }

  #fallBehind(): void {
    for (const followers of this.#followers.values()) for (const one of followers) one.fallBehind();
  }
}

/** One reader's place. It asks the store until it has caught up, and is handed what comes from then on. */
class Follower {
  readonly #store: RecordStore;
  readonly #only: TailScope | undefined;
  /** All it follows up to here was handed out. */
  #cursor: number;
  #pending: PositionedRecord[] = [];
  #isBehind = true;

  constructor(store: RecordStore, after: number, only: TailScope | undefined) {
    this.#store = store;
    this.#cursor = after;
    this.#only = only;
  }

  push(first: number, records: readonly LedgerRecord[]): void {
    if (this.#isBehind) return;
    if (this.#pending.length + records.length > MAX_PENDING) {
      this.fallBehind();
      return;
    }
    for (const [index, record] of records.entries()) {
      const pos = first + index;
      // The store may have shown it already.
      if (pos > this.#cursor) this.#pending.push({ pos, record });
    }
  }

  fallBehind(): void {
    this.#pending = [];
    this.#isBehind = true;
  }

  nextPage(): readonly PositionedRecord[] {
    if (this.#isBehind) return this.#ask();
    const page = this.#pending;
    this.#pending = [];
    this.#cursor = page.at(-1)?.pos ?? this.#cursor;
    return page;
  }

  #ask(): readonly PositionedRecord[] {
    // First, so that what is committed between the two looks is not passed over.
    const newest = this.#store.position();
    const page = this.#store.after(this.#cursor, PAGE, this.#only);
    this.#isBehind = page.length === PAGE;
    const last = page.at(-1)?.pos ?? this.#cursor;
    this.#cursor = this.#isBehind ? last : Math.max(last, newest);
    return page;
  }
}

function topicOf(only: TailScope): string {
  return 'session' in only ? `session ${only.session}` : `root ${only.root}`;
}
