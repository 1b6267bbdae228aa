import { singular } from './search-analyser.ts';
import { BROADER_WORDS } from './search-broader-words.ts';
import { stem } from './search-stemmer.ts';
import { SYNONYM_GROUPS } from './search-synonyms.ts';
import { TRANSLATIONS } from './search-translations.ts';

/** Share of a direct hit that another word for the same thing is worth. */
const SAME_SHARE = 0.2;
const BROADER_SHARE = 0.2;
const NARROWER_SHARE = 0.1;
const TRANSLATION_SHARE = 0.4;

type Relations = ReadonlyMap<string, ReadonlyMap<string, number>>;
const NONE: ReadonlyMap<string, number> = new Map();
let relations: Relations | undefined;
let words: readonly string[] | undefined;

/**
 * The stems related to a stem, each with the share of a direct hit it is worth (below 1). Built from the
 * tables at the first call, some milliseconds, and shared from then on.
 */
export function relatedStems(stemmed: string): ReadonlyMap<string, number> {
  relations ??= readRelations();
  return relations.get(stemmed) ?? NONE;
}

/** Every word of the tables, in the singular. */
export function thesaurusWords(): readonly string[] {
  words ??= [...new Set(`${SYNONYM_GROUPS} ${BROADER_WORDS}`.match(/[a-z]{2,}/g)?.map(singular))];
  return words;
}

function readRelations(): Relations {
  const read = new Map<string, Map<string, number>>();
  const relate = (from: string, to: string, share: number): void => {
    if (from === to) return;
    const related = read.get(from) ?? new Map<string, number>();
    read.set(from, related);
    related.set(to, Math.max(share, related.get(to) ?? 0));
  };
  for (const line of SYNONYM_GROUPS.split(';')) {
    const group = stems(line);
    for (const from of group) for (const to of group) relate(from, to, SAME_SHARE);
  }
  for (const line of BROADER_WORDS.trim().split('\n')) {
    const [broad = '', narrow = ''] = line.split(' : ');
    for (const from of stems(narrow)) {
      for (const to of stems(broad)) {
        relate(from, to, BROADER_SHARE);
        relate(to, from, NARROWER_SHARE);
      }
    }
  }
  for (const line of TRANSLATIONS.trim().split('\n')) {
    const [english = '', others = ''] = line.split(' : ');
    for (const from of stems(english)) {
      for (const to of stems(others)) {
        relate(from, to, TRANSLATION_SHARE);
        relate(to, from, TRANSLATION_SHARE);
      }
    }
  }
  return read;
}

function stems(list: string): readonly string[] {
  return [
    ...new Set(
      list
        .trim()
        .split(/\s+/)
        .map((word) => stem(singular(word))),
    ),
  ];
}
