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
  const sum = (pick: (turn: DiscoveryMeasure) => number) =>
    turns.reduce((total, turn) => total + pick(turn), 0);
  const searches = sum((turn) => turn.searchCount);
  const wanted = turns.flatMap((turn) => turn.wanted);
  const found = wanted.filter(({ rank }) => rank !== undefined && rank <= k);
  const unusedChars = sum((turn) => turn.exposedUnusedSchemaChars);
  return {
    turns: turns.length,
    searches,
    k,
    figures: [
      { name: 'recall', value: share(found.length, wanted.length) },
      { name: 'hitAt1', value: share(wanted.filter(({ rank }) => rank === 1).length, wanted.length) },
      {
        name: 'empty',
        value: share(
          sum((turn) => turn.emptySearchCount),
          searches,
        ),
      },
      {
        name: 'misses',
        value: share(
          sum((turn) => turn.missOutsideCap),
          wanted.length,
        ),
      },
      {
        name: 'unused',
        value: share(
          unusedChars,
          sum((turn) => turn.exposedDeferredSchemaChars),
        ),
      },
      { name: 'unusedChars', value: share(unusedChars, turns.length) },
      {
        name: 'repeated',
        value: share(
          sum((turn) => turn.repeatedSearchCount),
          searches,
        ),
      },
      {
        name: 'revised',
        value: share(
          sum((turn) => turn.revisedSearchCount),
          searches,
        ),
      },
      {
        name: 'hidden',
        value: share(
          sum((turn) => turn.hiddenCallRejections),
          turns.length,
        ),
      },
      {
        name: 'changes',
        value: share(
          sum((turn) => turn.toolsBlockChanges),
          turns.length,
        ),
      },
      { name: 'firstMs', value: middle(turns.flatMap((turn) => turn.timeToFirstSuccessfulToolCallMs ?? [])) },
      {
        name: 'firstSteps',
        value: middle(turns.flatMap((turn) => turn.stepsToFirstSuccessfulToolCall ?? [])),
      },
    ],
  };
}
