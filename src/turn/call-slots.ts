import type { CallSlot } from '../tools/settlement.ts';

/** Places among the calls of one step that may run at once, given in call order. */
export interface CallSlots {
  /** Resolves with a place, or with what there is instead: see `shouldSkip` and `detach`. */
  enter(): Promise<CallSlot>;
  /** Calls that wait for a place. */
  readonly waiting: number;
  /** Gives no place any more: the turn leaves this process. */
  detach(): void;
}

/**
 * `shouldSkip` is asked when a waiting call gets its turn: true when the user has spoken meanwhile, so that the
 * calls not yet started are not what is wanted any more.
 */
export function createCallSlots(concurrency: number, shouldSkip: () => boolean): CallSlots {
  const max = Math.max(1, concurrency);
  const queue: (() => void)[] = [];
  let taken = 0;
  let detached = false;
  const place = (): CallSlot => {
    let left = false;
    return {
      type: 'place',
      leave() {
        if (left) return;
        left = true;
        taken -= 1;
        queue.shift()?.();
      },
    };
  };
  return {
    get waiting() {
      return queue.length;
    },
    detach() {
      detached = true;
      for (const wake of queue.splice(0)) wake();
    },
    async enter() {
      let waited = false;
      while (taken >= max && !detached) {
        waited = true;
        await new Promise<void>((resolve) => queue.push(resolve));
      }
      if (detached) return { type: 'detached' };
      if (waited && shouldSkip()) {
        // Its place goes on to the next in line at once.
        queue.shift()?.();
        return { type: 'skip' };
      }
      taken += 1;
      return place();
    },
  };
}
