import { isFunctionWord } from './search-words.ts';

/** Longer runs of letters are cut here: no name or word is, and keys stay small. */
const MAX_WORD_LENGTH = 64;
/** Distinct words an analyser remembers; hostile text cannot make it hold more. */
const MAX_REMEMBERED = 20_000;

/** Scripts written without spaces: a run of them becomes overlapping pairs of characters. */
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\u30fc';
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u');
/** A run of an unspaced script, an acronym with an ending, an acronym, a word with or without a capital, digits, the rest. */
const PARTS = new RegExp(
  `[${UNSPACED}]+|\\p{Lu}{2,}(?:s|ing)(?!\\p{L})|\\p{Lu}+(?!\\p{Ll})|\\p{Lu}?\\p{Ll}+|\\p{N}+|[[\\p{L}\\p{M}]--[${UNSPACED}]]+`,
  'gv',
);
const ASCII_PARTS = /[A-Z]{2,}(?:s|ing)(?![A-Za-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII is what is meant.
const ASCII_ONLY = /^[\x00-\x7f]*$/;
const POSSESSIVE = /['\u2019][sS](?![A-Za-z])/g;
const APOSTROPHE = /['\u2019]/g;
const ACCENTS = /[\u0300-\u036f]/g;

/** True if some of the text is in a script written without spaces between words. */
export function hasUnspaced(text: string): boolean {
  return HAS_UNSPACED.test(text);
}

/**
 * The words of a text in lower case, in order: split at everything that is no letter or digit, at changes
 * of case (`readFile`, `HTTPServer`) and between letters and digits; compatibility forms and accents
 * folded, a possessive `'s` dropped; scripts without spaces as overlapping pairs. Linear in the text.
 */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  for (const part of partsOf(text)) appendWords(part, words);
  return words;
}

function partsOf(text: string): readonly string[] {
  const joined = /['\u2019]/.test(text) ? text.replace(POSSESSIVE, '').replace(APOSTROPHE, '') : text;
  if (ASCII_ONLY.test(joined)) return joined.match(ASCII_PARTS) ?? [];
  return joined.normalize('NFKD').replace(ACCENTS, '').normalize('NFKC').match(PARTS) ?? [];
}

function appendWords(part: string, words: string[]): void {
  if (!HAS_UNSPACED.test(part)) {
    words.push(part.slice(0, MAX_WORD_LENGTH).toLowerCase());
    return;
  }
  const characters = [...part];
  if (characters.length === 1) words.push(part);
  for (let at = 0; at + 1 < characters.length; at += 1) words.push(`${characters[at]}${characters[at + 1]}`);
}

const IRREGULAR: ReadonlyMap<string, string> = new Map(
  (
    'people:person children:child men:man women:woman feet:foot indices:index matrices:matrix ' +
    'vertices:vertex criteria:criterion caches:cache headaches:headache news:news canvas:canvas lens:lens ' +
    'atlas:atlas alias:alias bias:bias https:https always:always series:series species:species'
  )
    .split(' ')
    .map((pair): [string, string] => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)]),
);

/** The singular of a lower-case English word; words that only look plural (`status`, `news`) stay. */
export function singular(word: string): string {
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined) return irregular;
  // One spelling for `movie` and `movies`, which the rule for `queries` turns into the same word.
  if (word.length > 4 && word.endsWith('ie')) return `${word.slice(0, -2)}y`;
  if (word.length < 4 || !word.endsWith('s') || /(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith('ies')) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
  if (/(?:ch|sh|x|ss|zz)es$|[^oa]uses$/.test(word)) return word.slice(0, -2);
  if (word.length > 5 && word.endsWith('oes')) return word.slice(0, -2);
  return word.slice(0, -1);
}

/**
 * The terms of a text, in order and with repetitions: its words without function words, in the singular.
 * Index and queries use the same analysis. If only function words are there, they are the terms.
 */
export function analyse(text: string): string[] {
  const words = splitWords(text);
  const telling = words.filter((word) => !isFunctionWord(word));
  return (telling.length > 0 ? telling : words).map(singular);
}

/**
 * {@link analyse} for many texts in a row, several times faster: words seen before are not analysed again.
 * Differs in one thing: a text of function words alone has no terms, as it would only match by accident.
 */
export function createTextAnalyser(): (text: string) => string[] {
  // Keyed by the part as written, so that even lower-casing is done once. '' stands for a function word.
  const termOf = new Map<string, string>();
  const remember = (part: string): string => {
    const word = part.slice(0, MAX_WORD_LENGTH).toLowerCase();
    const term = isFunctionWord(word) ? '' : singular(word);
    if (termOf.size < MAX_REMEMBERED) termOf.set(part, term);
    return term;
  };
  return (text) => {
    const terms: string[] = [];
    for (const part of partsOf(text)) {
      const known = termOf.get(part);
      if (known === undefined && HAS_UNSPACED.test(part)) {
        appendWords(part, terms);
        continue;
      }
      const term = known ?? remember(part);
      if (term !== '') terms.push(term);
    }
    return terms;
  };
}
