import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StatelyQueue } from '../../src/inspect/stately-queue.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';

function transition(id: string, seq: number, from = 'a'): TransitionRecord {
  return {
    v: 1,
    seq,
    at: 0,
    kind: 'turn',
    machineId: 'turn',
    id,
    rootId: 'r',
    session: 'r',
    from,
    to: 'b',
    event: 'E',
    meta: {},
  };
}

describe('a queue', () => {
  it('keeps every snapshot while it is short', () => {
    const queue = new StatelyQueue(100);
    for (let seq = 1; seq <= 20; seq += 1) queue.push(transition('t', seq));
    const { transitions } = queue.take(100);
    expect(transitions.every(({ snapshot }) => snapshot)).toBe(true);
    expect(queue.coalesced).toBe(0);
  });

  it('keeps only the newest snapshot of an instance when it is long, and every event', () => {
    const queue = new StatelyQueue(100);
    for (let seq = 1; seq <= 40; seq += 1) queue.push(transition('t', seq));
    const { transitions } = queue.take(100);
    expect(transitions).toHaveLength(40);
    expect(transitions.at(-1)?.snapshot).toBe(true);
    expect(transitions.filter(({ snapshot }) => snapshot).length + queue.coalesced).toBe(40);
    expect(queue.coalesced).toBeGreaterThan(0);
  });

  it('drops the oldest over its bound, and says how many once', () => {
    const queue = new StatelyQueue(10);
    for (let seq = 1; seq <= 100; seq += 1) queue.push(transition(`t${seq}`, seq, '(start)'));
    const first = queue.take(100);
    expect(first.transitions.map(({ record }) => record.seq)).toEqual([98, 99, 100]);
    expect(first.dropped).toBe(queue.dropped);
    expect(first.dropped).toBe(97 * 3);
    expect(queue.take(100)).toEqual({ dropped: 0, transitions: [] });
  });

  it('IN-03 never holds more than its bound, loses nothing uncounted, and keeps the order', () => {
    const push = fc.record({ id: fc.constantFrom('a', 'b', 'c'), starts: fc.boolean() });
    const step = fc.oneof(
      { weight: 5, arbitrary: push.map((of) => ({ push: of })) },
      { weight: 1, arbitrary: fc.nat(20).map((max) => ({ take: max })) },
    );
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 30 }), fc.array(step, { maxLength: 300 }), (max, steps) => {
        const queue = new StatelyQueue(max);
        let seq = 0;
        let pushed = 0;
        let taken = 0;
        const order: number[] = [];
        for (const one of steps) {
          if ('push' in one) {
            seq += 1;
            pushed += one.push.starts ? 3 : 2;
            queue.push(transition(one.push.id, seq, one.push.starts ? '(start)' : 'a'));
          } else {
            for (const { record, snapshot } of queue.take(one.take).transitions) {
              order.push(record.seq);
              taken += (snapshot ? 2 : 1) + (record.from === '(start)' ? 1 : 0);
            }
          }
          expect(queue.size).toBeLessThanOrEqual(max);
          expect(taken + queue.size + queue.dropped + queue.coalesced).toBe(pushed);
        }
        expect(order).toEqual([...order].sort((left, right) => left - right));
      }),
    );
  });
});
