import fc from 'fast-check';
import type { TransitionRecord } from 'swarmwright';
import { expect, it } from 'vitest';
import { createMoveRing } from '../../src/inspect/move-ring.ts';

function move(seq: number): TransitionRecord {
  const ids = { id: `i${seq % 3}`, rootId: 's', session: 's' };
  const way = { from: 'a', to: 'b', event: 'E', meta: {} };
  return { v: 1, seq, at: seq, kind: 'turn', machineId: 'turn', ...ids, ...way };
}

it('IN-03 gives a reader every transition once, or says how many it missed', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.record({ pushes: fc.nat(30), max: fc.integer({ min: 1, max: 15 }) }), { maxLength: 30 }),
      (size, rounds) => {
        const ring = createMoveRing(size);
        let [pushed, read, missed, last] = [0, 0, 0, 0];
        for (const { pushes, max } of rounds) {
          for (let at = 0; at < pushes; at += 1) {
            pushed += 1;
            ring.push(move(pushed));
          }
          const slice = ring.after(last, max);
          expect(slice.moves.map((text) => JSON.parse(text).at)).toEqual(
            slice.moves.map((_, index) => last + slice.dropped + index + 1),
          );
          missed += slice.dropped;
          read += slice.moves.length;
          last = slice.last;
          expect(read + missed).toBe(last);
        }
      },
    ),
  );
});

it('keeps as many as it has places, of each instance in order', () => {
  const ring = createMoveRing(6);
  for (let seq = 1; seq <= 10; seq += 1) ring.push(move(seq));
  expect(ring.last).toBe(10);
  expect(ring.ofInstance('i0').map(({ seq }) => seq)).toEqual([6, 9]);
});
