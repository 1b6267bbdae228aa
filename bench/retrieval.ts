import { QUERY_VARIANTS } from './query-variants.ts';
import { flexsearchDefault } from './rankers/flexsearch.ts';
import { keywordScorer } from './rankers/keyword.ts';
import { minisearchDefault, minisearchFuzzy, minisearchTuned } from './rankers/minisearch.ts';
import { swarmwright, swarmwrightWithout } from './rankers/swarmwright.ts';
import { readRetrievalData } from './retrieval-data.ts';
import { checkNames, countUnstable } from './retrieval-names.ts';
import { measureQuality, type QualityReport } from './retrieval-quality.ts';
import { rounded } from './statistics.ts';
import { versionsOf } from './versions.ts';

const OPPONENTS = [flexsearchDefault, keywordScorer, minisearchDefault, minisearchTuned, minisearchFuzzy];

/** The bounds of quality: what must be held, in percent or points. */
const MEAN_RECALL = 74;
const MEAN_HIT_AT_1 = 53;
const MODEL_QUERY_RECALL = 67;
const MOST_ZERO = 0.5;
const ABOVE_TUNED = 1;
const MOST_BEHIND_TUNED = 1.5;
const ABOVE_KEYWORD = 17;

interface Gate {
  readonly gate: string;
  readonly value: number;
  readonly isMet: boolean;
}

function atLeast(gate: string, value: number, bound: number): Gate {
  return { gate: `${gate} >= ${bound}`, value: rounded(value), isMet: value >= bound };
}

function atMost(gate: string, value: number, bound: number): Gate {
  return { gate: `${gate} <= ${bound}`, value: rounded(value), isMet: value <= bound };
}

function qualityGates(ours: QualityReport, tuned: QualityReport, keyword: QualityReport): readonly Gate[] {
  const behind = Array.from(tuned.sets, ([set, { recall }]) => recall - (ours.sets.get(set)?.recall ?? 0));
  return [
    atLeast('mean recall@5', ours.mean.recall, MEAN_RECALL),
    atLeast('mean hit@1', ours.mean.hitAt1, MEAN_HIT_AT_1),
    atLeast(
      'recall@5 on queries of models',
      ours.sets.get('livemcp.modelquery')?.recall ?? 0,
      MODEL_QUERY_RECALL,
    ),
    atMost(
      'queries without result on any set, %',
      Math.max(...Array.from(ours.sets.values(), ({ zero }) => zero)),
      MOST_ZERO,
    ),
    atLeast(
      'above MiniSearch with the same analyser and fields',
      ours.mean.recall - tuned.mean.recall,
      ABOVE_TUNED,
    ),
    atMost('behind it on any set', Math.max(...behind), MOST_BEHIND_TUNED),
    atLeast('above the keyword scorer', ours.mean.recall - keyword.mean.recall, ABOVE_KEYWORD),
  ];
}

function rowOf(name: string, { sets, mean }: QualityReport): Readonly<Record<string, string | number>> {
  return {
    ranker: name,
    ...Object.fromEntries(Array.from(sets, ([set, { recall }]) => [set, rounded(recall, 1)])),
    mean: rounded(mean.recall, 1),
    'half A': rounded(mean.halves[0], 1),
    'half B': rounded(mean.halves[1], 1),
    'hit@1': rounded(mean.hitAt1, 1),
    'zero %': rounded(mean.zero),
  };
}

/**
 * Recall@5 of the tool search and its opponents over the open sets, all in one run; of the search without
 * each of its parts; of worse queries; and exact names, other scripts and stability.
 */
export async function run() {
  const data = readRetrievalData();
  const rankers = [...OPPONENTS, swarmwright, ...swarmwrightWithout];
  const reports = new Map(rankers.map((ranker) => [ranker.name, measureQuality(data, ranker)]));
  const reportOf = ({ name }: { readonly name: string }): QualityReport => {
    const report = reports.get(name);
    if (report === undefined) throw new Error(`${name} was not measured`);
    return report;
  };
  const ours = reportOf(swarmwright);
  const variants = QUERY_VARIANTS.map(({ name, keepsPercent, change }) => {
    const worse = measureQuality(data, swarmwright, change);
    return { name, keepsPercent, report: worse, kept: (100 * worse.mean.recall) / ours.mean.recall };
  });
  const names = checkNames(data);
  const unstable = countUnstable(data);
  const gates = [
    ...qualityGates(ours, reportOf(minisearchTuned), reportOf(keywordScorer)),
    ...variants.map(({ name, kept, keepsPercent }) =>
      atLeast(`${name}, % of recall kept`, kept, keepsPercent),
    ),
    ...names.map(({ form, foundPercent }) => atLeast(`${form}, % found`, foundPercent, 100)),
    atMost('queries whose order changes', unstable, 0),
  ];
  console.table(gates);
  return {
    rows: [
      ...Array.from(reports, ([name, report]) => rowOf(name, report)),
      ...variants.map(({ name, report, kept }) => rowOf(`${name} (${rounded(kept, 1)} % kept)`, report)),
    ],
    json: {
      versions: versionsOf(['minisearch', 'flexsearch']),
      reports: Object.fromEntries(
        Array.from(reports, ([name, { sets, mean }]) => [name, { mean, sets: Object.fromEntries(sets) }]),
      ),
      variants: variants.map(({ name, kept, report }) => ({ name, kept, mean: report.mean })),
      names,
      gates,
    },
    failed: gates.filter(({ isMet }) => !isMet).map(({ gate, value }) => `${gate} (is ${value})`),
  };
}
