import type { Usage } from '../ledger/content.ts';
import type { TurnFacts } from '../ledger/turn-facts.ts';
import { wasAdmitted } from '../tools/refusals.ts';

/** One report of a turn, as its facts tell it. */
export interface RecordedUsage {
  readonly usage: Usage | undefined;
  readonly complete: boolean;
}

/** What a turn used, read from its facts: counted the same way as when it happened. */
export interface TurnTally {
  readonly steps: number;
  readonly toolCalls: number;
  readonly reports: readonly RecordedUsage[];
}

/** Counts a turn, open or closed. */
export function tallyTurn(turn: TurnFacts): TurnTally {
  return {
    steps: turn.steps.length,
    toolCalls: [...turn.calls.values()].filter(wasAdmitted).length,
    reports: [
      ...turn.steps.flatMap(({ closed, attempts }) => [
        ...(closed?.data.auxiliary ?? []).map(({ usage }) => reportOf(usage, true)),
        reportOf(closed?.data.usage, attempts <= 1),
      ]),
      ...turn.compactions
        .filter(({ data }) => data.requests > 0)
        .map(({ data }) => reportOf(data.usage, true)),
    ],
  };
}

function reportOf(usage: Usage | undefined, isWhole: boolean): RecordedUsage {
  return { usage, complete: usage !== undefined && isWhole };
}
