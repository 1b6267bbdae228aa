import { createSearchIndex, type SearchParts } from '../../src/tools/search-index.ts';
import type { Ranker } from './ranker.ts';

function withParts(name: string, parts: SearchParts): Ranker {
  return {
    name,
    build: (tools) => {
      const index = createSearchIndex(tools, parts);
      return (query, limit) => index.rank(query, { limit }).map((tool) => tool.name);
    },
  };
}

/** The search of this project. */
export const swarmwright: Ranker = withParts('swarmwright', {});

/** The search of this project with one part switched off each. */
export const swarmwrightWithout: readonly Ranker[] = [
  withParts('- schema text', { schemaText: false }),
  withParts('- synonyms', { synonyms: false }),
  withParts('- inflections', { inflections: false }),
  withParts('- parts of words', { wordParts: false }),
  withParts('- compounds', { compounds: false }),
  withParts('- typos', { typos: false }),
  withParts('- cut at 0.4', { cut: false }),
];
