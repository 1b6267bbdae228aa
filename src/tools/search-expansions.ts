import { createSpeller } from './search-spelling.ts';
import { stem } from './search-stemmer.ts';
import { relatedStems } from './search-thesaurus.ts';
import { createLongerFinder, findShorter, splitCompound, type Variant } from './search-word-parts.ts';

/** What a query term stands for. */
export interface Expansion {
  /** The term itself and its inflections: one concept, counted together. */
  readonly core: readonly Variant[];
  /** Guesses: related, longer, shorter and mistyped words. The best one of a tool counts. */
  readonly guesses: readonly Variant[];
}

/** Parts of the expansion that measurements switch off. Everything is on by default. */
export interface ExpansionParts {
  readonly inflections?: boolean;
  readonly synonyms?: boolean;
  readonly wordParts?: boolean;
  readonly compounds?: boolean;
  readonly typos?: boolean;
}

const INFLECTION_SHARE = 0.8;
const JOINED_SHARE = 0.8;
const TYPO_SHARE = 0.7;
/** A term that no tool holds in any inflection leans on its guesses: they count this much more. */
const UNKNOWN_GAIN = 2;
/** Expansions remembered: queries of a catalogue use the same words over and over. */
const MAX_REMEMBERED = 2_000;

/** Expands query terms against one vocabulary. What it gives depends on nothing asked before. */
export interface Expander {
  /** `joined` are the compounds that the term forms with its neighbours in the query. */
  expand(term: string, joined: readonly string[]): Expansion;
  /** The two known words that an unknown term is made of, or the term itself. */
  split(term: string): readonly string[];
}

/**
 * Prepares the expansion of terms against a vocabulary. `nameTerms` are the words of tool names: only in
 * those is a term also found inside a word (`weather` in `getmyweather`).
 */
export function createExpander(
  vocabulary: readonly string[],
  nameTerms: ReadonlySet<string>,
  parts: ExpansionParts = {},
): Expander {
  const known = new Set(vocabulary);
  const remembered = new Map<string, Expansion>();
  // A word that is known in some form is no compound, however it may be cut.
  const isSplittable = (term: string): boolean =>
    parts.compounds !== false && !known.has(term) && relatedStems(stem(term)).size === 0;
  const expandWord = createWordExpander(vocabulary, nameTerms, parts);
  return {
    expand: (term, joined) => {
      let expansion = remembered.get(term);
      if (expansion === undefined) {
        expansion = expandWord(term);
        if (remembered.size >= MAX_REMEMBERED) remembered.clear();
        remembered.set(term, expansion);
      }
      const compounds = parts.compounds === false ? [] : joined.filter((word) => known.has(word));
      if (compounds.length === 0) return expansion;
      const more = compounds.map((word) => ({ term: word, share: JOINED_SHARE }));
      return { core: [...expansion.core, ...more], guesses: expansion.guesses };
    },
    split: (term) => (isSplittable(term) ? splitCompound(term, known) : [term]),
  };
}

function createWordExpander(
  vocabulary: readonly string[],
  nameTerms: ReadonlySet<string>,
  parts: ExpansionParts,
): (term: string) => Expansion {
  const known = new Set(vocabulary);
  const byStem = groupByStem(vocabulary);
  const findLonger = createLongerFinder(vocabulary, nameTerms);
  const findTypos = createSpeller(vocabulary);
  const related = (stemmed: string): readonly Variant[] => {
    const variants: Variant[] = [];
    for (const [other, share] of parts.synonyms === false ? [] : relatedStems(stemmed)) {
      for (const term of byStem.get(other) ?? []) variants.push({ term, share });
    }
    return variants;
  };
  const inflected = (term: string, stemmed: string): readonly Variant[] => {
    if (parts.inflections === false) return known.has(term) ? [{ term, share: 1 }] : [];
    const forms = byStem.get(stemmed) ?? [];
    // Where the form asked for does not occur, the plainest one stands for it.
    const closest = known.has(term) ? term : shortest(forms);
    return forms.map((form) => ({ term: form, share: form === closest ? 1 : INFLECTION_SHARE }));
  };
  /** What a mistyped word may be meant for; nothing if it is a function word once corrected. */
  const corrected = (term: string, stemmed: string): readonly Variant[] => {
    // A word the thesaurus knows is spelt right, whether or not a tool uses it.
    if (parts.typos === false || relatedStems(stemmed).size > 0) return [];
    return findTypos(term).flatMap(({ word, slips }) => {
      const root = stem(word);
      const forms = byStem.get(root) ?? [];
      // Once corrected, a word of the catalogue is as good as known and gets no gain for being unknown.
      const share = TYPO_SHARE / slips / (forms.length > 0 ? UNKNOWN_GAIN : 1);
      const others = related(root).map((other) => ({ term: other.term, share: share * other.share }));
      return [...forms.map((form) => ({ term: form, share })), ...others];
    });
  };
  return (term) => {
    // A plural made plural again (`photoss`) lost only one of its endings in the analysis.
    const isTwicePlural = term.endsWith('ss') && !byStem.has(stem(term));
    const stemmed = stem(isTwicePlural ? term.slice(0, -2) : term);
    const core = inflected(term, stemmed);
    const lengths = parts.wordParts === false ? [] : [...findLonger(term), ...findShorter(term, known)];
    const guesses = [...related(stemmed), ...lengths];
    if (core.length > 0) return { core, guesses: best(guesses, core, 1) };
    return { core, guesses: best([...guesses, ...corrected(term, stemmed)], core, UNKNOWN_GAIN) };
  };
}

function groupByStem(vocabulary: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const term of vocabulary) {
    const stemmed = stem(term);
    const group = groups.get(stemmed);
    if (group === undefined) groups.set(stemmed, [term]);
    else group.push(term);
  }
  return groups;
}

function shortest(words: readonly string[]): string | undefined {
  return words.reduce<string | undefined>(
    (least, word) => (least === undefined || word.length < least.length ? word : least),
    undefined,
  );
}

/** One variant for each term, the best, without those that are in the core anyway. */
function best(guesses: readonly Variant[], core: readonly Variant[], gain: number): readonly Variant[] {
  const shares = new Map<string, number>();
  for (const { term, share } of guesses) shares.set(term, Math.max(share, shares.get(term) ?? 0));
  for (const { term } of core) shares.delete(term);
  return Array.from(shares, ([term, share]) => ({ term, share: share * gain }));
}
