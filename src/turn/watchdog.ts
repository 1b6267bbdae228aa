import type { Clock } from '../clock.ts';

/** Which silence ended an attempt. */
export type Silence = 'connect' | 'idle';

export interface WatchdogOptions {
  readonly clock: Clock;
  /** Time to the first part. */
  readonly connectMs: number;
  /** Time between two parts. */
  readonly idleMs: number;
  /** Called at most once. */
  onSilence(which: Silence): void;
}

/** Watches one attempt. A part costs one clock reading; the timer is set again only when it fires. */
export interface Watchdog {
  /** Something arrived. */
  touch(): void;
  /** The attempt is over. Idempotent. */
  stop(): void;
}

export function startWatchdog(options: WatchdogOptions): Watchdog {
  const { clock } = options;
  let lastMs = clock.monotonicMs();
  let seen = false;
  let stopped = false;
  let timer: unknown;

  function arm(): void {
    const limitMs = seen ? options.idleMs : options.connectMs;
    if (!Number.isFinite(limitMs)) return;
    const leftMs = Math.max(0, lastMs + limitMs - clock.monotonicMs());
    timer = clock.setTimeout(check, Math.min(leftMs, 0x7fffffff));
  }

  function check(): void {
    if (stopped) return;
    const limitMs = seen ? options.idleMs : options.connectMs;
    if (clock.monotonicMs() - lastMs < limitMs) {
      arm();
      return;
    }
    stopped = true;
    options.onSilence(seen ? 'idle' : 'connect');
  }

  arm();
  return {
    touch() {
      lastMs = clock.monotonicMs();
      if (seen || stopped) return;
      seen = true;
      clock.clearTimeout(timer);
      arm();
    },
    stop() {
      stopped = true;
      clock.clearTimeout(timer);
    },
  };
}
