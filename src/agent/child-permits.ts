/** A place among the children of one agent that may be at work at once. */
export type ChildPermit =
  | { readonly type: 'permit'; release(): void }
  /** As many wait as may. */
  | { readonly type: 'full'; readonly waiting: number }
  /** It is not wanted any more. */
  | { readonly type: 'aborted' };

/** Places given first come, first served. */
export interface ChildPermits {
  /** Resolves with a place; one that aborts while it waits leaves none behind. */
  enter(signal: AbortSignal): Promise<ChildPermit>;
}

interface Waiter {
  give(permit: ChildPermit): void;
}

/** `atOnce` places, and a bounded queue behind them. */
export function createChildPermits(atOnce: number, maxWaiting: number): ChildPermits {
  const queue: Waiter[] = [];
  let taken = 0;
  const permit = (): ChildPermit => {
    let held = true;
    return {
      type: 'permit',
      release() {
        if (!held) return;
        held = false;
        const next = queue.shift();
        if (next === undefined) taken -= 1;
        else next.give(permit());
      },
    };
  };
  const wait = (signal: AbortSignal) =>
    new Promise<ChildPermit>((resolve) => {
      const onAbort = () => {
        queue.splice(queue.indexOf(waiter), 1);
        resolve({ type: 'aborted' });
      };
      const waiter: Waiter = {
        give(given) {
          signal.removeEventListener('abort', onAbort);
          resolve(given);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.push(waiter);
    });
  return {
    async enter(signal) {
      if (signal.aborted) return { type: 'aborted' };
      if (taken < atOnce) {
        taken += 1;
        return permit();
      }
      return queue.length >= maxWaiting ? { type: 'full', waiting: queue.length } : wait(signal);
    },
  };
}
