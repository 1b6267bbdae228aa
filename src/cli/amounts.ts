import type { Totals } from './run-tree.ts';

/** A time span in few characters: `7 ms`, `1.2 s`, `3 min 04 s`, `2 h 05 min`. */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  // Below the next unit after rounding, so that no `60.0 s` comes out.
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const pad = (value: number) => String(value).padStart(2, '0');
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`;
}

/** As {@link formatMs} for something that still runs: whole seconds, so that it changes once a second. */
export function formatElapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return seconds < 60 ? `${seconds} s` : formatMs(seconds * 1_000);
}

/** `1 step`, `2 steps`. */
export function count(amount: number, thing: string): string {
  return `${formatCount(amount)} ${thing}${amount === 1 ? '' : 's'}`;
}

/** A whole number in few characters: `950`, `12.3k`, `4.5M`. */
export function formatCount(amount: number): string {
  if (amount < 10_000) return String(amount);
  if (amount < 999_950) return `${(amount / 1_000).toFixed(1)}k`;
  return `${(amount / 1_000_000).toFixed(1)}M`;
}

/** US dollars with as many decimals as say something. */
export function formatUsd(usd: number): string {
  if (usd > 0 && usd < 0.0001) return '<$0.0001';
  return `$${usd < 0.1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

/** `30 in, 9 out`; a `+` says that a provider left something out. Undefined where nothing is known. */
export function formatTokens(totals: Totals): string | undefined {
  const { inputTokens, outputTokens, isComplete } = totals;
  if (inputTokens === 0 && outputTokens === 0) return undefined;
  return `${formatCount(inputTokens)}${isComplete ? '' : '+'} in, ${formatCount(outputTokens)} out`;
}
