/** What signals do to a run. */
export interface InterruptTarget {
  /** Ends after the step under way. */
  drain(): void;
  /** Ends at once, as cancelled. */
  cancel(reason: string): void;
  /** Leaves the process as it is. */
  quit(): void;
  /** Tells the person. */
  notice(text: string): void;
}

/** Signals of the process, and Ctrl-C where it is a key. */
export interface Interrupts {
  /** Ctrl-C: first drain, then cancel, then quit. */
  interrupt(): void;
  /** Gives the signals back. */
  dispose(): void;
}

/** Listens to SIGINT (drains, then cancels, then quits), SIGTERM and SIGHUP (cancel). */
export function listenToSignals(target: InterruptTarget): Interrupts {
  let pressed = 0;
  const interrupt = () => {
    pressed += 1;
    if (pressed === 1) {
      target.drain();
      target.notice('Ends after this step; Ctrl-C again cancels at once.');
    } else if (pressed === 2) {
      target.cancel('interrupted');
      target.notice('Cancelling; Ctrl-C again quits without waiting.');
    } else target.quit();
  };
  const terminate = (signal: NodeJS.Signals) => {
    pressed = Math.max(pressed, 2);
    target.cancel(signal);
    target.notice(`${signal}: cancelling.`);
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', terminate);
  process.on('SIGHUP', terminate);
  return {
    interrupt,
    dispose() {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', terminate);
      process.off('SIGHUP', terminate);
    },
  };
}
