/** The middle of `values`; of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (upper + lower) / 2;
}

/** `value` to `digits` places, as a number, for tables. */
export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
