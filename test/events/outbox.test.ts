import { describe, expect, it } from 'vitest';
import { createOutbox, type OutboxOptions } from '../../src/events/outbox.ts';
import type { Ledger, TailOptions } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { fakeClock, settlePromises } from '../../src/testing/fake-clock.ts';
import { faultyLedger } from '../../src/testing/faulty-ledger.ts';
import { createGate } from '../../src/testing/gate.ts';
import { type RecordingSink, recordingSink } from '../../src/testing/recording-sink.ts';
import { ROOT, writerOf } from './ledger-writing.ts';
import { SPOKEN } from './sample-records.ts';

const text = (id: string) => ({ type: 'steering.accepted' as const, data: { id, text: SPOKEN } });
const idsOf = (sink: RecordingSink) => sink.events.map(({ seq }) => seq);

/** Once the pumps stand at the end of what there is, they read whatever is committed next. */
async function started(options: Omit<OutboxOptions, 'clock' | 'random'>) {
  const clock = fakeClock();
  const outbox = createOutbox({ clock, random: () => 0, ...options });
  while (outbox.stats().some(({ activity }) => activity === 'starting')) await settlePromises();
  return { clock, outbox };
}

async function append(ledger: Ledger, count: number) {
  const { append: write, writer } = await writerOf(ledger, ROOT);
  for (let at = 0; at < count; at += 1) await write(text(`t${at}`));
  await writer.release();
}

describe('outbox', () => {
  it('brings every committed event to every sink, in order, without content', async () => {
    await using ledger = memoryLedger();
    const sinks = [recordingSink({ name: 'a' }), recordingSink({ name: 'b' })];
    const { outbox } = await started({ ledger, sinks });
    await append(ledger, 20);
    await outbox.close();
    for (const sink of sinks) {
      expect(idsOf(sink)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
      expect(JSON.stringify(sink.events)).not.toContain(SPOKEN);
      expect(sink.isClosed).toBe(true);
    }
    expect(outbox.stats()).toEqual([
      { name: 'a', activity: 'closed', published: 20, failures: 0, cursor: 20, lag: 0 },
      { name: 'b', activity: 'closed', published: 20, failures: 0, cursor: 20, lag: 0 },
    ]);
  });

  it('lets content out to the sink that may have it', async () => {
    await using ledger = memoryLedger();
    const [open, shut] = [recordingSink({ content: true }), recordingSink()];
    const { outbox } = await started({ ledger, sinks: [open, shut] });
    await append(ledger, 1);
    await outbox.close();
    expect([
      JSON.stringify(open.events).includes(SPOKEN),
      JSON.stringify(shut.events).includes(SPOKEN),
    ]).toEqual([true, false]);
  });

  it('begins with what is committed after its start, unless the sink remembers a place', async () => {
    await using ledger = memoryLedger();
    await append(ledger, 5);
    const [fresh, resumed, foreign] = [
      recordingSink({ name: 'fresh' }),
      recordingSink({ name: 'resumed', resumeAfter: 3 }),
      recordingSink({ name: 'of another ledger', resumeAfter: 500 }),
    ];
    const { outbox } = await started({ ledger, sinks: [fresh, resumed, foreign] });
    const { append: write } = await writerOf(ledger, ROOT);
    await write(text('six'));
    await outbox.close();
    expect([idsOf(fresh), idsOf(resumed), idsOf(foreign)]).toEqual([[6], [4, 5, 6], [6]]);
  });

  it('hands over bounded batches', async () => {
    await using ledger = memoryLedger();
    await append(ledger, 25);
    const sink = recordingSink({ resumeAfter: 0 });
    const limits = { ...DEFAULT_LIMITS.events, maxBatchEvents: 10 };
    const { outbox } = await started({ ledger, sinks: [sink], limits });
    await outbox.close();
    expect(sink.batches.map((batch) => batch.length)).toEqual([10, 10, 5]);
  });

  it('offers a refused batch again, with growing pauses, and loses nothing', async () => {
    await using ledger = memoryLedger();
    await append(ledger, 3);
    const sink = recordingSink({ resumeAfter: 0 });
    sink.failNext(3);
    const { outbox, clock } = await started({ ledger, sinks: [sink] });
    const pauses: number[] = [];
    while (sink.events.length === 0) {
      await clock.whenPending();
      await settlePromises();
      const [due] = clock.due();
      if (sink.events.length > 0) break;
      pauses.push((due ?? 0) - clock.now());
      await clock.advanceToNext();
      await settlePromises();
    }
    expect(pauses.slice(0, 3)).toEqual([100, 200, 400]);
    expect([idsOf(sink), sink.calls]).toEqual([[1, 2, 3], 4]);
    await outbox.close();
    expect(outbox.stats()[0]).toMatchObject({ published: 3, failures: 3, lag: 0 });
  });

  it('T27 repeats a batch whose answer was lost, with the same ids', async () => {
    await using ledger = memoryLedger();
    await append(ledger, 2);
    const sink = recordingSink({ resumeAfter: 0 });
    sink.failNext(1, { arrived: true });
    const { outbox, clock } = await started({ ledger, sinks: [sink] });
    await sink.received(2);
    await clock.whenPending();
    await clock.advance(100);
    await outbox.close();
    expect(sink.events.map(({ id }) => id)).toEqual(['s-root:1', 's-root:2', 's-root:1', 's-root:2']);
  });

  it('T27 gives up on a sink that does not answer, and asks it again', async () => {
    await using ledger = memoryLedger();
    await append(ledger, 1);
    const gate = createGate();
    const sink = recordingSink({ resumeAfter: 0 });
    sink.holdAt(gate);
    const { outbox, clock } = await started({ ledger, sinks: [sink] });
    await gate.reached;
    expect(outbox.stats()[0]).toMatchObject({ activity: 'publishing', published: 0 });
    await clock.advance(30_000);
    await settlePromises();
    expect(outbox.stats()[0]).toMatchObject({
      activity: 'backing-off',
      failures: 1,
      lag: 1,
      lastFailure: 'the sink recording did not answer within 30000 ms',
    });
    gate.open();
    await clock.advance(100);
    await sink.received(1);
    await outbox.close();
    expect(outbox.stats()[0]).toMatchObject({ published: 1, failures: 1, lag: 0 });
    expect(outbox.stats()[0]?.lastFailure).toBeUndefined();
  });

  it.each([
    ['hangs', () => new Promise<void>(() => {})],
    ['fails', () => Promise.reject(new TypeError('dead'))],
    [
      'throws at once',
      () => {
        throw new TypeError('dead');
      },
    ],
  ])('T27 lets a sink that %s hold up neither appends nor other sinks', async (_, publish) => {
    await using ledger = memoryLedger();
    const healthy = recordingSink({ name: 'healthy' });
    const { outbox, clock } = await started({ ledger, sinks: [{ name: 'sick', publish }, healthy] });
    await append(ledger, 500);
    expect(idsOf({ ...healthy, events: await healthy.received(500) })).toHaveLength(500);
    const closing = outbox.close({ drainMs: 1_000 });
    await settlePromises();
    await clock.advance(1_000);
    await closing;
    expect(outbox.stats()).toMatchObject([
      { name: 'sick', activity: 'closed', published: 0 },
      { name: 'healthy', published: 500 },
    ]);
    expect(clock.pending).toBe(0);
  });

  it('holds one batch for a sink that is down, however much is committed', async () => {
    const inner = memoryLedger();
    let taken = 0;
    const ledger: Ledger = Object.assign(Object.create(inner), {
      async *tail(after: number, signal: AbortSignal, options?: TailOptions) {
        for await (const positioned of inner.tail(after, signal, options)) {
          taken += 1;
          yield positioned;
        }
      },
      position: () => inner.position(),
      read: (session: string, from?: number) => inner.read(session, from),
    });
    const sink = recordingSink();
    sink.holdAt(createGate());
    const limits = { ...DEFAULT_LIMITS.events, maxBatchEvents: 10 };
    const { outbox, clock } = await started({ ledger, sinks: [sink], limits });
    await append(inner, 1_000);
    await settlePromises();
    expect(taken).toBeLessThanOrEqual(11);
    const closing = outbox.close({ drainMs: 1 });
    await settlePromises();
    await clock.advance(1);
    await closing;
    await inner.close();
  });

  it('stops at the deadline of its close and goes on from there the next time', async () => {
    await using ledger = memoryLedger();
    await append(ledger, 4);
    const slow = recordingSink({ resumeAfter: 0 });
    const gate = createGate();
    slow.holdAt(gate);
    const first = await started({ ledger, sinks: [slow] });
    await gate.reached;
    const closing = first.outbox.close({ drainMs: 50 });
    await settlePromises();
    await first.clock.advance(50);
    await closing;
    expect(slow.events).toEqual([]);
    const again = recordingSink({ resumeAfter: first.outbox.stats()[0]?.cursor ?? -1 });
    const second = await started({ ledger, sinks: [again] });
    await second.outbox.close();
    expect(idsOf(again)).toEqual([1, 2, 3, 4]);
  });

  it('reads on from its place when the ledger could not be read', async () => {
    const inner = memoryLedger();
    const ledger = faultyLedger(inner, [{ at: 'tail', skip: 2, action: { type: 'fail' } }]);
    const sink = recordingSink();
    const { outbox, clock } = await started({ ledger, sinks: [sink] });
    await append(inner, 5);
    await sink.received(1);
    await clock.whenPending();
    await clock.advance(100);
    await sink.received(5);
    await outbox.close();
    expect(idsOf(sink)).toEqual([1, 2, 3, 4, 5]);
    expect(outbox.stats()[0]).toMatchObject({ failures: 1, published: 5 });
    await inner.close();
  });

  it('asks again where a sink was, if it could not tell', async () => {
    await using ledger = memoryLedger();
    await append(ledger, 2);
    const sink = recordingSink();
    let asked = 0;
    const resumeAfter = async () => {
      asked += 1;
      if (asked === 1) throw new TypeError('not yet');
      return 1;
    };
    const clock = fakeClock();
    const outbox = createOutbox({ ledger, clock, random: () => 0, sinks: [{ ...bound(sink), resumeAfter }] });
    await clock.whenPending(1);
    await clock.advance(100);
    await sink.received(1);
    await outbox.close();
    expect([idsOf(sink), asked]).toEqual([[2], 2]);
  });

  it('ends with its ledger', async () => {
    const ledger = memoryLedger();
    const sink = recordingSink();
    const { outbox, clock } = await started({ ledger, sinks: [sink] });
    await append(ledger, 1);
    await sink.received(1);
    await ledger.close();
    await outbox.close();
    expect(clock.pending).toBe(0);
  });

  it('shows no secret of a failure', async () => {
    await using ledger = memoryLedger();
    await append(ledger, 1);
    const publish = () => Promise.reject(new TypeError('no route to nats://ann:hunter22@host:4222'));
    const resumeAfter = async () => 0;
    const { outbox, clock } = await started({ ledger, sinks: [{ name: 'bus', resumeAfter, publish }] });
    await clock.whenPending();
    await settlePromises();
    expect(outbox.stats()[0]?.lastFailure).toBe('no route to nats://[redacted]@host:4222');
    const closing = outbox.close({ drainMs: 0 });
    await clock.advance(0);
    await closing;
  });

  it('closes once, however often it is told to', async () => {
    await using ledger = memoryLedger();
    const sink = recordingSink();
    let closes = 0;
    const close = async () => {
      closes += 1;
    };
    const { outbox } = await started({ ledger, sinks: [{ ...bound(sink), close }] });
    await Promise.all([outbox.close(), outbox.close(), outbox[Symbol.asyncDispose]()]);
    expect(closes).toBe(1);
  });
});

/** The methods of a sink without its getters. */
function bound({ name, publish }: RecordingSink) {
  return { name, publish };
}
