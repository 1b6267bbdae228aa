import { describe, expect, it } from 'vitest';
import type { PositionedRecord } from '../../src/ledger/ledger.ts';
import { RecordFeed } from '../../src/ledger/record-feed.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';

/** A store of records that are told apart by their position alone, and the questions it was asked. */
function openStore(stored = 0) {
  const positions = Array.from({ length: stored }, (_, index) => index + 1);
  const asked: number[] = [];
  const recordAt = (pos: number) => ({ id: `r:${pos}` }) as LedgerRecord;
  const feed = new RecordFeed((after, max) => {
    asked.push(after);
    const page = positions.filter((pos) => pos > after).slice(0, max);
    return page.map((pos) => ({ pos, record: recordAt(pos) }));
  });
  const append = (count: number) => {
    const first = positions.length + 1;
    for (let index = 0; index < count; index += 1) positions.push(first + index);
    return { first, records: positions.slice(first - 1).map(recordAt) };
  };
  return {
    feed,
    asked,
    /** This process commits so many records. */
    commit(count: number) {
      const { first, records } = append(count);
      feed.noteOwn(first, records);
    },
    /** Another process does. */
    commitElsewhere: (count: number) => void append(count),
  };
}

function drain(nextPage: () => readonly PositionedRecord[]): readonly number[] {
  const seen: number[] = [];
  for (let page = nextPage(); page.length > 0; page = nextPage()) seen.push(...page.map(({ pos }) => pos));
  return seen;
}

describe('who follows a ledger', () => {
  it('gets what is stored and then what is committed, each record once', () => {
    const { feed, commit } = openStore(100);
    const nextPage = feed.pagesAfter(40);
    expect(drain(nextPage)).toEqual(Array.from({ length: 60 }, (_, index) => index + 41));
    commit(3);
    expect(drain(nextPage)).toEqual([101, 102, 103]);
    expect(drain(nextPage)).toEqual([]);
  });

  it('asks the store for nothing that this process committed', () => {
    const { feed, asked, commit } = openStore(5);
    const nextPage = feed.pagesAfter(0);
    drain(nextPage);
    const before = asked.length;
    commit(2);
    expect(drain(nextPage)).toEqual([6, 7]);
    commit(1);
    expect(drain(nextPage)).toEqual([8]);
    expect(asked.length - before).toBeLessThanOrEqual(1);
  });

  it('gets what another process committed in between, in its place', () => {
    const { feed, commit, commitElsewhere } = openStore(1);
    const nextPage = feed.pagesAfter(0);
    drain(nextPage);
    commitElsewhere(2);
    commit(1);
    expect(drain(nextPage)).toEqual([2, 3, 4]);
  });

  it('gets what another process committed last, once it may have', () => {
    const { feed, commit, commitElsewhere } = openStore(0);
    const nextPage = feed.pagesAfter(0);
    commit(1);
    expect(drain(nextPage)).toEqual([1]);
    commitElsewhere(2);
    feed.noteForeign();
    expect(drain(nextPage)).toEqual([2, 3]);
  });

  it('misses nothing when it is further behind than what is kept', () => {
    const { feed, commit } = openStore(0);
    const nextPage = feed.pagesAfter(0);
    for (let batch = 0; batch < 40; batch += 1) commit(50);
    expect(drain(nextPage)).toEqual(Array.from({ length: 2_000 }, (_, index) => index + 1));
  });
});
