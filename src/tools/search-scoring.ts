import type { Expander } from './search-expansions.ts';
import type { Postings } from './search-postings.ts';
import type { QueryTerm } from './search-query.ts';
import type { Variant } from './search-word-parts.ts';
import { isCommonWord } from './search-words.ts';

/** How fast repetitions of a term stop to matter. */
const SATURATION = 1.2;
/** What a word common in any question counts beside the others. */
const COMMON_SHARE = 0.7;

/** Scratch space of one query: what the current term gives each document, and which documents it reaches. */
interface Gains {
  readonly ofDocument: Float64Array;
  readonly reached: number[];
}

/**
 * Scores every document for a query by BM25F: a term and its inflections are one concept, summed before
 * saturation; where the best of the term's guesses is worth more, that counts instead. The result is indexed
 * by document, 0 means no match. Costs the postings of at most 48 terms and their variants.
 */
export function scoreDocuments(
  postings: Postings,
  expander: Expander,
  terms: readonly QueryTerm[],
): Float64Array {
  const scores = new Float64Array(postings.size);
  const gains: Gains = { ofDocument: new Float64Array(postings.size), reached: [] };
  for (const { term, joined } of terms) {
    const { core, guesses } = expander.expand(term, joined);
    const importance = addCore(postings, core, gains);
    for (const guess of guesses) addGuess(postings, guess, { gains, importance });
    const share = isCommonWord(term) ? COMMON_SHARE : 1;
    for (const document of gains.reached) {
      scores[document] = at(scores, document) + share * at(gains.ofDocument, document);
      gains.ofDocument[document] = 0;
    }
    gains.reached.length = 0;
  }
  return scores;
}

/** Adds the term and its inflections; gives how telling they are together, if any document holds them. */
function addCore(postings: Postings, core: readonly Variant[], gains: Gains): number | undefined {
  const { ofDocument, reached } = gains;
  for (const { term, share } of core) {
    const found = postings.find(term);
    if (found === undefined) continue;
    const { documents, strengths, from } = found;
    for (let index = 0; index < documents.length; index += 1) {
      const document = documents[index] ?? 0;
      const before = at(ofDocument, document);
      if (before === 0) reached.push(document);
      ofDocument[document] = before + share * at(strengths, from + index);
    }
  }
  if (reached.length === 0) return undefined;
  const importance = rarity(reached.length, postings.size);
  for (const document of reached) ofDocument[document] = importance * saturate(at(ofDocument, document));
  return importance;
}

/** A guess is never taken for more telling than the term it stands for. */
function addGuess(
  postings: Postings,
  guess: Variant,
  { gains, importance }: { readonly gains: Gains; readonly importance: number | undefined },
): void {
  const found = postings.find(guess.term);
  if (found === undefined) return;
  const { ofDocument, reached } = gains;
  const { documents, strengths, from } = found;
  const telling = Math.min(importance ?? Number.POSITIVE_INFINITY, rarity(documents.length, postings.size));
  for (let index = 0; index < documents.length; index += 1) {
    const document = documents[index] ?? 0;
    const gain = telling * saturate(guess.share * at(strengths, from + index));
    const before = at(ofDocument, document);
    if (before === 0) reached.push(document);
    if (gain > before) ofDocument[document] = gain;
  }
}

function rarity(holders: number, size: number): number {
  return Math.log(1 + (size - holders + 0.5) / (holders + 0.5));
}

function saturate(strength: number): number {
  return (strength * (SATURATION + 1)) / (strength + SATURATION);
}

function at(values: Float64Array | Float32Array, index: number): number {
  return values[index] ?? 0;
}
