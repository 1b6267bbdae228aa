import type { RankedTool } from './search-index.ts';

/** Orders the results of a search anew, by a model or a service of the application's own. */
export interface Reranker {
  /**
   * The names of `candidates`, best first. Names that are no candidates are ignored; candidates left out
   * keep their order behind. `signal` aborts when the time is up or the turn ends.
   */
  rank(query: string, candidates: readonly RankedTool[], signal: AbortSignal): Promise<readonly string[]>;
}

/** The part of the clock that a deadline needs. */
export interface DeadlineClock {
  setTimeout(run: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** Within what a reranker has to answer. */
export interface RerankBounds {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: DeadlineClock;
}

/** The order to use, and where it comes from. `tools` always holds exactly the candidates. */
export type Reranking =
  | { readonly type: 'reranked'; readonly tools: readonly RankedTool[] }
  | { readonly type: 'timed-out'; readonly tools: readonly RankedTool[] }
  | { readonly type: 'cancelled'; readonly tools: readonly RankedTool[] }
  | { readonly type: 'failed'; readonly tools: readonly RankedTool[]; readonly cause: unknown };

/**
 * Asks a reranker for a better order and falls back to the given one if it throws, answers with no list, is
 * late or the signal aborts; never rejects. Tools that the query names exactly stay in front. Leaves no timer
 * or listener; a late answer is dropped.
 */
export async function rerankWithin(
  reranker: Reranker,
  query: string,
  candidates: readonly RankedTool[],
  { timeoutMs, signal, clock }: RerankBounds,
): Promise<Reranking> {
  if (signal.aborted) return { type: 'cancelled', tools: candidates };
  if (candidates.length < 2) return { type: 'reranked', tools: candidates };
  const controller = new AbortController();
  const stopped = new Promise<Reranking>((resolve) => {
    const stop = (type: 'timed-out' | 'cancelled') => () => {
      resolve({ type, tools: candidates });
      controller.abort();
    };
    const timer = clock.setTimeout(stop('timed-out'), timeoutMs);
    const onAbort = stop('cancelled');
    signal.addEventListener('abort', onAbort, { once: true });
    controller.signal.addEventListener('abort', () => {
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    });
  });
  const answered = askReranker(reranker, query, candidates, controller.signal);
  const reranking = await Promise.race([answered, stopped]);
  controller.abort();
  return reranking;
}

async function askReranker(
  reranker: Reranker,
  query: string,
  candidates: readonly RankedTool[],
  signal: AbortSignal,
): Promise<Reranking> {
  try {
    const names: unknown = await reranker.rank(query, candidates, signal);
    if (Array.isArray(names)) return { type: 'reranked', tools: inOrderOf(names, candidates) };
    return { type: 'failed', tools: candidates, cause: names };
  } catch (cause) {
    return { type: 'failed', tools: candidates, cause };
  }
}

function inOrderOf(names: readonly unknown[], candidates: readonly RankedTool[]): readonly RankedTool[] {
  const left = new Map<unknown, RankedTool>(candidates.map((tool) => [tool.name, tool]));
  const ordered: RankedTool[] = [];
  for (const name of names) {
    const tool = left.get(name);
    if (tool === undefined) continue;
    ordered.push(tool);
    left.delete(name);
  }
  const all = [...ordered, ...left.values()];
  return [...all.filter((tool) => tool.exact), ...all.filter((tool) => !tool.exact)];
}
