/** Words shorter than this have too many neighbours to guess among. */
const MIN_LENGTH = 4;
/** From this length on, two slips are forgiven. */
const LENGTH_FOR_TWO = 8;
const MAX_FOUND = 4;

/** A word of the vocabulary near a mistyped one. */
export interface NearWord {
  readonly word: string;
  /** Slips between the two: a letter missing, added, replaced, or swapped with its neighbour. */
  readonly slips: number;
}

/**
 * Finds the words of a vocabulary that a word of 4 or more letters may be a slip of: one slip, or two from
 * 8 letters on; only the nearest, at most 4, in a fixed order. Words of similar length are compared by
 * their sets of letters first, which leaves a handful for the exact distance.
 */
export function createTypoFinder(vocabulary: readonly string[]): (word: string) => readonly NearWord[] {
  const byLength = new Map<number, { readonly word: string; readonly letters: number }[]>();
  for (const word of vocabulary) {
    if (word.length < MIN_LENGTH - 1 || /\p{N}/u.test(word)) continue;
    const bucket = byLength.get(word.length) ?? [];
    if (bucket.length === 0) byLength.set(word.length, bucket);
    bucket.push({ word, letters: letterSet(word) });
  }
  return (word) => {
    if (word.length < MIN_LENGTH || /\p{N}/u.test(word)) return [];
    const letters = letterSet(word);
    let allowed = word.length < LENGTH_FOR_TWO ? 1 : 2;
    const found: NearWord[] = [];
    for (let length = word.length - allowed; length <= word.length + allowed; length += 1) {
      for (const entry of byLength.get(length) ?? []) {
        // The first letter is rarely wrong: together with a second slip it is not considered.
        const most = entry.word.charCodeAt(0) === word.charCodeAt(0) ? allowed : 1;
        if (countBits(entry.letters ^ letters) > 2 * most) continue;
        const slips = slipsBetween(word, entry.word, most);
        if (slips > most) continue;
        allowed = slips;
        found.push({ word: entry.word, slips });
      }
    }
    return nearest(word, found, allowed);
  };
}

/** The first letter is rarely the mistyped one, so words that share it go first. */
function nearest(typed: string, found: readonly NearWord[], slips: number): readonly NearWord[] {
  const misses = (near: NearWord): number => (near.word[0] === typed[0] ? 0 : 1);
  return found
    .filter((near) => near.slips === slips)
    .sort((a, b) => misses(a) - misses(b) || (a.word < b.word ? -1 : 1))
    .slice(0, MAX_FOUND);
}

function letterSet(word: string): number {
  let set = 0;
  for (let at = 0; at < word.length; at += 1) set |= 1 << (word.charCodeAt(at) & 31);
  return set;
}

function countBits(set: number): number {
  let rest = set - ((set >>> 1) & 0x55555555);
  rest = (rest & 0x33333333) + ((rest >>> 2) & 0x33333333);
  return Math.imul((rest + (rest >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/**
 * Optimal string alignment distance, given up as `most + 1` once it must be larger than `most`. What the two
 * share at their ends is set aside first, which leaves next to nothing of most words.
 */
function slipsBetween(a: string, b: string, most: number): number {
  let start = 0;
  const shorter = Math.min(a.length, b.length);
  while (start < shorter && a.charCodeAt(start) === b.charCodeAt(start)) start += 1;
  let end = 0;
  while (end < shorter - start && a.charCodeAt(a.length - 1 - end) === b.charCodeAt(b.length - 1 - end))
    end += 1;
  const restA = a.slice(start, a.length - end);
  const restB = b.slice(start, b.length - end);
  const longest = Math.max(restA.length, restB.length);
  if (longest <= 1 || restA === '' || restB === '') return longest;
  if (restA.length === 2 && restA === `${restB[1]}${restB[0]}`) return 1;
  return most < 2 ? 2 : alignmentDistance(restA, restB, most);
}

function alignmentDistance(a: string, b: string, most: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const slips = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
        isSwap ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
      current.push(slips);
    }
    if (Math.min(...current) > most) return most + 1;
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
