import { setImmediate } from 'node:timers/promises';
import type { RunEvent, TransitionRecord } from 'swarmwright';
import { expect, it, vi } from 'vitest';
import { createEventLog } from '../../src/inspect/event-log.ts';
import type { FactFrame } from '../../src/inspect/fact-frame.ts';
import { createFactFrames } from '../../src/inspect/fact-frames.ts';
import { type FactSource, ledgerFacts, type PlacedFact } from '../../src/inspect/fact-source.ts';
import { createMoveRing } from '../../src/inspect/move-ring.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { PAGE_LIMITS } from '../../src/limits.ts';
import { createRuntime } from '../../src/runtime.ts';
import { reply } from '../../src/testing/reply.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';

/** A source of any number of facts, which counts who reads, and from where to where. */
function countingSource() {
  const log = createEventLog({ maxEvents: 100_000, maxBytes: 100_000_000 });
  const readings: { readonly after: number; readonly upTo: number | undefined; read: number }[] = [];
  const open = new Set<AbortSignal>();
  const source: FactSource = {
    ...log,
    async *facts(after, signal, upTo): AsyncGenerator<PlacedFact> {
      const reading = { after, upTo, read: 0 };
      readings.push(reading);
      open.add(signal);
      try {
        for await (const fact of log.facts(after, signal, upTo)) {
          reading.read += 1;
          yield fact;
        }
      } finally {
        open.delete(signal);
      }
    },
  };
  let seq = 0;
  const push = (count: number) => {
    for (let at = 0; at < count; at += 1) {
      seq += 1;
      // What the log looks at of an event.
      log.push({ id: `s:${seq}`, session: 's', seq } as unknown as RunEvent);
    }
  };
  return { source, push, readings, open };
}

const seqsIn = ({ text = '[]' }: FactFrame): number[] => JSON.parse(text).map(({ seq }: RunEvent) => seq);

/** The facts a viewer is given until it has the one at `last`. */
async function readTo(frames: AsyncGenerator<FactFrame>, last: number): Promise<number[]> {
  const seqs: number[] = [];
  while (seqs.at(-1) !== last) {
    const { value, done } = await frames.next();
    if (done === true) break;
    seqs.push(...seqsIn(value));
  }
  return seqs;
}

const countTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

it('IN-09 gives every viewer each fact once, in order, wherever it begins and however slow it is', async () => {
  const { source, push } = countingSource();
  const frames = createFactFrames(source, createMoveRing(1));
  const stop = new AbortController();
  push(700);
  const early = frames.follow(0, stop.signal);
  expect(await readTo(early, 700)).toEqual(countTo(1, 700));
  push(PAGE_LIMITS.batch * 20);
  const end = 700 + PAGE_LIMITS.batch * 20;
  const slow = frames.follow(650, stop.signal);
  const first = await slow.next();
  const late = frames.follow(end - 3, stop.signal);
  // All frames that were kept are gone when the slow one goes on.
  const [all, few] = await Promise.all([readTo(early, end), readTo(late, end)]);
  expect(all).toEqual(countTo(701, end));
  expect(few).toEqual(countTo(end - 2, end));
  expect([...(first.done === true ? [] : seqsIn(first.value)), ...(await readTo(slow, end))]).toEqual(
    countTo(651, end),
  );
  stop.abort();
});

it('reads what comes once, however many look, and all that comes within a moment as one frame', async () => {
  const { source, push, readings } = countingSource();
  const frames = createFactFrames(source, createMoveRing(1));
  const stop = new AbortController();
  const viewers = Array.from({ length: 3 }, () => frames.follow(0, stop.signal));
  // Each is told first that it has all there is.
  await Promise.all(viewers.map((viewer) => viewer.next()));
  const next = viewers.map((viewer) => viewer.next());
  for (let at = 0; at < 100; at += 1) {
    push(1);
    await Promise.resolve();
  }
  for (const { value } of await Promise.all(next))
    expect(seqsIn(value as FactFrame)).toEqual(countTo(1, 100));
  expect(readings.filter(({ read }) => read > 0)).toEqual([{ after: 0, upTo: undefined, read: 100 }]);
  stop.abort();
});

it('IN-03 reads nothing when the last viewer is gone, and on from there for the next', async () => {
  const { source, push, readings, open } = countingSource();
  const frames = createFactFrames(source, createMoveRing(1));
  const stop = new AbortController();
  const viewer = frames.follow(0, stop.signal);
  push(1);
  expect(await readTo(viewer, 1)).toEqual([1]);
  const waiting = viewer.next();
  stop.abort();
  expect((await waiting).done).toBe(true);
  await vi.waitFor(() => expect(open.size).toBe(0));
  push(5);
  const later = new AbortController();
  expect(await readTo(frames.follow(1, later.signal), 6)).toEqual(countTo(2, 6));
  expect(readings.reduce((sum, { read }) => sum + read, 0)).toBeLessThanOrEqual(6);
  later.abort();
});

it('IN-03 reads no more than a frame for viewers that take none, however much comes', async () => {
  const { source, push, readings } = countingSource();
  const frames = createFactFrames(source, createMoveRing(1));
  const stop = new AbortController();
  const viewer = frames.follow(0, stop.signal);
  await viewer.next();
  for (let at = 0; at < 100; at += 1) {
    push(PAGE_LIMITS.batch);
    await setImmediate();
  }
  expect(readings.reduce((sum, { read }) => sum + read, 0)).toBeLessThanOrEqual(1);
  expect((await readTo(viewer, PAGE_LIMITS.batch * 100)).length).toBe(PAGE_LIMITS.batch * 100);
  stop.abort();
});

it('says that there are transitions where no fact comes', async () => {
  const { source, push } = countingSource();
  const ring = createMoveRing(4);
  const stop = new AbortController();
  push(3);
  const viewer = createFactFrames(source, ring).follow(3, stop.signal);
  await viewer.next();
  const next = viewer.next();
  // Only its number counts here.
  ring.push({} as TransitionRecord);
  expect((await next).value).toEqual({ after: 3, last: 3, text: undefined, missed: 0 });
  stop.abort();
});

it('ends all viewers where reading fails, and begins anew for those that come back', async () => {
  const { source, push } = countingSource();
  let isBroken = true;
  const broken: FactSource = {
    ...source,
    facts: (after, signal, upTo) => {
      if (isBroken) throw new Error('not now');
      return source.facts(after, signal, upTo);
    },
  };
  const frames = createFactFrames(broken, createMoveRing(1));
  const stop = new AbortController();
  const viewers = [frames.follow(0, stop.signal), frames.follow(0, stop.signal)];
  const ends = await Promise.allSettled(viewers.map((viewer) => viewer.next()));
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  isBroken = false;
  push(2);
  expect(await readTo(frames.follow(0, stop.signal), 2)).toEqual([1, 2]);
  stop.abort();
});

it('tells the same of a ledger to who was there and to who came later', async () => {
  const ledger = await memoryLedger();
  const runtime = createRuntime({ ledger });
  const { agent } = scriptedAgent(() => reply().text('Done.'), { name: 'clerk' });
  const frames = createFactFrames(ledgerFacts(ledger, {}), createMoveRing(1));
  const stop = new AbortController();
  const eventsTo = async (viewer: AsyncGenerator<FactFrame>, last: number) => {
    const events: RunEvent[] = [];
    for await (const frame of viewer) {
      events.push(...JSON.parse(frame.text ?? '[]'));
      if (frame.last >= last) return events;
    }
    return events;
  };
  const live = frames.follow(0, stop.signal);
  await live.next();
  for (let turn = 0; turn < 30; turn += 1)
    await runtime.run(agent, 'Go.', { sessionId: `s-${turn % 3}` }).result;
  const last = await ledger.position();
  const seen = await eventsTo(live, last);
  expect(seen.length).toBeGreaterThan(150);
  expect(await eventsTo(frames.follow(0, stop.signal), last)).toEqual(seen);
  const middle = seen[100]?.cursor ?? 0;
  expect(await eventsTo(frames.follow(middle, stop.signal), last)).toEqual(seen.slice(101));
  stop.abort();
  await runtime.close();
});
