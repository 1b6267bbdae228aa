import type { Ranker } from './rankers/ranker.ts';
import { halfOf, type LabelledQuery, type RetrievalData } from './retrieval-data.ts';

/** How many results a search gives, and recall is taken at. */
const RESULTS = 5;

/** The quality of one ranker on one set, or its mean over the sets; percentages. */
export interface Quality {
  readonly recall: number;
  readonly hitAt1: number;
  /** Queries without any result. */
  readonly zero: number;
  /** Recall on either half of the queries. */
  readonly halves: readonly [number, number];
}

/** The quality of one ranker: for each set, and their mean. */
export interface QualityReport {
  readonly sets: ReadonlyMap<string, Quality>;
  readonly mean: Quality;
}

/** Ranks every query of every set and measures. `change` makes a query worse first. */
export function measureQuality(
  data: RetrievalData,
  ranker: Ranker,
  change: (query: string) => string = (query) => query,
): QualityReport {
  const searches = new Map(
    Array.from(data.catalogues, ([name, tools]) => [name, ranker.build(tools)] as const),
  );
  const sets = new Map<string, Quality>();
  for (const [name, queries] of data.sets) {
    const outcomes = queries.map((query) => {
      const names = searches.get(query.catalogue)?.(change(query.query), RESULTS) ?? [];
      return { half: halfOf(query.id), ...judge(query, names) };
    });
    sets.set(name, summarize(outcomes));
  }
  return { sets, mean: meanOf([...sets.values()]) };
}

interface Outcome {
  readonly half: 0 | 1;
  readonly recall: number;
  readonly isHit: boolean;
  readonly isEmpty: boolean;
}

function judge(query: LabelledQuery, names: readonly string[]): Omit<Outcome, 'half'> {
  const relevant = new Set(query.relevant);
  const found = new Set(names.slice(0, RESULTS).filter((name) => relevant.has(name))).size;
  return {
    recall: query.mode === 'any' ? Math.min(found, 1) : found / relevant.size,
    isHit: names[0] !== undefined && relevant.has(names[0]),
    isEmpty: names.length === 0,
  };
}

function percent(values: readonly number[]): number {
  return (100 * values.reduce((sum, value) => sum + value, 0)) / values.length;
}

function summarize(outcomes: readonly Outcome[]): Quality {
  const recallOf = (half: 0 | 1): number =>
    percent(outcomes.filter((outcome) => outcome.half === half).map(({ recall }) => recall));
  return {
    recall: percent(outcomes.map(({ recall }) => recall)),
    hitAt1: percent(outcomes.map(({ isHit }) => Number(isHit))),
    zero: percent(outcomes.map(({ isEmpty }) => Number(isEmpty))),
    halves: [recallOf(0), recallOf(1)],
  };
}

function meanOf(qualities: readonly Quality[]): Quality {
  const mean = (pick: (quality: Quality) => number): number => percent(qualities.map(pick)) / 100;
  return {
    recall: mean(({ recall }) => recall),
    hitAt1: mean(({ hitAt1 }) => hitAt1),
    zero: mean(({ zero }) => zero),
    halves: [mean(({ halves }) => halves[0]), mean(({ halves }) => halves[1])],
  };
}
