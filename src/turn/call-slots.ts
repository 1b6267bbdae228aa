import type { CallSlot } from '../tools/settlement.ts';

/** Places among the calls of one step that may run at once, given in call order. */
export interface CallSlots {
  /** Resolves with a place, or with what there is instead: see `shouldSkip` and `detach`. */
  enter(callId: string): Promise<CallSlot>;
  /** Whether a call waits for a place. */
  isWaiting(callId: string): boolean;
  /** Gives no place any more: the turn leaves this process. */
  detach(): void;
}

/**
 * `shouldSkip` is asked when a waiting call gets its turn: true when the user has spoken meanwhile, so that the
 * calls not yet started are not what is wanted any more.
 */
export function createCallSlots(concurrency: number, shouldSkip: () => boolean): CallSlots {
  const max = Math.max(1, concurrency);
  const queue = new Map<string, (slot: CallSlot) => void>();
  let taken = 0;
  let detached = false;

  /** A place that is left goes to the next in line, who may not want it any more. */
  const passOn = () => {
    for (const [callId, give] of queue) {
      queue.delete(callId);
      if (!shouldSkip()) return give(place());
      give({ type: 'skip' });
    }
    taken -= 1;
  };
  const place = (): CallSlot => {
    let left = false;
    return {
      type: 'place',
      leave() {
        if (left) return;
        left = true;
        passOn();
      },
    };
  };
  return {
    isWaiting: (callId) => queue.has(callId),
    detach() {
      detached = true;
      for (const give of queue.values()) give({ type: 'detached' });
      queue.clear();
    },
    async enter(callId) {
      if (detached) return { type: 'detached' };
      if (taken >= max) return new Promise((resolve) => queue.set(callId, resolve));
      taken += 1;
      return place();
    },
  };
}
