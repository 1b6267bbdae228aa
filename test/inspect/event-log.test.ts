import type { RunEvent } from 'swarmwright';
import { expect, it } from 'vitest';
import { createEventLog } from '../../src/inspect/event-log.ts';

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

it('gives a viewer what is there, then what comes, and ends with its signal', async () => {
  const log = createEventLog(100);
  log.push(event(1));
  log.push(event(2));
  const stop = new AbortController();
  const seen: number[] = [];
  for await (const fact of log.facts(1, stop.signal)) {
    seen.push(fact.event?.seq ?? 0);
    expect(fact.event?.cursor).toBe(fact.position);
    if (seen.length === 1) log.push(event(3));
    else stop.abort();
  }
  expect(seen).toEqual([2, 3]);
});

it('keeps the newest, under the positions they always had', async () => {
  const log = createEventLog(8);
  for (let seq = 1; seq <= 40; seq += 1) log.push(event(seq));
  expect(log.all().length).toBeLessThanOrEqual(10);
  expect(await log.position()).toBe(40);
  const stop = new AbortController();
  for await (const { position, event: found } of log.facts(0, stop.signal)) {
    expect(found?.seq).toBe(position);
    if (position === 40) stop.abort();
  }
});
