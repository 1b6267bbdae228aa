/** Stems remembered, so that the words of one catalogue after the other are reduced once. */
const MAX_REMEMBERED = 20_000;
const stems = new Map<string, string>();

/**
 * What the inflections of a lower-case English word share, so that `convert`, `converted` and `converting`
 * meet: its stem by Porter's algorithm (1980), taken twice, as endings pile up (`settings`). A key for
 * grouping words, never shown.
 */
export function stem(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const stemmed = porterStem(porterStem(word));
  if (stems.size >= MAX_REMEMBERED) stems.clear();
  stems.set(word, stemmed);
  return stemmed;
}

function porterStem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
  // A y at the start is a consonant; a capital keeps the rules from taking it for a vowel.
  let w = word.startsWith('y') ? `Y${word.slice(1)}` : word;
  w = stripPlural(w);
  w = stripPast(w);
  if (/y$/.test(w) && HAS_VOWEL.test(w.slice(0, -1))) w = `${w.slice(0, -1)}i`;
  w = replaceSuffix(w, DOUBLE_SUFFIXES, MEASURE_OVER_0);
  w = replaceSuffix(w, ADJECTIVE_SUFFIXES, MEASURE_OVER_0);
  w = dropSuffix(w);
  return tidyEnd(w).toLowerCase();
}

const CONSONANTS = '[^aeiou][^aeiouy]*';
const VOWELS = '[aeiouy][aeiou]*';
/** The measure m of a stem is how often vowels are followed by consonants: [C](VC)^m[V]. */
const MEASURE_OVER_0 = new RegExp(`^(?:${CONSONANTS})?${VOWELS}${CONSONANTS}`);
const MEASURE_IS_1 = new RegExp(`^(?:${CONSONANTS})?${VOWELS}${CONSONANTS}(?:${VOWELS})?$`);
const MEASURE_OVER_1 = new RegExp(`^(?:${CONSONANTS})?(?:${VOWELS}${CONSONANTS}){2}`);
const HAS_VOWEL = new RegExp(`^(?:${CONSONANTS})?[aeiouy]`);
const SHORT_END = new RegExp(`^${CONSONANTS}[aeiouy][^aeiouwxy]$`);

const DOUBLE_SUFFIXES = suffixes(
  'ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ' +
    'ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive ' +
    'biliti:ble logi:log',
);
const ADJECTIVE_SUFFIXES = suffixes('icate:ic ative: alize:al iciti:ic ical:ic ful: ness:');
const DROPPED =
  /(?:al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ou|ism|ate|iti|ous|ive|ize|(?<=[st])ion)$/;

function suffixes(pairs: string): ReadonlyMap<string, string> {
  return new Map(
    pairs.split(' ').map((pair): [string, string] => {
      const [suffix = '', replacement = ''] = pair.split(':');
      return [suffix, replacement];
    }),
  );
}

function stripPlural(w: string): string {
  if (/(?:ss|i)es$/.test(w)) return w.slice(0, -2);
  return /[^s]s$/.test(w) ? w.slice(0, -1) : w;
}

function stripPast(w: string): string {
  if (w.endsWith('eed')) return MEASURE_OVER_0.test(w.slice(0, -3)) ? w.slice(0, -1) : w;
  const past = /^(.+?)(?:ed|ing)$/.exec(w)?.[1];
  if (past === undefined || !HAS_VOWEL.test(past)) return w;
  if (/(?:at|bl|iz)$/.test(past)) return `${past}e`;
  if (/([^aeiouylsz])\1$/.test(past)) return past.slice(0, -1);
  return SHORT_END.test(past) ? `${past}e` : past;
}

/** The longest suffix of the table that fits, replaced if the rest is long enough. */
function replaceSuffix(w: string, table: ReadonlyMap<string, string>, isLongEnough: RegExp): string {
  for (let length = Math.min(7, w.length - 1); length >= 3; length -= 1) {
    const replacement = table.get(w.slice(-length));
    if (replacement === undefined) continue;
    const rest = w.slice(0, -length);
    return isLongEnough.test(rest) ? rest + replacement : w;
  }
  return w;
}

function dropSuffix(w: string): string {
  const suffix = DROPPED.exec(w)?.[0];
  if (suffix === undefined) return w;
  const rest = w.slice(0, -suffix.length);
  return MEASURE_OVER_1.test(rest) ? rest : w;
}

function tidyEnd(w: string): string {
  let tidy = w;
  if (tidy.endsWith('e')) {
    const rest = tidy.slice(0, -1);
    if (MEASURE_OVER_1.test(rest) || (MEASURE_IS_1.test(rest) && !SHORT_END.test(rest))) tidy = rest;
  }
  return tidy.endsWith('ll') && MEASURE_OVER_1.test(tidy) ? tidy.slice(0, -1) : tidy;
}
