import type { BoundTool } from './binding.ts';
import { type Catalogue, searchable } from './catalogue.ts';
import type { RankedTool } from './search-index.ts';
import type { DeadlineClock } from './search-rerank.ts';
import { rerankWithin } from './search-rerank.ts';

/** Names listed as already callable; more would only cost. */
const MAX_ALREADY_ACTIVE = 20;

/** What a search asks for. */
export interface ToolQuery {
  readonly query: string;
  /** At least 1. */
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly clock: DeadlineClock;
}

/** What a search found, judged against the tools visible when the step started. */
export interface FoundTools {
  /** Names of the ranking, best first, before any bound. */
  readonly ranked: readonly string[];
  /** The longest prefix of the ranking within the bounds; the best match is always in it. */
  readonly found: readonly BoundTool[];
  /** Matches that need no activation. */
  readonly alreadyActive: readonly string[];
  readonly omittedByLimit: number;
  readonly omittedByBytes: number;
  readonly schemaChars: number;
}

const NOTHING: FoundTools = {
  ranked: [],
  found: [],
  alreadyActive: [],
  omittedByLimit: 0,
  omittedByBytes: 0,
  schemaChars: 0,
};

/**
 * Finds deferred tools. `visible` are the names the model could call in this step: two searches of one step see the
 * same set, so the order in which they settle cannot matter.
 * Throws what a ranker throws.
 */
export async function findTools(
  catalogue: Catalogue,
  visible: ReadonlySet<string>,
  query: ToolQuery,
): Promise<FoundTools> {
  const text = query.query.trim();
  if (text === '') return NOTHING;
  const ranked = await rank(catalogue, text, query);
  const names = ranked.map((tool) => tool.name);
  const fresh = ranked.flatMap(({ name }) => (visible.has(name) ? [] : boundOf(catalogue, name)));
  const alreadyActive = [...directNamed(catalogue, text), ...names.filter((name) => visible.has(name))];
  return {
    ranked: names,
    ...bounded(fresh, query.limit, catalogue.policy.maxSchemaChars),
    alreadyActive: [...new Set(alreadyActive)].slice(0, MAX_ALREADY_ACTIVE),
  };
}

async function rank(catalogue: Catalogue, text: string, query: ToolQuery): Promise<readonly RankedTool[]> {
  const { policy, deferred } = catalogue;
  const ranker = policy.ranker?.(deferred.map(searchable)) ?? catalogue.index();
  const ranked = ranker
    .rank(text, { limit: deferred.length })
    .filter(({ name }) => catalogue.isDeferred(name));
  if (policy.reranker === undefined) return ranked;
  const { signal, clock } = query;
  const bounds = { timeoutMs: policy.rerankTimeoutMs, signal, clock };
  return (await rerankWithin(policy.reranker, text, ranked, bounds)).tools;
}

function boundOf(catalogue: Catalogue, name: string): readonly BoundTool[] {
  const bound = catalogue.deferred.find((one) => one.name === name);
  return bound === undefined ? [] : [bound];
}

/** A direct tool that the query names: said to be callable, so that silence is not read as absence. */
function directNamed(catalogue: Catalogue, text: string): readonly string[] {
  const wanted = text.toLowerCase();
  return catalogue.direct.filter((bound) => bound.name.toLowerCase() === wanted).map((bound) => bound.name);
}

type Bounded = Pick<FoundTools, 'found' | 'omittedByLimit' | 'omittedByBytes' | 'schemaChars'>;

function bounded(fresh: readonly BoundTool[], limit: number, maxSchemaChars: number): Bounded {
  const found: BoundTool[] = [];
  let schemaChars = 0;
  for (const bound of fresh.slice(0, limit)) {
    // The first always fits, or a large tool could never be reached.
    if (found.length > 0 && schemaChars + bound.schemaChars > maxSchemaChars) break;
    found.push(bound);
    schemaChars += bound.schemaChars;
  }
  const within = Math.min(limit, fresh.length);
  return {
    found,
    schemaChars,
    omittedByLimit: fresh.length - within,
    omittedByBytes: within - found.length,
  };
}
