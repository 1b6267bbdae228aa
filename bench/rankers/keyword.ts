import type { Ranker } from './ranker.ts';

const NAME_WORD = 3;
const NAME_PART = 2;
const DESCRIPTION_PART = 1;

function words(text: string): readonly string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1);
}

/** The usual home-made scorer: points for each word of the query, more for the name than for the description. */
export const keywordScorer: Ranker = {
  name: 'keyword scorer',
  build: (tools) => {
    const documents = tools.map(({ name, description }) => ({
      name,
      nameText: name.toLowerCase(),
      nameWords: new Set(words(name)),
      description: description.toLowerCase(),
    }));
    return (query, limit) => {
      const asked = [...new Set(words(query))];
      const scored = documents.map(({ name, nameText, nameWords, description }) => {
        let score = 0;
        for (const word of asked) {
          if (nameWords.has(word)) score += NAME_WORD;
          else if (nameText.includes(word)) score += NAME_PART;
          if (description.includes(word)) score += DESCRIPTION_PART;
        }
        return { name, score };
      });
      return scored
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
        .slice(0, limit)
        .map(({ name }) => name);
    };
  },
};
