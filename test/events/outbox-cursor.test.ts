import { describe, expect, it } from 'vitest';
import { createOutbox } from '../../src/events/outbox.ts';
import type { Sink, SinkLag } from '../../src/events/sink.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { fakeClock, settlePromises } from '../../src/testing/fake-clock.ts';
import { recordingSink } from '../../src/testing/recording-sink.ts';
import { ROOT, writerOf } from './ledger-writing.ts';

async function append(ledger: Ledger, count: number) {
  const { append: write, writer } = await writerOf(ledger, ROOT);
  for (let at = 0; at < count; at += 1) {
    await write({ type: 'steering.accepted', data: { id: `t${at}`, text: 'words' } });
  }
  await writer.release();
}

/** A sink whose place the ledger remembers. */
function busSink(more: Partial<Sink> = {}) {
  const recording = recordingSink();
  const sink: Sink = { name: 'bus', cursorName: 'bus', publish: recording.publish, ...more };
  return { recording, sink, seen: () => recording.events.map(({ seq }) => seq) };
}

async function started(ledger: Ledger, sink: Sink) {
  const clock = fakeClock();
  const outbox = createOutbox({ ledger, sinks: [sink], clock, random: () => 0 });
  while (outbox.stats().some(({ activity }) => activity === 'starting')) await settlePromises();
  return { clock, outbox };
}

describe('cursor of a sink', () => {
  it('NB-03 a sink goes on where the last process left off', async () => {
    await using ledger = memoryLedger();
    const first = busSink();
    const one = await started(ledger, first.sink);
    await append(ledger, 3);
    await one.outbox.close();
    await append(ledger, 2);
    const second = busSink();
    const two = await started(ledger, second.sink);
    await two.outbox.close();
    expect([first.seen(), second.seen()]).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it('NB-03 what is committed while nothing arrives is there for the next process', async () => {
    await using ledger = memoryLedger();
    const dead = busSink({ publish: () => Promise.reject(new TypeError('no route')) });
    const one = await started(ledger, dead.sink);
    await append(ledger, 3);
    const closing = one.outbox.close({ drainMs: 10 });
    await settlePromises();
    await one.clock.advance(10);
    await closing;
    const alive = busSink();
    const two = await started(ledger, alive.sink);
    await two.outbox.close();
    expect(alive.seen()).toEqual([1, 2, 3]);
  });

  it('is remembered a second after an event, at the latest', async () => {
    await using ledger = memoryLedger();
    const { sink, recording } = busSink();
    const { clock, outbox } = await started(ledger, sink);
    await append(ledger, 2);
    await recording.received(2);
    await clock.whenPending();
    expect(await ledger.cursor('bus')).toBe(0);
    await clock.advance(1_000);
    expect(await ledger.cursor('bus')).toBe(2);
    await outbox.close();
    expect(clock.pending).toBe(0);
  });

  it('is remembered after 256 events at once', async () => {
    await using ledger = memoryLedger();
    const { sink, recording } = busSink();
    const { outbox } = await started(ledger, sink);
    await append(ledger, 600);
    await recording.received(600);
    await settlePromises();
    expect(await ledger.cursor('bus')).toBeGreaterThanOrEqual(600 - 256);
    await outbox.close();
    expect(await ledger.cursor('bus')).toBe(600);
  });

  it('may be set back by the sink', async () => {
    await using ledger = memoryLedger();
    const known: (number | undefined)[] = [];
    const first = busSink();
    const one = await started(ledger, first.sink);
    await append(ledger, 3);
    await one.outbox.close();
    const again = busSink({
      resumeAfter: async (_, cursor) => {
        known.push(cursor);
        return 1;
      },
    });
    const two = await started(ledger, again.sink);
    await two.outbox.close();
    expect([known, again.seen()]).toEqual([[3], [2, 3]]);
  });
});

describe('closing', () => {
  it('does not wait for a sink that has been down for a while', async () => {
    await using ledger = memoryLedger();
    const dead = busSink({
      state: () => ({ type: 'down' }),
      publish: () => Promise.reject(new TypeError('no route')),
    });
    const { clock, outbox } = await started(ledger, dead.sink);
    await append(ledger, 1);
    for (let failures = 0; failures < 4; failures += 1) {
      while ((outbox.stats()[0]?.failures ?? 0) <= failures) {
        await clock.advance(2_000);
        await settlePromises();
      }
    }
    const closing = outbox.close({ drainMs: 60_000 });
    await settlePromises();
    await clock.advance(0);
    await closing;
    expect(outbox.stats()[0]).toMatchObject({ activity: 'closed', lag: 1 });
  });
});

describe('lag of a sink', () => {
  it('is told to the sink, with the moment since which it is behind', async () => {
    await using ledger = memoryLedger();
    const lags: SinkLag[] = [];
    let isDown = true;
    const inner = recordingSink();
    const { clock, outbox } = await started(ledger, {
      name: 'bus',
      publish: (events, signal) =>
        isDown ? Promise.reject(new TypeError('no')) : inner.publish(events, signal),
      observe: (lag) => void lags.push(lag),
    });
    const began = clock.now();
    await append(ledger, 2);
    while (lags.length === 0) await settlePromises();
    expect(lags.at(-1)).toMatchObject({ positions: 2, since: began, failures: 1 });
    expect(outbox.stats()[0]).toMatchObject({ lag: 2, laggingSince: began });
    isDown = false;
    await clock.advance(100);
    await inner.received(2);
    await settlePromises();
    expect(lags.at(-1)).toEqual({ positions: 0, since: undefined, published: 2, failures: 1 });
    await outbox.close();
  });
});
