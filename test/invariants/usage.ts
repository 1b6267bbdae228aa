import type { LedgerRecord } from '../../src/ledger/records.ts';
import { foldSession } from '../../src/ledger/turn-facts.ts';
import { tallyTurn } from '../../src/turn/usage-tally.ts';

/** I15: the usage of a closed turn is the sum of what its steps report, or is left out where one has no report. */
export function usage(records: readonly LedgerRecord[]): readonly string[] {
  return foldSession(records).turns.flatMap((turn) => {
    if (turn.closed === undefined) return [];
    const { reports } = tallyTurn(turn);
    const told = turn.closed.data.usage;
    const isKnown = reports.every(({ complete }) => complete);
    const sum = (count: 'inputTokens' | 'outputTokens') =>
      reports.reduce((total, report) => total + (report.usage?.[count] ?? 0), 0);
    const owed = { input: sum('inputTokens'), output: sum('outputTokens') };
    if (told === undefined)
      return isKnown && owed.input > 0 ? [`I15 ${turn.turnId}: its usage is left out`] : [];
    const found = { input: told.inputTokens ?? 0, output: told.outputTokens ?? 0 };
    const isSame = found.input === owed.input && found.output === owed.output;
    return isSame ? [] : [`I15 ${turn.turnId}: usage ${JSON.stringify(found)}, not ${JSON.stringify(owed)}`];
  });
}
