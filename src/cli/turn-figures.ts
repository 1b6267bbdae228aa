import type { LedgerRecord } from '../ledger/records.ts';
import type { DiscoveryMeasure } from '../tools/measure-discovery.ts';
import { type Figure, middle, share } from './figures.ts';

/** What turns were worth, and how much there was to measure. */
export interface TurnFigures {
  readonly turns: number;
  readonly searches: number;
  readonly k: number;
  readonly figures: readonly Figure[];
}

/** The measures of the turns among these records. */
export function measuresOf(records: readonly LedgerRecord[]): readonly DiscoveryMeasure[] {
  return records.flatMap((record) => (record.type === 'tools.measured' ? [record.data] : []));
}

/** Figures over the turns of a ledger; `k` is the place in a ranking up to which a tool counts as found. */
export function figuresOfTurns(turns: readonly DiscoveryMeasure[], k: number): TurnFigures {
  const searches = sumOf(turns, (turn) => turn.searchCount);
  const figures = [...rankFigures(turns, k), ...schemaFigures(turns), ...habitFigures(turns, searches)];
  return { turns: turns.length, searches, k, figures: [...figures, ...paceFigures(turns)] };
}

/** Where in the rankings the wanted tools stood. */
function rankFigures(turns: readonly DiscoveryMeasure[], k: number): readonly Figure[] {
  const wanted = turns.flatMap((turn) => turn.wanted);
  const found = wanted.filter(({ rank }) => rank !== undefined && rank <= k);
  const first = wanted.filter(({ rank }) => rank === 1);
  const missed = sumOf(turns, (turn) => turn.missOutsideCap);
  return [
    { name: 'recall', value: share(found.length, wanted.length) },
    { name: 'hitAt1', value: share(first.length, wanted.length) },
    { name: 'misses', value: share(missed, wanted.length) },
  ];
}

/** What was shown and not used. */
function schemaFigures(turns: readonly DiscoveryMeasure[]): readonly Figure[] {
  const unused = sumOf(turns, (turn) => turn.exposedUnusedSchemaChars);
  const shown = sumOf(turns, (turn) => turn.exposedDeferredSchemaChars);
  return [
    { name: 'unused', value: share(unused, shown) },
    { name: 'unusedChars', value: share(unused, turns.length) },
  ];
}

/** How models searched, and called what they could not see. */
function habitFigures(turns: readonly DiscoveryMeasure[], searches: number): readonly Figure[] {
  const perSearch = (pick: Count) => share(sumOf(turns, pick), searches);
  const perTurn = (pick: Count) => share(sumOf(turns, pick), turns.length);
  return [
    { name: 'empty', value: perSearch((turn) => turn.emptySearchCount) },
    { name: 'repeated', value: perSearch((turn) => turn.repeatedSearchCount) },
    { name: 'revised', value: perSearch((turn) => turn.revisedSearchCount) },
    { name: 'hidden', value: perTurn((turn) => turn.hiddenCallRejections) },
    { name: 'changes', value: perTurn((turn) => turn.toolsBlockChanges) },
  ];
}

/** How soon a first call succeeded. */
function paceFigures(turns: readonly DiscoveryMeasure[]): readonly Figure[] {
  return [
    { name: 'firstMs', value: middle(turns.flatMap((turn) => turn.timeToFirstSuccessfulToolCallMs ?? [])) },
    { name: 'firstSteps', value: middle(turns.flatMap((turn) => turn.stepsToFirstSuccessfulToolCall ?? [])) },
  ];
}

type Count = (turn: DiscoveryMeasure) => number;

function sumOf(turns: readonly DiscoveryMeasure[], pick: Count): number {
  return turns.reduce((total, turn) => total + pick(turn), 0);
}
