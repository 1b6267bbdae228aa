import { Document } from 'flexsearch';
import type { Ranker } from './ranker.ts';

/** FlexSearch as its manual begins: a document index over name and description, with suggestions. */
export const flexsearchDefault: Ranker = {
  name: 'FlexSearch, defaults',
  build: (tools) => {
    const index = new Document({ document: { id: 'id', index: ['name', 'description'] } });
    tools.forEach(({ name, description }, id) => {
      index.add({ id, name, description });
    });
    return (query, limit) => {
      const found = index.search(query, { suggest: true, limit });
      const ids = new Set(found.flatMap((field) => ('result' in field ? field.result : [])));
      return [...ids].slice(0, limit).map((id) => tools[Number(id)]?.name ?? '');
    };
  },
};
