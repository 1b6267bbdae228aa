import { analyse } from './search-analyser.ts';

/** Characters of a query that are looked at. */
export const MAX_QUERY_CHARS = 1_600;
/** Distinct terms of a query that are looked at. */
export const MAX_QUERY_TERMS = 48;
const MAX_SELECTED = 100;

/** One distinct term of a query. */
export interface QueryTerm {
  readonly term: string;
  /** The compounds it forms with the words before and after it: `mindmap` for `mind` in `mind map`. */
  readonly joined: readonly string[];
}

/**
 * The distinct terms of a query in their order: of its first 1,600 characters at most 48. `split` may replace
 * a term by the words it is made of.
 */
export function readQuery(
  query: string,
  split: (term: string) => readonly string[] = (term) => [term],
): readonly QueryTerm[] {
  const sequence = analyse(descriptionIn(query.slice(0, MAX_QUERY_CHARS))).flatMap((term) => split(term));
  const joinedOf = new Map<string, string[]>();
  sequence.forEach((term, at) => {
    const joined = joinedOf.get(term) ?? [];
    if (joined.length === 0) {
      if (joinedOf.size === MAX_QUERY_TERMS) return;
      joinedOf.set(term, joined);
    }
    const before = sequence[at - 1];
    const after = sequence[at + 1];
    if (before !== undefined) joined.push(before + term);
    if (after !== undefined) joined.push(term + after);
  });
  return Array.from(joinedOf, ([term, joined]) => ({ term, joined }));
}

/** Set phrases of politeness: their words would count alone (`course`, `time`, `morning`). */
const COURTESIES = new RegExp(
  `\\b(?:${[
    'good (?:morning|afternoon|evening|day)',
    'hope [^.!?\\n]{0,40}?\\bwell\\b[^.,!?\\n]*',
    'do(?:ing)? (?:well|great|fine|good)',
    '(?:have|having) a (?:great|good|nice|lovely|wonderful) (?:day|week|time|one)',
    'of course|by the way|in advance|for a while|sort of thing|(?:so|very) kind|no (?:rush|hurry|worries)',
    'take your time|(?:for|of) your time|at your earliest convenience',
    '(?:get|have|take|find|spare) (?:a|the|some) (?:quick )?(?:chance|moment|minute|second|look|time)',
    '(?:would|do|if) you (?:would |do )?(?:not )?mind|reach(?:ing)? out',
    'if (?:at all )?possible|(?:as|so) (?:soon|quickly) as (?:possible|you can)',
    '(?:be|is|are|was|were) (?:possibly )?able to|not (?:quite |really |entirely )?sure',
    '(?:would|will|could) be (?:great|nice|good|helpful|wonderful|lovely)',
    '(?:best|kind|warm) regards|all the best|look(?:ing)? forward(?: to)?',
  ].join('|')})\\b`,
  'gi',
);
/** Orders to whoever reads, such as `ignore previous instructions ...` to the end of the sentence. */
const ORDERS =
  /\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,60}?\b(?:instructions?|prompts?|rules?|guidelines|above|previous|prior|earlier)\b[^.!?\n]*/gi;

/** The query without what describes no tool: courtesies, and orders to the reader. All of it if no more is there. */
function descriptionIn(query: string): string {
  const description = query.replace(ORDERS, ' ').replace(COURTESIES, ' ');
  return /[\p{L}\p{N}]/u.test(description) ? description : query;
}

/**
 * The names of a query of the form `select:a,b` (any case, spaces allowed), at most 100 and each once;
 * `undefined` if it has another form. Whether the names exist is for the index to say.
 */
export function parseSelect(query: string): readonly string[] | undefined {
  const list = /^\s*select\s*:(.*)$/is.exec(query)?.[1];
  if (list === undefined) return undefined;
  const names = list.split(',').map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ''))].slice(0, MAX_SELECTED);
}
