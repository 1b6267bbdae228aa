import type { Clock } from '../clock.ts';

/** A time limit that stands still while nothing can be done. */
export interface PausableTimer {
  pause(): void;
  resume(): void;
  stop(): void;
}

/** Calls `expire` once, when it has run for `timeoutMs` in all. Without a time it never does. */
export function createPausableTimer(
  clock: Clock,
  timeoutMs: number | undefined,
  expire: () => void,
): PausableTimer {
  let leftMs = timeoutMs ?? Number.POSITIVE_INFINITY;
  let startedMs = 0;
  let timer: unknown;
  let isOver = false;
  const resume = () => {
    if (isOver || timer !== undefined || !Number.isFinite(leftMs)) return;
    startedMs = clock.monotonicMs();
    timer = clock.setTimeout(
      () => {
        isOver = true;
        expire();
      },
      Math.min(Math.max(0, leftMs), 0x7fffffff),
    );
  };
  const pause = () => {
    if (timer === undefined || isOver) return;
    clock.clearTimeout(timer);
    timer = undefined;
    leftMs -= clock.monotonicMs() - startedMs;
  };
  resume();
  return {
    pause,
    resume,
    stop() {
      pause();
      isOver = true;
    },
  };
}
