/** Counts the calls of a turn that wait for a person, here or in a session below. */
export interface PersonWatch {
  /** One more waits. */
  add(): void;
  /** One fewer. */
  remove(): void;
}

/** `tell` hears when the first begins to wait, and when none does any more. */
export function createPersonWatch(tell: (isWaiting: boolean) => void): PersonWatch {
  let waiting = 0;
  return {
    add() {
      waiting += 1;
      if (waiting === 1) tell(true);
    },
    remove() {
      if (waiting === 0) return;
      waiting -= 1;
      if (waiting === 0) tell(false);
    },
  };
}
