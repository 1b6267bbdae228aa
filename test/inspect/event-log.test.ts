import type { RunEvent } from 'swarmwright';
import { expect, it } from 'vitest';
import { createEventLog, type EventLog } from '../../src/inspect/event-log.ts';

function event(seq: number): RunEvent {
  const place = { session: 's', root: 's', agent: 'a', seq, ts: '2026-01-01T00:00:00.000Z' };
  // What the log looks at of an event.
  return {
    ...place,
    id: `s:${seq}`,
    type: 'turn.resumed',
    kind: 'turn',
    data: { run: 'r' },
  } as unknown as RunEvent;
}

/** What a viewer that begins at the beginning is told, up to the newest. */
async function readAll(log: EventLog) {
  const head = await log.position();
  const stop = new AbortController();
  const seqs: number[] = [];
  let missed = 0;
  for await (const fact of log.facts(0, stop.signal)) {
    const { seq, cursor } = JSON.parse(fact.text ?? '');
    expect([seq, cursor]).toEqual([fact.position, fact.position]);
    seqs.push(seq);
    missed += fact.missed ?? 0;
    if (fact.position === head) stop.abort();
  }
  return { seqs, missed };
}

it('gives a viewer what is there, then what comes, and ends with its signal', async () => {
  const log = createEventLog({ maxEvents: 100, maxBytes: 100_000 });
  log.push(event(1));
  log.push(event(2));
  const stop = new AbortController();
  const seen: number[] = [];
  for await (const { text, position } of log.facts(1, stop.signal)) {
    expect(JSON.parse(text ?? '').cursor).toBe(position);
    seen.push(position);
    if (seen.length === 1) log.push(event(3));
    else stop.abort();
  }
  expect(seen).toEqual([2, 3]);
});

it('keeps the newest events, under the positions they always had, and says how many went', async () => {
  const log = createEventLog({ maxEvents: 8, maxBytes: 100_000 });
  for (let seq = 1; seq <= 40; seq += 1) log.push(event(seq));
  expect(await readAll(log)).toEqual({ seqs: [33, 34, 35, 36, 37, 38, 39, 40], missed: 32 });
});

it('keeps no more bytes than it may, however few events that are', async () => {
  const size = Buffer.byteLength(JSON.stringify({ ...event(40), cursor: 40 }));
  const log = createEventLog({ maxEvents: 100, maxBytes: size * 3 });
  for (let seq = 1; seq <= 40; seq += 1) log.push(event(seq));
  expect(await readAll(log)).toEqual({ seqs: [38, 39, 40], missed: 37 });
});

it('keeps nothing of an event that is larger than all it may keep', async () => {
  const log = createEventLog({ maxEvents: 100, maxBytes: 10 });
  log.push(event(1));
  expect(await log.position()).toBe(1);
  expect(log.findLast(() => true, 100)).toBeUndefined();
});

it('finds the newest event that passes, and looks no further back than it is told', () => {
  const log = createEventLog({ maxEvents: 100, maxBytes: 100_000 });
  for (let seq = 1; seq <= 9; seq += 1) log.push(event(seq));
  expect(log.findLast(() => true, 3)?.seq).toBe(9);
  expect(log.findLast((text) => text.includes('"seq":8'), 3)?.seq).toBe(8);
  expect(log.findLast((text) => text.includes('"seq":2'), 3)).toBeUndefined();
});
