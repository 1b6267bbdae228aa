import { createTextAnalyser } from './search-analyser.ts';
import { createExpander, type ExpansionParts } from './search-expansions.ts';
import { createNameResolver, type NameResolver } from './search-names.ts';
import { buildPostings, type DocumentTerms } from './search-postings.ts';
import { readQuery } from './search-query.ts';
import { schemaText } from './search-schema-text.ts';
import { scoreDocuments } from './search-scoring.ts';

/** What a search may know of a tool. */
export interface SearchableTool {
  /** The canonical name, unique in the catalogue. */
  readonly name: string;
  readonly group?: string;
  /** Other names under which it is found exactly. */
  readonly aliases?: readonly string[];
  readonly description: string;
  /** A JSON Schema object; anything else counts as a tool without parameters. */
  readonly inputSchema: unknown;
}

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
const MAX_NAME_CHARS = 512;
const MAX_LABEL_CHARS = 1_024;
const MAX_DESCRIPTION_CHARS = 8_192;
const MAX_LEAD_CHARS = 200;
const LEAD_CHARS = 100;

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
      const terms = readQuery(query, expander().split);
      const scores = scoreDocuments(postings, expander(), terms);
      return order({ tools: ordered, scores, exact: resolver()(query), cut: parts.cut !== false, limit });
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

function readTool(
  tool: SearchableTool,
  analyse: (text: string) => string[],
  withSchema: boolean,
): DocumentTerms {
  const name = analyse(tool.name.slice(0, MAX_NAME_CHARS));
  const labels = [tool.group ?? '', ...(tool.aliases ?? [])].join('\n').slice(0, MAX_LABEL_CHARS);
  const description = tool.description.slice(0, MAX_DESCRIPTION_CHARS).trimStart();
  const lead = leadLength(description);
  return {
    name,
    label: [...new Set(analyse(labels))].filter((term) => !name.includes(term)),
    lead: analyse(description.slice(0, lead)),
    rest: analyse(description.slice(lead)),
    schema: withSchema ? analyse(schemaText(tool.inputSchema)) : [],
  };
}

/** Where the first sentence ends: descriptions say first what a tool does, then how and when. */
function leadLength(description: string): number {
  const end = description.slice(0, MAX_LEAD_CHARS).search(/[.!?\n](?:\s|$)|\u3002/);
  return end < 20 ? Math.min(description.length, LEAD_CHARS) : end;
}

/** The ordinals named in the closest of the forms found. */
function closest(found: ReturnType<NameResolver>): readonly number[] {
  const least = Math.min(...found.values());
  return [...found].filter(([, distance]) => distance === least).map(([ordinal]) => ordinal);
}

interface Ordering {
  readonly tools: readonly SearchableTool[];
  readonly scores: Float64Array;
  /** How far the query is from the name of each tool it names exactly. */
  readonly exact: ReturnType<NameResolver>;
  readonly cut: boolean;
  readonly limit: number;
}

function order({ tools, scores, exact, cut, limit }: Ordering): readonly RankedTool[] {
  let best = 0;
  for (const score of scores) if (score > best) best = score;
  const least = cut ? best * CUT_SHARE : 0;
  const matches: { readonly ordinal: number; readonly score: number; readonly distance: number }[] = [];
  for (let ordinal = 0; ordinal < scores.length; ordinal += 1) {
    const score = scores[ordinal] ?? 0;
    const distance = exact.get(ordinal) ?? Number.POSITIVE_INFINITY;
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
    exact: distance < Number.POSITIVE_INFINITY,
  }));
}
