import { thesaurusWords } from './search-thesaurus.ts';
import { createTypoFinder } from './search-typos.ts';
import { functionWords } from './search-words.ts';

type TypoFinder = ReturnType<typeof createTypoFinder>;
let findEnglish: TypoFinder | undefined;

/**
 * What a word may be a slip of: the words of the tools, or those of the thesaurus and those that say
 * nothing. Prepared at the first unknown word; the English part is shared by all indexes.
 */
export function createSpeller(vocabulary: readonly string[]): TypoFinder {
  let findOwn: TypoFinder | undefined;
  return (word) => {
    findOwn ??= createTypoFinder(vocabulary);
    findEnglish ??= createTypoFinder([...thesaurusWords(), ...functionWords()]);
    const own = findOwn(word);
    const english = findEnglish(word);
    const least = Math.min(
      own[0]?.slips ?? Number.POSITIVE_INFINITY,
      english[0]?.slips ?? Number.POSITIVE_INFINITY,
    );
    return [...own, ...english].filter(({ slips }) => slips === least);
  };
}
