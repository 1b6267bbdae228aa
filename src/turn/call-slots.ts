/** Places among the calls of one step that may run at once, given in call order. */
export interface CallSlots {
  /** Resolves with a place, or `undefined` when waiting is pointless: see `shouldSkip`. */
  enter(): Promise<{ leave(): void } | undefined>;
}

/**
 * `shouldSkip` is asked when a waiting call gets its turn: true when the user has spoken meanwhile, so that the
 * calls not yet started are not what is wanted any more.
 */
export function createCallSlots(concurrency: number, shouldSkip: () => boolean): CallSlots {
  const max = Math.max(1, concurrency);
  const queue: (() => void)[] = [];
  let taken = 0;
  const place = () => {
    let left = false;
    return {
      leave() {
        if (left) return;
        left = true;
        taken -= 1;
        queue.shift()?.();
      },
    };
  };
  return {
    async enter() {
      let waited = false;
      while (taken >= max) {
        waited = true;
        await new Promise<void>((resolve) => queue.push(resolve));
      }
      if (waited && shouldSkip()) {
        // Its place goes on to the next in line at once.
        queue.shift()?.();
        return undefined;
      }
      taken += 1;
      return place();
    },
  };
}
