import { stem } from './search-stemmer.ts';

/** Words as a set, from lines of text: lists stay readable and diffs stay small. */
function wordSet(lines: string): ReadonlySet<string> {
  return new Set(lines.trim().split(/\s+/));
}

/**
 * Function words and courtesies: they say nothing about which tool is meant. Verbs of tools (`get`, `find`,
 * `make`, `set`, ...) are left out on purpose.
 */
const FUNCTION_WORDS = wordSet(`
  a an the this that these those it its itself i im ive id ill me my mine myself we us our ours ourselves
  you your yours youre youve yourself he him his himself she her hers herself they them their theirs
  theyre themselves who whom whose which what whats when where wheres why how there theres thats here heres
  is isnt am are arent was wasnt were werent be been being do does doesnt dont did didnt doing done
  has hasnt have havent had having can cannot cant could couldnt will wont would wouldnt shall should
  shouldnt may might must ought
  and or but nor if then else than so because as while until unless whether though although however
  of in on at by for with about against between into through during before after above below to from
  up down out off over under again further onto upon within without via per
  no not only own same too very just also already still yet even ever never
  all any both each few more most other others another some such much many several every either neither
  something anything everything nothing someone anyone everyone nobody somebody anybody everybody
  please kindly want wants wanted need needs needed like would let lets help helps helping wish hope
  thanks thank hello hi hey dear greetings sir madam
  grateful gratefully appreciate appreciated appreciation gladly politely respectfully sorry apologize
  apologies excuse pardon bother bothering trouble favor favour kindness patience regards sincerely truly
  greatly wonderful wondering wonder hopefully possibly perhaps maybe
  courtesy humbly convenience whenever rush hurry urgently struggling
  absolutely definitely basically literally honestly certainly obviously totally essentially generally
  usually normally typically probably extremely highly fairly
  etc eg ie vs`);

/**
 * Words that are common in questions to anything: they count, but less than the words they stand beside.
 * Rarity among a few hundred tools cannot tell this, because such words are rare there.
 */
const COMMON_WORDS = wordSet(`
  find get show give tell know look see go come take make use using used try work say think feel keep put
  seem run turn start begin hold bring happen provide include including set offer allow
  way thing lot kind sort part bit people person man woman family friend day today year month week time
  place world life home country good best better great nice new old big small large little long short high
  low right left different various specific particular certain first last next recent latest current
  interesting important useful available possible able easy quick fast free full real sure ready interested
  interest looking curious trying going thinking planning information info detail data result list number
  name type one two three four five six seven eight nine ten now around back well really actually currently
  recently simply easily quickly idea question problem issue option example based related according
  following together along across almost enough quite rather tool instead previous instruction request
  ask moment advance colleague boss told said heard mean meant mind whole fine okay morning afternoon evening night`);

/** Words that only look like function words with an ending. */
const TELLING_WORDS: ReadonlySet<string> = new Set(['mining', 'theming', 'outing', 'cans', 'wills']);

const COMMON_STEMS: ReadonlySet<string> = new Set(Array.from(COMMON_WORDS, stem));

/** All function words and courtesies. */
export function functionWords(): Iterable<string> {
  return FUNCTION_WORDS;
}

/** True for a function word or courtesy, also with an ending: `wanting`, `hopes`. */
export function isFunctionWord(word: string): boolean {
  if (FUNCTION_WORDS.has(word)) return true;
  if (word.length < 4 || TELLING_WORDS.has(word)) return false;
  if (word.endsWith('ing')) {
    const base = word.slice(0, -3);
    return FUNCTION_WORDS.has(base) || FUNCTION_WORDS.has(`${base}e`);
  }
  if (!word.endsWith('s')) return false;
  return FUNCTION_WORDS.has(word.slice(0, -1)) || FUNCTION_WORDS.has(word.replace(/es$/, ''));
}

/** True for a word, in any inflection, that counts less than the words it stands beside. */
export function isCommonWord(word: string): boolean {
  return COMMON_WORDS.has(word) || COMMON_STEMS.has(stem(word));
}
