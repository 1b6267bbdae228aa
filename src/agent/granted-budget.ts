import type { Ledger } from '../ledger/ledger.ts';
import { toldOfSession } from '../ledger/run-standing.ts';
import { foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import type { BudgetOptions, RunBudget } from '../turn/run-budget.ts';
import { createRunBudget } from '../turn/run-budget.ts';
import { tallyTree } from './tally-tree.ts';

/**
 * Keeps what a turn granted to children on other workers out of its own reach: of those that have not ended, what they
 * have not used so far. What a child that ended did not use is the run's again. They may be at work: what they used has
 * to be counted from the same reading of `ledger`.
 * @throws SwarmError of the ledger
 */
export async function setGrantsAside(
  budget: RunBudget,
  { children }: Pick<TurnFacts, 'children'>,
  ledger: Pick<Ledger, 'read'>,
): Promise<void> {
  for (const { intended, finished, lost } of children.values()) {
    const { child, agent, grant } = intended.data;
    if (grant === undefined || finished !== undefined || lost !== undefined) continue;
    const records = await ledger.read(child);
    const told = toldOfSession(records);
    if (told !== undefined && told.data.status !== 'paused') continue;
    const used = await tallyTree(ledger, agent, foldSession(records).turns);
    const { bounds } = grant;
    const own = createRunBudget(grant.budget as BudgetOptions);
    own.restore({ ...used, agents: Math.min(used.agents, bounds.agents) }, {});
    budget.setAside(own.share(1, bounds));
  }
}
