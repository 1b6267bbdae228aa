import type { TransitionRecord } from '../lifecycle/transition-record.ts';

/** Transitions of this process, newest kept: one store for all viewers, so that a slow one costs no memory. */
export interface MoveRing {
  /** Number of the newest transition; 0 before the first. */
  readonly last: number;
  push(record: TransitionRecord): void;
  /** Calls `told`, which must return at once, after each push. Returns how to end that. */
  watch(told: () => void): () => void;
  /** Up to `max` transitions after the number `after`, and how many in between are gone. */
  after(after: number, max: number): RingSlice;
  /** Those of one instance that are still here, oldest first. */
  ofInstance(id: string): readonly TransitionRecord[];
}

/** What {@link MoveRing} gives to a viewer. */
export interface RingSlice {
  /** What a page reads of each, as JSON. */
  readonly moves: readonly string[];
  /** Number of the last of them: where to go on. */
  readonly last: number;
  readonly dropped: number;
}

/** Makes a {@link MoveRing} of `size` places. `push` costs O(1). */
export function createMoveRing(size: number): MoveRing {
  const places: TransitionRecord[] = [];
  // Written when the first viewer asks, and once for all of them.
  const texts: (string | undefined)[] = [];
  const watching = new Set<() => void>();
  let last = 0;
  // Numbers are the ring's own: records that nobody wanted have a number of the host and never come here.
  const placeOf = (number: number) => (number - 1) % size;
  const textAt = (place: number): string => {
    const record = places[place];
    const text = texts[place] ?? (record === undefined ? '' : textOf(record));
    texts[place] = text;
    return text;
  };
  return {
    get last() {
      return last;
    },
    push(record) {
      last += 1;
      places[placeOf(last)] = record;
      texts[placeOf(last)] = undefined;
      for (const told of watching) told();
    },
    watch(told) {
      watching.add(told);
      return () => void watching.delete(told);
    },
    after(after, max) {
      const first = Math.max(after, last - size);
      const end = Math.min(last, first + max);
      const moves: string[] = [];
      for (let number = first + 1; number <= end; number += 1) moves.push(textAt(placeOf(number)));
      return { moves, last: end, dropped: Math.max(0, first - after) };
    },
    ofInstance(id) {
      const found: TransitionRecord[] = [];
      for (let number = Math.max(1, last - size + 1); number <= last; number += 1) {
        const record = places[placeOf(number)];
        if (record?.id === id) found.push(record);
      }
      return found;
    },
  };
}

function textOf({ id, from, to, event, at, final, illegal, fault }: TransitionRecord): string {
  return JSON.stringify({ id, from, to, event, at, final, illegal, fault });
}
