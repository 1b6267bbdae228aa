/** What a provider says about when to come back. */
export type RetryHint =
  | { readonly type: 'none' }
  | { readonly type: 'unusable' }
  | { readonly type: 'after'; readonly retryAfterMs: number };

const NONE: RetryHint = { type: 'none' };

/**
 * The hint of response headers: `retry-after-ms`, or `retry-after` in seconds or as a date (measured against
 * `nowMs`). A `retry-after` that says nothing readable is `unusable`. Header names are lower case.
 */
export function readRetryHeaders(headers: { readonly [name: string]: string }, nowMs: number): RetryHint {
  const inMs = decimal(headers['retry-after-ms']);
  if (inMs !== undefined) return { type: 'after', retryAfterMs: inMs };
  const value = headers['retry-after']?.trim();
  if (value === undefined) return NONE;
  const seconds = decimal(value);
  if (seconds !== undefined) return { type: 'after', retryAfterMs: Math.ceil(seconds * 1000) };
  // Dates start with the day's name; Date.parse alone would take numbers for years.
  const date = /^[A-Za-z]{3}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date)
    ? { type: 'unusable' }
    : { type: 'after', retryAfterMs: Math.max(0, date - nowMs) };
}

function decimal(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

const UNIT_MS: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** The wait a sentence names: "try again in 6m0s", "retry after 20 ms", "wait 5 seconds before retrying". */
export function readRetryText(text: string): RetryHint {
  const after =
    /(?:try again|retry|retrying|wait)(?: (?:your )?(?:request|requests))?,? (?:in |after |for )?((?:\d+(?:\.\d+)? ?[a-z]+ ?)+)/i.exec(
      text,
    );
  return after?.[1] === undefined ? NONE : readDuration(after[1]);
}

/** A duration of one or more numbers with units, like `34.07s` or `1h2m`. */
export function readDuration(text: string): RetryHint {
  let total: number | undefined;
  for (const [, amount, unit] of text.matchAll(
    /(\d+(?:\.\d+)?) ?(ms|milliseconds?|s(?=\W|\d|$)|sec(?:onds?)?|m(?=\W|\d|$)|min(?:utes?)?|h(?:ours?)?)/gi,
  )) {
    const word = unit?.toLowerCase() ?? '';
    const scale = word.startsWith('mil') ? 'ms' : word === 'ms' ? 'ms' : word.slice(0, 1);
    total = (total ?? 0) + Number(amount) * (UNIT_MS[scale] ?? 0);
  }
  return total === undefined ? NONE : { type: 'after', retryAfterMs: Math.ceil(total) };
}
