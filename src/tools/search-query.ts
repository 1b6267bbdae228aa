import { analyse, hasUnspaced } from './search-analyser.ts';

/** Characters of a query that are looked at. */
const MAX_QUERY_CHARS = 1_600;
/** Distinct terms of a query that are looked at. */
const MAX_QUERY_TERMS = 48;
const MAX_SELECTED = 100;
const MAX_SELECT_CHARS = 16_384;

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
    if (!joinedOf.has(term) && joinedOf.size < MAX_QUERY_TERMS) joinedOf.set(term, []);
    const before = sequence[at - 1];
    const after = sequence[at + 1];
    if (before !== undefined) joinedOf.get(term)?.push(before + term);
    if (after !== undefined) joinedOf.get(term)?.push(term + after);
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
    '(?:get|have|take|find|spare) (?:a|the|some) (?:quick |free )?(?:chance|moment)',
    '(?:have|take) a (?:quick )?look|(?:have|got|spare) a (?:minute|second)',
    '(?:would|do|if) you (?:would |do )?(?:not )?mind|reach(?:ing)? out',
    'if (?:at all )?possible|(?:as|so) (?:soon|quickly) as (?:possible|you can)',
    '(?:be|is|are|was|were) (?:possibly )?able to|not (?:quite |really |entirely )?sure',
    '(?:would|will|could) be (?:great|nice|good|helpful|wonderful|lovely)',
    '(?:best|kind|warm) regards|look(?:ing)? forward(?: to)?',
  ].join('|')})\\b`,
  'gi',
);
/** Orders to whoever reads, such as `ignore previous instructions ...`, to the end of the sentence. */
const ORDERS = new RegExp(
  `\\b(?:${[
    '(?:ignore|disregard|forget|override) [^.!?\\n]{0,40}?\\b(?:instructions?|prompts?|guidelines)',
    '(?:ignore|disregard|forget) (?:all |everything |of )*(?:the )?(?:above|previous|prior|else)',
    '(?:ignore|disregard|forget) everything',
    'you are now|from now on|pretend (?:that )?you are',
  ].join('|')})\\b[^.!?\\n]*`,
  'gi',
);

/** The query without what describes no tool, courtesies and orders to the reader; all of it if that is all. */
function descriptionIn(query: string): string {
  const description = query.replace(ORDERS, ' ').replace(COURTESIES, ' ');
  return /[\p{L}\p{N}]/u.test(description) ? description : query;
}

const MAX_IDENTIFIERS = 8;
/** Words tied together as only identifiers are: `read_file`, `github__list-issues`, `api.getUser`, `getUser`. */
const IDENTIFIER =
  /(?<![A-Za-z0-9])(?:[A-Za-z0-9]+(?:[_.:/-]+[A-Za-z0-9]+)+|[A-Za-z]*[a-z][A-Z][A-Za-z0-9]*)/g;
const LATIN_RUN = /[A-Za-z0-9]+(?:[_.:/-]+[A-Za-z0-9]+)*/g;

/**
 * What stands in a query as the name of a tool would: at most 8 identifiers. Between characters of a script
 * without spaces any Latin word may be one.
 */
export function identifiersIn(query: string): readonly string[] {
  const text = descriptionIn(query.slice(0, MAX_QUERY_CHARS));
  const found = text.match(hasUnspaced(text) ? LATIN_RUN : IDENTIFIER) ?? [];
  return [...new Set(found)].slice(0, MAX_IDENTIFIERS);
}

/**
 * The names of a query of the form `select:a,b` (any case, spaces allowed), at most 100 and each once;
 * `undefined` if it has another form. Whether the names exist is for the index to say.
 */
export function parseSelect(query: string): readonly string[] | undefined {
  const list = /^\s*select\s*:(.*)$/is.exec(query.slice(0, MAX_SELECT_CHARS))?.[1];
  if (list === undefined) return undefined;
  const names = list.split(',').map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ''))].slice(0, MAX_SELECTED);
}
