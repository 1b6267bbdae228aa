import type { BoundTool } from './binding.ts';
import { type Catalogue, searchable } from './catalogue.ts';
import type { RankedTool } from './search-index.ts';
import type { DeadlineClock } from './search-rerank.ts';
import { rerankWithin } from './search-rerank.ts';
import { readSelection, type Selection } from './select-query.ts';

/** Names listed as already callable; more would only cost. */
const MAX_ALREADY_ACTIVE = 20;

/** Bytes of UTF-8 that one search may add to a request, whatever its policy says of characters. */
const MAX_SCHEMA_BYTES = 32 * 1024;

/** What a search asks for. */
export interface ToolQuery {
  readonly query: string;
  /** At least 1. */
  readonly limit: number;
  /** Default: that of the policy. */
  readonly maxSchemaChars?: number;
  readonly signal: AbortSignal;
  readonly clock: DeadlineClock;
}

/** What a policy needs to know of a search beside the query. */
export interface FindScope {
  readonly catalogue: Catalogue;
  /** Names the model could call when the step started. */
  readonly callable: ReadonlySet<string>;
  /** The tool as its source has it now. */
  live(name: string): BoundTool | undefined;
}

/** What a search found, judged against the tools visible when the step started. */
export interface FoundTools {
  /** Names of the ranking, best first, before any bound. */
  readonly ranked: readonly string[];
  /** The longest prefix of the ranking within the bounds; the best match is always in it. */
  readonly found: readonly BoundTool[];
  /** Matches that need no activation. */
  readonly alreadyActive: readonly string[];
  /** Names asked for by name that no tool has. */
  readonly missing: readonly string[];
  /** Names asked for by name that did not fit. */
  readonly omitted: readonly string[];
  readonly omittedByLimit: number;
  readonly omittedByBytes: number;
  readonly schemaChars: number;
}

const NOTHING: FoundTools = {
  ranked: [],
  found: [],
  alreadyActive: [],
  missing: [],
  omitted: [],
  omittedByLimit: 0,
  omittedByBytes: 0,
  schemaChars: 0,
};

/**
 * Finds deferred tools. `callable` are the names the model could call in this step: two searches of one step see the
 * same set, so the order in which they settle cannot matter.
 * Throws what a ranker throws.
 */
export async function findTools(scope: FindScope, query: ToolQuery): Promise<FoundTools> {
  const { catalogue, callable } = scope;
  const text = query.query.trim();
  if (text === '') return NOTHING;
  const named = catalogue.policy.queryForms === 'select' ? readSelection(catalogue, text) : undefined;
  if (named !== undefined) return findNamed(scope, named);
  const ranked = (await rank(catalogue, text, query)).map((tool) => tool.name);
  const live = ranked.filter((name) => scope.live(name) !== undefined);
  const fresh = live.flatMap((name) => (callable.has(name) ? [] : (scope.live(name) ?? [])));
  const alreadyActive = [...directNamed(catalogue, text), ...live.filter((name) => callable.has(name))];
  return {
    ...NOTHING,
    ranked,
    ...bounded(fresh, query.limit, query.maxSchemaChars ?? catalogue.policy.maxSchemaChars),
    alreadyActive: [...new Set(alreadyActive)].slice(0, MAX_ALREADY_ACTIVE),
  };
}

/** Names are taken as they are asked for, however many; only their schemas are bounded. */
function findNamed(scope: FindScope, { names, missing }: Selection): FoundTools {
  const { catalogue, callable } = scope;
  const isGone = (name: string) => catalogue.isDeferred(name) && scope.live(name) === undefined;
  const fresh = names.flatMap((name) => (callable.has(name) ? [] : (scope.live(name) ?? [])));
  const within = bounded(fresh, fresh.length, catalogue.policy.maxSchemaChars);
  return {
    ...within,
    ranked: names,
    alreadyActive: names.filter((name) => callable.has(name) && !isGone(name)),
    missing: [...missing, ...names.filter(isGone)],
    omitted: fresh.slice(within.found.length).map((bound) => bound.name),
  };
}

async function rank(catalogue: Catalogue, text: string, query: ToolQuery): Promise<readonly RankedTool[]> {
  const { policy, deferred } = catalogue;
  const ranked = rankNow(catalogue, text, deferred.length);
  if (policy.reranker === undefined) return ranked;
  const { signal, clock } = query;
  const bounds = { timeoutMs: policy.rerankTimeoutMs, signal, clock };
  return (await rerankWithin(policy.reranker, text, ranked, bounds)).tools;
}

/** The ranking without a reranker. Throws what a ranker throws. */
export function rankNow(catalogue: Catalogue, text: string, limit: number): readonly RankedTool[] {
  const { policy, deferred } = catalogue;
  if (policy.ranker === undefined) {
    return catalogue
      .index()
      .rank(text, { limit })
      .filter(({ name }) => catalogue.isDeferred(name));
  }
  const ranked = policy.ranker(deferred.map(searchable)).rank(text, { limit });
  // A ranker of somebody else may think otherwise: a tool that is asked for by its name comes first.
  const wanted = text.toLowerCase();
  const named = deferred.filter(({ name }) => name.toLowerCase() === wanted);
  const exact = named.map(({ name }): RankedTool => ({ name, score: 1, exact: true }));
  const rest = ranked.filter(({ name }) => catalogue.isDeferred(name) && name.toLowerCase() !== wanted);
  return [...new Map([...exact, ...rest].map((tool) => [tool.name, tool])).values()];
}

/** A direct tool that the query names: said to be callable, so that silence is not read as absence. */
function directNamed(catalogue: Catalogue, text: string): readonly string[] {
  const wanted = text.toLowerCase();
  return catalogue.direct.filter((bound) => bound.name.toLowerCase() === wanted).map((bound) => bound.name);
}

type Bounded = Pick<FoundTools, 'found' | 'omittedByLimit' | 'omittedByBytes' | 'schemaChars'>;

/** The longest beginning of a ranking within the bounds of one search, and what is cut. */
export function bounded(fresh: readonly BoundTool[], limit: number, maxSchemaChars: number): Bounded {
  const found: BoundTool[] = [];
  let schemaChars = 0;
  let bytes = 0;
  for (const bound of fresh.slice(0, limit)) {
    const boundBytes = Buffer.byteLength(JSON.stringify(bound.definition));
    const fits = schemaChars + bound.schemaChars <= maxSchemaChars && bytes + boundBytes <= MAX_SCHEMA_BYTES;
    // The first always fits, or a large tool could never be reached.
    if (found.length > 0 && !fits) break;
    found.push(bound);
    schemaChars += bound.schemaChars;
    bytes += boundBytes;
  }
  const within = Math.min(limit, fresh.length);
  return {
    found,
    schemaChars,
    omittedByLimit: fresh.length - within,
    omittedByBytes: within - found.length,
  };
}
