// How amounts are written, everywhere on the page.

/** Time that goes by, coarse: it changes while people read it. */
export function formatElapsed(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${String(Math.floor(seconds % 60)).padStart(2, '0')}s`;
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`;
}

/** A number of tokens or characters: `999`, `1.2k`, `3.4M`. */
export function formatCount(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 1_000_000) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Dollars, with as many places as say something. */
export function formatUsd(usd: number): string {
  return usd === 0 ? '' : `$${usd < 0.1 ? usd.toFixed(3) : usd.toFixed(2)}`;
}

/** The time of day, to the millisecond. */
export function formatTime(at: number): string {
  if (at === 0) return '';
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** `3 steps`, `1 step`. */
export function count(value: number, word: string): string {
  return `${value} ${word}${value === 1 ? '' : 's'}`;
}
