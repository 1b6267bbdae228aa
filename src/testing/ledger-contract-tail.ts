import assert from 'node:assert/strict';
import type { PositionedRecord } from '../ledger/ledger.ts';
import { onLedger, onSession, overReopen } from './ledger-case.ts';
import type { LedgerCase } from './ledger-contract.ts';
import { commit, note, notesOf, rootSession, take } from './ledger-samples.ts';

const NEVER = new AbortController().signal;

/** The one order of all commits. */
export const tailCases: readonly LedgerCase[] = [
  onLedger('an empty ledger is at position 0', async (ledger) => {
    assert.equal(await ledger.position(), 0);
  }),
  onLedger('a tail gives the records of all sessions in commit order', async (ledger) => {
    const one = await ledger.acquire(rootSession('s-1'));
    const two = await ledger.acquire(rootSession('s-2'));
    await commit(one, note('a'), note('b'));
    await commit(two, note('c'));
    await commit(one, note('d'));
    const all = await take(ledger.tail(0, NEVER), 4);
    assert.deepEqual(notesIn(all), ['a', 'b', 'c', 'd']);
    assert.equal(all.at(-1)?.pos, await ledger.position());
    assert.deepEqual(
      all.filter(({ record }) => record.session === 's-1').map(({ record }) => record),
      await ledger.read('s-1'),
    );
  }),
  onSession('positions grow', async ({ ledger, writer }) => {
    await commit(writer, note('a'), note('b'));
    const before = await ledger.position();
    await commit(writer, note('c'));
    assert.ok((await ledger.position()) > before);
    const places = (await take(ledger.tail(0, NEVER), 3)).map(({ pos }) => pos);
    assert.deepEqual(
      places,
      [...new Set(places)].sort((left, right) => left - right),
    );
    assert.ok((places[0] ?? 0) > 0);
  }),
  onLedger('a tail of one session gives its records alone', async (ledger) => {
    const one = await ledger.acquire(rootSession('s-1'));
    const two = await ledger.acquire(rootSession('s-2'));
    await commit(one, note('a'));
    await commit(two, note('b'));
    const tailed = take(ledger.tail(0, NEVER, { only: { session: 's-1' } }), 3);
    await commit(two, note('c'));
    await commit(one, note('d'), note('e'));
    assert.deepEqual(notesIn(await tailed), ['a', 'd', 'e']);
    const all = await take(ledger.tail(0, NEVER), 5);
    assert.deepEqual(
      await tailed,
      all.filter(({ record }) => record.session === 's-1'),
    );
  }),
  onLedger('a tail of a tree gives the records of its sessions in commit order', async (ledger) => {
    const root = await ledger.acquire(rootSession('s-1'));
    const child = await ledger.acquire({ session: 's-2', root: 's-1', parent: 's-1', agent: 'child' });
    const other = await ledger.acquire(rootSession('s-3'));
    const tailed = take(ledger.tail(0, NEVER, { only: { root: 's-1' } }), 4);
    await commit(root, note('a'));
    await commit(other, note('b'));
    await commit(child, note('c'));
    await commit(root, note('d'));
    await commit(child, note('e'));
    assert.deepEqual(notesIn(await tailed), ['a', 'c', 'd', 'e']);
    assert.deepEqual(notesIn(await take(ledger.tail(0, NEVER, { only: { root: 's-1' } }), 4)), [
      'a',
      'c',
      'd',
      'e',
    ]);
  }),
  onLedger('a tail with an end gives what lies before it and ends', async (ledger) => {
    const one = await ledger.acquire(rootSession('s-1'));
    const two = await ledger.acquire(rootSession('s-2'));
    for (const text of ['a', 'b', 'c']) {
      await commit(one, note(text));
      await commit(two, note(`${text}2`));
    }
    const end = await ledger.position();
    await commit(one, note('d'));
    assert.deepEqual(notesIn(await drain(ledger.tail(0, NEVER, { upTo: end }))), [
      'a',
      'a2',
      'b',
      'b2',
      'c',
      'c2',
    ]);
    const own = await drain(ledger.tail(0, NEVER, { only: { session: 's-1' }, upTo: end }));
    assert.deepEqual(notesIn(own), ['a', 'b', 'c']);
    assert.deepEqual(await drain(ledger.tail(end, NEVER, { upTo: end })), []);
  }),
  onSession('a tail goes on after any position without gap or repetition', async ({ ledger, writer }) => {
    await commit(writer, ...['a', 'b', 'c', 'd'].map(note));
    const all = await take(ledger.tail(0, NEVER), 4);
    for (const [index, { pos }] of all.entries()) {
      const rest = await take(ledger.tail(pos, NEVER), 3 - index);
      assert.deepEqual(notesIn(rest), ['a', 'b', 'c', 'd'].slice(index + 1));
    }
  }),
  onSession('a tail waits for the next commit', async ({ ledger, writer }) => {
    const waiting = take(ledger.tail(await ledger.position(), NEVER), 2);
    await commit(writer, note('a'));
    await commit(writer, note('b'));
    assert.deepEqual(notesIn(await waiting), ['a', 'b']);
  }),
  onSession('a tail ends when its signal aborts', async ({ ledger, writer }) => {
    await commit(writer, note('a'));
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const item of ledger.tail(0, stop.signal)) {
      seen.push(...notesIn([item]));
      stop.abort();
    }
    assert.deepEqual(seen, ['a']);
    assert.deepEqual(await drain(ledger.tail(0, stop.signal)), []);
  }),
  onLedger('a waiting tail ends when its signal aborts', async (ledger) => {
    const stop = new AbortController();
    const waiting = drain(ledger.tail(0, stop.signal));
    stop.abort();
    assert.deepEqual(await waiting, []);
  }),
  onSession('a waiting tail ends when the ledger closes', async ({ ledger, writer }) => {
    await commit(writer, note('a'));
    const waiting = drain(ledger.tail(await ledger.position(), NEVER));
    await ledger.close();
    assert.deepEqual(await waiting, []);
  }),
  onSession('each tail has its own pace', async ({ ledger, writer }) => {
    const slow = ledger.tail(0, NEVER)[Symbol.asyncIterator]();
    await commit(writer, note('a'));
    const first = await slow.next();
    await commit(writer, note('b'), note('c'));
    assert.deepEqual(notesIn(await take(ledger.tail(0, NEVER), 3)), ['a', 'b', 'c']);
    const second = await slow.next();
    assert.deepEqual(notesIn([first.value, second.value]), ['a', 'b']);
    await slow.return?.();
  }),
  onLedger('a tail misses nothing of many writers at once', async (ledger) => {
    const writers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => ledger.acquire(rootSession(`s-${index}`))),
    );
    const tailed = take(ledger.tail(0, NEVER), 300);
    await Promise.all(
      writers.map(async (writer) => {
        for (let index = 0; index < 30; index += 1) await commit(writer, note(String(index)));
      }),
    );
    const all = await tailed;
    for (const { identity } of writers) {
      const own = all.filter(({ record }) => record.session === identity.session);
      assert.deepEqual(
        own.map(({ record }) => record),
        await ledger.read(identity.session),
      );
    }
  }),
  overReopen(
    'a tail begins at the start after a restart',
    async ({ writer }) => {
      await commit(writer, note('a'), note('b'));
    },
    async (ledger) => {
      await commit(await ledger.acquire(rootSession('s-2')), note('c'));
      assert.deepEqual(notesIn(await take(ledger.tail(0, NEVER), 3)), ['a', 'b', 'c']);
    },
  ),
];

function notesIn(items: readonly PositionedRecord[]): readonly string[] {
  return notesOf(items.map(({ record }) => record));
}

async function drain(items: AsyncIterable<PositionedRecord>): Promise<readonly PositionedRecord[]> {
  const all: PositionedRecord[] = [];
  for await (const item of items) all.push(item);
  return all;
}
