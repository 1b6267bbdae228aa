import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEvents } from '../../src/events/event-reader.ts';
import type { RunEvent } from '../../src/events/event-schemas.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { NewRecord } from '../../src/ledger/records.ts';
import { playRandomRun } from './fixtures/play-random-run.ts';
import { anyRun } from './fixtures/random-run.ts';
import { SESSION } from './fixtures/world.ts';

async function eventsIn(
  ledger: Ledger,
  options: { session: string; root?: string; tree?: boolean; from?: number },
) {
  const events: RunEvent[] = [];
  for await (const event of readEvents(ledger, { ...options, until: ledger.position() })) events.push(event);
  return events;
}

/**
 * A reader of a bus that loses and repeats: it knows a repetition by the sequence, a loss by the link to the event
 * before, and asks the ledger for what was lost.
 */
function createConsumer(refill: (from: number) => Promise<readonly RunEvent[]>) {
  const seen: RunEvent[] = [];
  const last = () => seen.at(-1)?.seq ?? 0;
  return {
    seen,
    async take(event: RunEvent): Promise<void> {
      if (event.seq <= last()) return;
      if (event.prev !== last()) {
        const missing = await refill(last() + 1);
        seen.push(...missing.filter(({ seq }) => seq < event.seq));
      }
      seen.push(event);
    },
  };
}

describe('events of runs', () => {
  it('XC-02 each says where it belongs, and they count up without a gap in their links', async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (plan) => {
        const { world } = await playRandomRun(plan);
        const records = await world.facts();
        const events = await eventsIn(world.ledger, { session: SESSION });
        let prev = 0;
        for (const event of events) {
          const record = records[event.seq - 1];
          expect(event).toMatchObject({
            session: SESSION,
            root: SESSION,
            agent: 'worker',
            agentPath: ['worker'],
          });
          expect([event.id, event.turn, event.step, event.call]).toEqual([
            `${SESSION}:${event.seq}`,
            record?.turn,
            record?.step,
            record?.call,
          ]);
          expect(event.run === undefined).toBe(event.turn === undefined);
          expect(event.seq).toBeGreaterThan(prev);
          expect(event.prev).toBe(prev);
          prev = event.seq;
        }
        const closed = events.filter(({ type }) => type === 'turn.closed');
        expect(closed).toHaveLength(1);
      }),
      { numRuns: 40 },
    );
  });

  it('XC-02 a consumer that gets some twice, some late and some not at all misses none', async () => {
    const faults = fc.array(fc.record({ at: fc.nat(200), what: fc.constantFrom('lose', 'repeat', 'again') }));
    await fc.assert(
      fc.asyncProperty(anyRun, faults, async (plan, planned) => {
        const { world } = await playRandomRun(plan);
        const all = await eventsIn(world.ledger, { session: SESSION });
        const delivered: RunEvent[] = [];
        for (const [index, event] of all.entries()) {
          const what = planned.find(({ at }) => at % all.length === index)?.what;
          // The last one comes at last, or nothing would tell that it is missing.
          if (what === 'lose' && index < all.length - 1) continue;
          delivered.push(event, ...(what === 'repeat' ? [event] : []));
          if (what === 'again') delivered.push(...all.slice(0, index));
        }
        const consumer = createConsumer((from) => eventsIn(world.ledger, { session: SESSION, from }));
        for (const event of delivered) await consumer.take(event);
        expect(consumer.seen.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
      }),
      { numRuns: 40 },
    );
  });

  it('XC-02 those of a child name its parent and the run of both', async () => {
    const ledger = memoryLedger();
    const root = { session: 's-root', root: 's-root', agent: 'boss' };
    const child = { session: 's-child', root: 's-root', parent: 's-root', agent: 'helper' };
    for (const identity of [root, child]) {
      await using writer = await ledger.acquire(identity);
      await writer.append(0, [opened(identity.agent), turnOpened(`${identity.session}.1`)]);
    }
    const events = await eventsIn(ledger, { session: 's-root', tree: true });
    expect(events.map(({ session, parent, root: top, run }) => [session, parent, top, run])).toEqual([
      ['s-root', undefined, 's-root', undefined],
      ['s-root', undefined, 's-root', 'r-1'],
      ['s-child', 's-root', 's-root', undefined],
      ['s-child', 's-root', 's-root', 'r-1'],
    ]);
    const cursors = events.map(({ cursor }) => cursor ?? 0);
    expect(cursors).toEqual([...cursors].sort((a, b) => a - b));
  });
});

function opened(agent: string): NewRecord {
  const ceilingHash = 'a'.repeat(64);
  return {
    type: 'session.opened',
    data: { kind: 'agent', ceiling: [], ceilingHash, agentPath: [agent], depth: 0 },
  };
}

function turnOpened(turn: string): NewRecord {
  const hash = 'a'.repeat(64);
  return {
    type: 'turn.opened',
    turn,
    data: {
      ordinal: 1,
      run: 'r-1',
      input: [{ type: 'text', text: 'Go.' }],
      bound: [],
      boundHash: hash,
      discovery: 'off',
      model: 'scripted',
      instructionsHash: hash,
    },
  };
}
