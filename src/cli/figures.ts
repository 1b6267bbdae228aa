/** One figure of an evaluation, with how it is read. */
export interface Figure {
  readonly name: FigureName;
  /** Undefined where there was nothing to measure. */
  readonly value: number | undefined;
}

/** How figures are told, and which way is good. Shares are from 0 to 1. */
export const FIGURES = {
  recall: { label: 'recall@k', unit: 'share', good: 'high' },
  hitAt1: { label: 'best match is right', unit: 'share', good: 'high' },
  empty: { label: 'searches that find nothing', unit: 'share', good: 'low' },
  misses: { label: 'wanted, ranked and cut', unit: 'share', good: 'low' },
  unused: { label: 'exposed and unused schema', unit: 'share', good: 'low' },
  unusedChars: { label: 'its characters, a turn or query', unit: 'chars', good: 'low' },
  repeated: { label: 'repeated searches', unit: 'share', good: 'low' },
  revised: { label: 'revised searches', unit: 'share', good: 'low' },
  hidden: { label: 'calls before their tool was loaded, a turn', unit: 'count', good: 'low' },
  changes: { label: 'changes of the tools, a turn', unit: 'count', good: 'low' },
  firstMs: { label: 'median time to the first success', unit: 'ms', good: 'low' },
  firstSteps: { label: 'median steps to the first success', unit: 'count', good: 'low' },
} as const;

export type FigureName = keyof typeof FIGURES;

/** Bounds a person states: the least of what is better high, the most of what is better low. */
export type FigureLimits = Readonly<Partial<Record<FigureName, number>>>;

/** What is not within its limit, in words. What could not be measured is not within any. */
export function brokenLimits(figures: readonly Figure[], limits: FigureLimits): readonly string[] {
  return Object.entries(limits).flatMap(([name, limit]) => {
    const value = figures.find((figure) => figure.name === name)?.value;
    if (value === undefined) return [`${name} was not measured`];
    // The limits were read by the names of the table.
    const isHigh = FIGURES[name as FigureName].good === 'high';
    const isMet = isHigh ? value >= limit : value <= limit;
    return isMet
      ? []
      : [`${name} is ${shortNumber(value)}, ${isHigh ? 'at least' : 'at most'} ${limit} is asked for`];
  });
}

/** At most four digits behind the point. */
export function shortNumber(value: number): string {
  return String(Number(value.toFixed(4)));
}

/** `part` of `whole`; nothing where there is no whole. */
export function share(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : part / whole;
}

/** The middle of the values; undefined of none. */
export function middle(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const [lower, upper] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return lower === undefined || upper === undefined ? undefined : (lower + upper) / 2;
}
