import type { SearchableTool } from '../../src/tools/search-index.ts';

/** Gives the names of the best tools for a query, best first, at most `limit`. */
export type Search = (query: string, limit: number) => readonly string[];

/** A way to rank tools, as the measurements compare them. */
export interface Ranker {
  readonly name: string;
  build(tools: readonly SearchableTool[]): Search;
}
