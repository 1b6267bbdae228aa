import type { PositionedRecord } from './ledger.ts';
import type { LedgerRecord } from './records.ts';

/** Places for records, those of a few hundred commits; who is further behind asks the store. */
const SLOTS = 512;
/** Records a reader takes at a time. */
const PAGE = 64;

/** Records of the store after a position, in order, at most `max`. */
export type RecordQuery = (after: number, max: number) => readonly PositionedRecord[];

/**
 * Hands the records that this process commits to who follows the ledger, without a look at the store: a query for
 * each commit costs more than all else a follower does. Positions have no gaps, so a follower knows when a record
 * of another process lies between, and asks the store then.
 */
export class RecordFeed {
  readonly #query: RecordQuery;
  readonly #recent = new Array<PositionedRecord | undefined>(SLOTS).fill(undefined);
  #newest = 0;
  /** Counts the times another process may have committed. */
  #foreign = 0;

  constructor(query: RecordQuery) {
    this.#query = query;
  }

  /** This process committed records; `first` is the position of the first of them. */
  noteOwn(first: number, records: readonly LedgerRecord[]): void {
    for (const [index, record] of records.entries()) {
      const pos = first + index;
      this.#recent[pos % SLOTS] = { pos, record };
      this.#newest = Math.max(this.#newest, pos);
    }
  }

  /** Another process may have committed: every follower looks at the store once. */
  noteForeign(): void {
    this.#foreign += 1;
  }

  /** Pages of records after a position; an empty one at the end for now. */
  pagesAfter(after: number): () => readonly PositionedRecord[] {
    let cursor = after;
    let asked = -1;
    return () => {
      let page = this.#recentAfter(cursor);
      if (page.length === 0 && (cursor !== this.#newest || asked !== this.#foreign)) {
        asked = this.#foreign;
        page = this.#query(cursor, PAGE);
      }
      cursor = page.at(-1)?.pos ?? cursor;
      return page;
    };
  }

  #recentAfter(cursor: number): readonly PositionedRecord[] {
    const page: PositionedRecord[] = [];
    for (let pos = cursor + 1; page.length < PAGE; pos += 1) {
      const recent = this.#recent[pos % SLOTS];
      if (recent?.pos !== pos) break;
      page.push(recent);
    }
    return page;
  }
}
