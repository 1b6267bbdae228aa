import { createTextAnalyser } from './search-analyser.ts';
import { readTool, type SearchableTool } from './search-documents.ts';
import { createExpander, type ExpansionParts } from './search-expansions.ts';
import { createNameResolver, type NameResolver } from './search-names.ts';
import { buildPostings } from './search-postings.ts';
import { identifiersIn, readQuery } from './search-query.ts';
import { scoreDocuments } from './search-scoring.ts';

export type { SearchableTool } from './search-documents.ts';

/** One result of a ranking. */
export interface RankedTool {
  readonly name: string;
  /** Above 0; comparable within one ranking only. */
  readonly score: number;
  /** True if the query is a name of this tool: canonical, alias or without group, in any case style. */
  readonly exact: boolean;
}

/** Ranks the tools of one catalogue for a query. */
export interface ToolRanker {
  /**
   * The best tools first, at most `limit` (default 5): those the query names exactly, then those that match
   * its words at least 0.4 times as well as the best, equals in the order of their names. Empty for a blank
   * query and where nothing matches. Looks at 1,600 characters and 48 distinct words of the query.
   */
  rank(query: string, options?: { readonly limit?: number }): readonly RankedTool[];
}

/** A {@link ToolRanker} that also resolves names. */
export interface ToolSearchIndex extends ToolRanker {
  /**
   * The canonical names that `name` denotes exactly, the closest form only: several where tools of different
   * groups share a bare name, none where no tool is named so.
   */
  resolve(name: string): readonly string[];
}

/** Parts of the search that measurements switch off one by one. Everything is on by default. */
export interface SearchParts extends ExpansionParts {
  readonly schemaText?: boolean;
  readonly cut?: boolean;
}

const DEFAULT_LIMIT = 5;
/** Results below this share of the best score are left out: they cost schema and are seldom wanted. */
const CUT_SHARE = 0.4;

/**
 * Builds the search over a catalogue: immutable afterwards, to be built once for a set of tools and shared.
 * Names, groups, aliases, descriptions and parameters are searched. The order of `tools` changes nothing; of
 * two tools with one name, one is kept. Reads bounded amounts of text of each tool, so that hostile ones
 * cost no more than others. `parts` is for measurements.
 */
export function createSearchIndex(
  tools: readonly SearchableTool[],
  parts: SearchParts = {},
): ToolSearchIndex {
  const ordered = inNameOrder(tools);
  const analyse = createTextAnalyser();
  const documents = ordered.map((tool) => readTool(tool, analyse, parts.schemaText !== false));
  const postings = buildPostings(documents);
  const nameTerms = documents.map((document) => document.name);
  const expander = once(() => createExpander(postings.vocabulary, new Set(nameTerms.flat()), parts));
  const resolver = once(() => createNameResolver(ordered));
  return {
    rank: (query, options) => {
      const limit = readLimit(options?.limit);
      const scores = scoreDocuments(postings, expander(), readQuery(query, expander().split));
      const named = findNamed(query, resolver());
      return order({ tools: ordered, scores, named, cut: parts.cut !== false, limit });
    },
    resolve: (name) => closest(resolver()(name)).map((ordinal) => ordered[ordinal]?.name ?? ''),
  };
}

/** Prepared at the first search: most turns make none, and the tables cost as much as a third of the build. */
function once<T>(prepare: () => T): () => T {
  let prepared: { readonly value: T } | undefined;
  return () => {
    prepared ??= { value: prepare() };
    return prepared.value;
  };
}

function readLimit(limit: number | undefined): number {
  return limit === undefined || Number.isNaN(limit) ? DEFAULT_LIMIT : Math.max(0, Math.floor(limit));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function inNameOrder(tools: readonly SearchableTool[]): readonly SearchableTool[] {
  const sorted = [...tools].sort(
    (a, b) => compareText(a.name, b.name) || compareText(a.description, b.description),
  );
  return sorted.filter((tool, at) => at === 0 || tool.name !== sorted[at - 1]?.name);
}

/** Behind the forms of an exact name: the query names the tool among other words. */
const MENTIONED = 10;
/** A word that names more tools than this was not meant as a name. */
const MAX_MENTIONED = 3;

/** How far the query is from naming each tool that it names, as a whole or in passing. */
function findNamed(query: string, resolve: NameResolver): ReadonlyMap<number, number> {
  const named = new Map(resolve(query));
  for (const identifier of identifiersIn(query)) {
    const meant = closest(resolve(identifier));
    if (meant.length > MAX_MENTIONED) continue;
    for (const ordinal of meant) if (!named.has(ordinal)) named.set(ordinal, MENTIONED);
  }
  return named;
}

/** The ordinals named in the closest of the forms found. */
function closest(found: ReturnType<NameResolver>): readonly number[] {
  const least = Math.min(...found.values());
  return [...found].filter(([, distance]) => distance === least).map(([ordinal]) => ordinal);
}

interface Ordering {
  readonly tools: readonly SearchableTool[];
  readonly scores: Float64Array;
  readonly named: ReadonlyMap<number, number>;
  readonly cut: boolean;
  readonly limit: number;
}

function order({ tools, scores, named, cut, limit }: Ordering): readonly RankedTool[] {
  let best = 0;
  for (const score of scores) if (score > best) best = score;
  const least = cut ? best * CUT_SHARE : 0;
  const matches: { readonly ordinal: number; readonly score: number; readonly distance: number }[] = [];
  for (let ordinal = 0; ordinal < scores.length; ordinal += 1) {
    const score = scores[ordinal] ?? 0;
    const distance = named.get(ordinal) ?? Number.POSITIVE_INFINITY;
    if (distance < Number.POSITIVE_INFINITY) matches.push({ ordinal, score: best > 0 ? best : 1, distance });
    else if (score > 0 && score >= least) matches.push({ ordinal, score, distance });
  }
  matches.sort(
    (a, b) =>
      (a.distance === b.distance ? 0 : a.distance - b.distance) || b.score - a.score || a.ordinal - b.ordinal,
  );
  return matches.slice(0, limit).map(({ ordinal, score, distance }) => ({
    name: tools[ordinal]?.name ?? '',
    score,
    exact: distance < MENTIONED,
  }));
}
