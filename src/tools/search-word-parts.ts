import { hasUnspaced } from './search-analyser.ts';

/** A word of the index to look for in place of a query term. */
export interface Variant {
  readonly term: string;
  /** Share of a direct hit it is worth. */
  readonly share: number;
}

/** What a term is worth that is only the beginning or a part of the word: this, times their lengths' ratio. */
const PART_SHARE = 0.4;
const MIN_PREFIX = 3;
const MIN_PART = 4;
const MIN_HALF = 3;
const MIN_COMPOUND = 7;
/** Longer words looked at for one prefix: bounds the cost of a query such as `con`. */
const MAX_PREFIXED = 100;

/** Finds the words that begin with a term, and the words of names that hold it further in. */
export function createLongerFinder(
  vocabulary: readonly string[],
  nameTerms: ReadonlySet<string>,
): (term: string) => readonly Variant[] {
  const entries = vocabulary.map((term) => ({ key: term, term }));
  for (const term of nameTerms) {
    for (let at = 1; at + MIN_PART <= term.length; at += 1) entries.push({ key: term.slice(at), term });
  }
  entries.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.term < b.term ? -1 : 1));
  return (term) => {
    const variants: Variant[] = [];
    // One character of a script without spaces says as much as a short word.
    if (term.length < MIN_PREFIX && !hasUnspaced(term)) return variants;
    for (let at = lowerBound(entries, term); at < entries.length; at += 1) {
      const entry = entries[at];
      if (entry === undefined || !entry.key.startsWith(term) || variants.length >= MAX_PREFIXED) break;
      if (entry.key.length < entry.term.length && term.length < MIN_PART) continue;
      if (entry.term !== term) variants.push({ term: entry.term, share: lengthShare(term, entry.term) });
    }
    return variants;
  };
}

function lowerBound(entries: readonly { readonly key: string }[], term: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const key = entries[middle]?.key ?? '';
    if (key < term) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The known words that a term begins with: `description` for `descriptions2`. */
export function findShorter(term: string, known: ReadonlySet<string>): readonly Variant[] {
  const variants: Variant[] = [];
  for (let length = term.length - 1; length >= MIN_PART; length -= 1) {
    const shorter = term.slice(0, length);
    if (known.has(shorter)) variants.push({ term: shorter, share: lengthShare(shorter, term) });
  }
  return variants;
}

function lengthShare(shorter: string, longer: string): number {
  return (PART_SHARE * shorter.length) / longer.length;
}

/**
 * A term of 7 letters or more as two known words of at least 3, the most even pair (`time`, `zone`), or the
 * term itself.
 */
export function splitCompound(term: string, known: ReadonlySet<string>): readonly string[] {
  let found: readonly string[] = [term];
  if (term.length < MIN_COMPOUND) return found;
  let shorterPart = 0;
  for (let at = MIN_HALF; at <= term.length - MIN_HALF; at += 1) {
    const even = Math.min(at, term.length - at);
    const halves = [term.slice(0, at), term.slice(at)];
    if (even <= shorterPart || !halves.every((half) => known.has(half))) continue;
    found = halves;
    shorterPart = even;
  }
  return found;
}
