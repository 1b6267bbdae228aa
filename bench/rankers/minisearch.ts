import MiniSearch, { type SearchOptions } from 'minisearch';
import { analyse, createTextAnalyser } from '../../src/tools/search-analyser.ts';
import { schemaText } from '../../src/tools/search-schema-text.ts';
import type { Ranker } from './ranker.ts';

/** MiniSearch as its manual begins, over name and description. */
export const minisearchDefault: Ranker = {
  name: 'MiniSearch, defaults',
  build: (tools) => {
    const index = new MiniSearch({ fields: ['name', 'description'] });
    index.addAll(tools.map(({ name, description }, id) => ({ id, name, description })));
    return (query, limit) =>
      index
        .search(query)
        .slice(0, limit)
        .map(({ id }) => tools[Number(id)]?.name ?? '');
  },
};

function tuned(name: string, options: SearchOptions): Ranker {
  return {
    name,
    build: (tools) => {
      const index = new MiniSearch({
        fields: ['name', 'description', 'schema'],
        tokenize: createTextAnalyser(),
        processTerm: (term) => term,
        searchOptions: { tokenize: analyse, boost: { name: 2, schema: 0.3 }, ...options },
      });
      index.addAll(
        tools.map(({ name: tool, description, inputSchema }, id) => ({
          id,
          name: tool,
          description,
          schema: schemaText(inputSchema),
        })),
      );
      return (query, limit) =>
        index
          .search(query)
          .slice(0, limit)
          .map(({ id }) => tools[Number(id)]?.name ?? '');
    },
  };
}

/** The honest opponent: MiniSearch with our analyser and our fields, weighed as ours. */
export const minisearchTuned: Ranker = tuned('MiniSearch, same analyser and fields', {});

/** The same with what it offers for longer and mistyped words. */
export const minisearchFuzzy: Ranker = tuned('MiniSearch, same, prefix and fuzzy', {
  prefix: (term) => term.length >= 3,
  fuzzy: 0.2,
});
