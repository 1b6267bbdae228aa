import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CommitWatch } from '../../src/ledger/commit-watch.ts';
import type { PositionedRecord, TailOptions, TailScope } from '../../src/ledger/ledger.ts';
import { RecordFeed } from '../../src/ledger/record-feed.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';

const NEVER = new AbortController().signal;

/** A store of records of which only the session matters, and how often it was asked. */
function openStore(stored: readonly string[] = []) {
  const records: LedgerRecord[] = stored.map(recordOf);
  let asked = 0;
  const watch = new CommitWatch();
  const store = {
    position: () => records.length,
    after(position: number, max: number, only: TailScope | undefined) {
      asked += 1;
      const all = records.map((record, index) => ({ pos: index + 1, record }));
      return all.filter((one) => one.pos > position && isIn(one, only)).slice(0, max);
    },
  };
  const feed = new RecordFeed(store, watch);
  const append = (session: string, count: number) => {
    const first = records.length + 1;
    const added = Array.from({ length: count }, () => recordOf(session));
    records.push(...added);
    return { first, added };
  };
  return {
    feed,
    asked: () => asked,
    /** This process commits so many records of a session. */
    commit(session: string, count = 1) {
      const { first, added } = append(session, count);
      feed.noteOwn(first, added);
    },
    /** Another process does, and nobody has noticed yet. */
    commitElsewhere: (session: string, count = 1) => void append(session, count),
    notice: () => feed.noteForeign() && watch.wake(),
    positionsOf: (only?: TailScope) =>
      records.flatMap((record, index) => (isIn({ pos: 0, record }, only) ? [index + 1] : [])),
    follow(after = 0, options: TailOptions = {}) {
      const seen: number[] = [];
      const stop = new AbortController();
      const done = (async () => {
        for await (const { pos } of feed.tail(after, stop.signal, options)) seen.push(pos);
      })();
      return { seen, done, stop: () => stop.abort() };
    },
  };
}

function recordOf(session: string): LedgerRecord {
  return { session, root: session.split('/')[0] } as LedgerRecord;
}

function isIn({ record }: PositionedRecord, only: TailScope | undefined): boolean {
  if (only === undefined) return true;
  return 'session' in only ? record.session === only.session : record.root === only.root;
}

/** Lets everything that can go on without another commit go on. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('who follows a ledger', () => {
  it('gets what is stored and then what is committed, each record once', async () => {
    const { follow, commit } = openStore(Array.from({ length: 100 }, () => 'a'));
    const reader = follow(40);
    await settle();
    expect(reader.seen).toEqual(Array.from({ length: 60 }, (_, index) => index + 41));
    commit('a', 3);
    await settle();
    expect(reader.seen.slice(60)).toEqual([101, 102, 103]);
  });

  it('asks the store for nothing that this process commits', async () => {
    const { follow, commit, asked } = openStore();
    const reader = follow();
    commit('a');
    await settle();
    const before = asked();
    for (let turn = 0; turn < 20; turn += 1) {
      commit('a');
      await settle();
    }
    expect(reader.seen).toHaveLength(21);
    expect(asked()).toBe(before);
  });

  it('is not disturbed by sessions it does not follow', async () => {
    const { follow, commit, asked } = openStore();
    const reader = follow(0, { only: { session: 'a' } });
    const family = follow(0, { only: { root: 'a' } });
    commit('a');
    await settle();
    const before = asked();
    for (const session of ['b', 'a/child', 'b/child', 'a']) {
      commit(session);
      await settle();
    }
    expect(reader.seen).toEqual([1, 5]);
    expect(family.seen).toEqual([1, 3, 5]);
    expect(asked()).toBe(before);
  });

  it('gets what another process committed in between, in its place', async () => {
    const { follow, commit, commitElsewhere } = openStore(['a']);
    const reader = follow();
    await settle();
    commitElsewhere('a', 2);
    commit('a');
    await settle();
    expect(reader.seen).toEqual([1, 2, 3, 4]);
  });

  it('gets what another process committed last, once it is noticed', async () => {
    const { follow, commit, commitElsewhere, notice } = openStore();
    const reader = follow();
    commit('a');
    commitElsewhere('a', 2);
    await settle();
    notice();
    await settle();
    expect(reader.seen).toEqual([1, 2, 3]);
  });

  it('misses nothing when it is further behind than what is kept for it', async () => {
    const { feed, commit } = openStore(['a']);
    const reader = feed.tail(0, NEVER)[Symbol.asyncIterator]();
    const seen = [(await reader.next()).value?.pos];
    for (let batch = 0; batch < 40; batch += 1) commit('a', 50);
    while (seen.length < 2_001) seen.push((await reader.next()).value?.pos);
    expect(seen).toEqual(Array.from({ length: 2_001 }, (_, index) => index + 1));
    await reader.return?.();
  });

  it('ends at the position it was given', async () => {
    const { follow, commit } = openStore(Array.from({ length: 150 }, (_, at) => (at % 2 === 0 ? 'a' : 'b')));
    const reader = follow(10, { only: { session: 'a' }, upTo: 140 });
    commit('a');
    await reader.done;
    expect(reader.seen).toEqual(Array.from({ length: 65 }, (_, index) => 11 + 2 * index));
  });

  it('gets every record of its scope once and in order, whoever commits and whenever it is looked at', async () => {
    const sessions = ['a', 'a/1', 'b', 'b/1'] as const;
    const step = fc.oneof(
      fc.record({
        type: fc.constant('own' as const),
        session: fc.constantFrom(...sessions),
        count: fc.nat(3),
      }),
      fc.record({
        type: fc.constant('foreign' as const),
        session: fc.constantFrom(...sessions),
        count: fc.nat(3),
      }),
      fc.record({ type: fc.constantFrom('notice' as const, 'settle' as const, 'join' as const) }),
    );
    const scopes: readonly (TailScope | undefined)[] = [undefined, { session: 'a' }, { root: 'b' }];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const store = openStore();
        const readers: {
          readonly only: TailScope | undefined;
          readonly seen: readonly number[];
          stop(): void;
        }[] = [];
        const join = () => {
          for (const only of scopes)
            readers.push({ only, ...store.follow(0, only === undefined ? {} : { only }) });
        };
        join();
        for (const one of steps) {
          if (one.type === 'own') store.commit(one.session, one.count + 1);
          else if (one.type === 'foreign') store.commitElsewhere(one.session, one.count + 1);
          else if (one.type === 'notice') store.notice();
          else if (one.type === 'join') join();
          else await settle();
        }
        store.notice();
        await settle();
        for (const { only, seen } of readers) expect(seen).toEqual(store.positionsOf(only));
        for (const reader of readers) reader.stop();
      }),
      { numRuns: 100 },
    );
  });
});
