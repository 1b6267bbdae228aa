import type { SearchableTool } from '../src/tools/search-index.ts';
import { minisearchTuned } from './rankers/minisearch.ts';
import type { Ranker, Search } from './rankers/ranker.ts';
import { swarmwright } from './rankers/swarmwright.ts';
import { type RetrievalData, readRetrievalData } from './retrieval-data.ts';
import { median, rounded } from './statistics.ts';
import { versionsOf } from './versions.ts';

/**
 * Each figure is the median of so many repeats, in which the two take turns at being first: who is first at code they
 * share is measured with its compilation.
 */
const REPEATS = 10;
/** Of the smallest size, whose first builds are but compilation. */
const SMALL_REPEATS = 60;
const SMALL_TOOLS = 100;
const RESULTS = 5;
const FIRST_QUERY = 'read a file';
/** What the opponent's time may be exceeded by; below the floor nobody can tell. */
const MOST_TIMES_OPPONENT = 1.25;
const QUERY_FLOOR_MS = 0.5;

const SIZES: readonly {
  readonly tools: number;
  readonly buildMs?: number;
  readonly heapMb?: number;
  readonly queryMs?: number;
}[] = [
  { tools: 100 },
  { tools: 1_000, buildMs: 250, heapMb: 8, queryMs: 5 },
  { tools: 10_000, buildMs: 2_000, heapMb: 40, queryMs: 25 },
];

interface Cost {
  /** Processor time of the build: unlike the wall's it leaves out what else the machine was doing. */
  readonly buildCpuMs: number;
  readonly buildMs: number;
  /** The build and the first search, which prepares what the build put off. */
  readonly readyMs: number;
  readonly heapMb: number;
  readonly queryP50Ms: number;
  readonly queryP99Ms: number;
}

/** Real tools; beyond their number they come again for other tenants, under other names and with a new word. */
function catalogueOf(data: RetrievalData, size: number): readonly SearchableTool[] {
  const real = [...data.catalogues.values()].flat();
  return Array.from({ length: size }, (_, at) => {
    const tool = real[at % real.length];
    if (tool === undefined) throw new Error('the catalogues are empty');
    const round = Math.floor(at / real.length);
    if (round === 0) return tool;
    const tenant = `tenant${String.fromCharCode(96 + round)}`;
    return { ...tool, name: `${tenant}_${tool.name}`, description: `${tool.description} Of ${tenant}.` };
  });
}

function elapsedMs(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}

/** One contender at one size over all repeats. */
interface Samples {
  readonly processors: number[];
  readonly builds: number[];
  readonly readies: number[];
  readonly heaps: number[];
  /** For each query the least of its times, which leaves out what else the machine was doing. */
  readonly queries: number[];
}

function sample(
  ranker: Ranker,
  tools: readonly SearchableTool[],
  queries: readonly string[],
  into: Samples,
): void {
  const before = heapMb();
  let search: Search = () => [];
  const idle = process.cpuUsage();
  const buildMs = elapsedMs(() => {
    search = ranker.build(tools);
  });
  const { user, system } = process.cpuUsage(idle);
  into.processors.push((user + system) / 1_000);
  const firstMs = elapsedMs(() => search(FIRST_QUERY, RESULTS));
  into.builds.push(buildMs);
  into.readies.push(buildMs + firstMs);
  into.heaps.push(heapMb() - before);
  queries.forEach((query, at) => {
    const queryMs = elapsedMs(() => search(query, RESULTS));
    into.queries[at] = Math.min(into.queries[at] ?? Number.POSITIVE_INFINITY, queryMs);
  });
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function costOf({ processors, builds, readies, heaps, queries }: Samples): Cost {
  return {
    buildCpuMs: median(processors),
    buildMs: median(builds),
    readyMs: median(readies),
    heapMb: median(heaps),
    queryP50Ms: quantile(queries, 0.5),
    queryP99Ms: quantile(queries, 0.99),
  };
}

function compare(
  rankers: readonly Ranker[],
  tools: readonly SearchableTool[],
  queries: readonly string[],
): readonly Cost[] {
  const samples = rankers.map(
    (): Samples => ({ processors: [], builds: [], readies: [], heaps: [], queries: [] }),
  );
  const inTurn = rankers.flatMap((ranker, at) => {
    const into = samples[at];
    return into === undefined ? [] : [{ ranker, into }];
  });
  const repeats = tools.length <= SMALL_TOOLS ? SMALL_REPEATS : REPEATS;
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    for (const { ranker, into } of inTurn) sample(ranker, tools, queries, into);
    inTurn.reverse();
  }
  return samples.map(costOf);
}

/**
 * What the search costs at 100, 1,000 and 10,000 tools: time to build, heap, and the 99th percentile of a
 * keyword query; beside MiniSearch with the same analyser and fields in the same run.
 */
export async function run() {
  const data = readRetrievalData();
  const queries = ['bfcl.keyword', 'metatool.keyword', 'npm-open.keyword'].flatMap((set) =>
    (data.sets.get(set) ?? []).map(({ query }) => query),
  );
  const rankers = [swarmwright, minisearchTuned];
  // Once through everything first: neither pays for compilation, nor ours for reading its word lists.
  compare(rankers, catalogueOf(data, 1_000), queries);
  const failed: string[] = [];
  const rows: Readonly<Record<string, string | number>>[] = [];
  const hold = (what: string, value: number, bound: number | undefined): void => {
    if (bound !== undefined && !(value <= bound))
      failed.push(`${what}: ${rounded(value)} > ${rounded(bound)}`);
  };
  for (const { tools, buildMs, heapMb: mb, queryMs } of SIZES) {
    const [ours, theirs] = compare(rankers, catalogueOf(data, tools), queries);
    if (ours === undefined || theirs === undefined) throw new Error('a contender was not measured');
    hold(`build of ${tools} tools, ms`, ours.readyMs, buildMs);
    hold(`heap at ${tools} tools, MB`, ours.heapMb, mb);
    hold(`query p99 at ${tools} tools, ms`, ours.queryP99Ms, queryMs);
    hold(
      `build of ${tools} tools beside MiniSearch, CPU ms`,
      ours.buildCpuMs,
      MOST_TIMES_OPPONENT * theirs.buildCpuMs,
    );
    hold(
      `query p99 at ${tools} tools beside MiniSearch, ms`,
      ours.queryP99Ms,
      Math.max(QUERY_FLOOR_MS, MOST_TIMES_OPPONENT * theirs.queryP99Ms),
    );
    [ours, theirs].forEach((cost, at) => {
      rows.push({
        tools,
        contender: rankers[at]?.name ?? '',
        ...Object.fromEntries(Object.entries(cost).map(([figure, value]) => [figure, rounded(value, 3)])),
      });
    });
  }
  const versions = versionsOf(['minisearch', 'flexsearch']);
  console.table(versions);
  return { rows, json: { versions, repeats: REPEATS, rows }, failed };
}
