import type { Ledger } from '../ledger/ledger.ts';
import { foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import type { BudgetOptions, RunBudget } from '../turn/run-budget.ts';
import { createRunBudget } from '../turn/run-budget.ts';
import { tallyTree } from './tally-tree.ts';

/**
 * Keeps what a turn granted to children on other workers out of its own reach: of those that have no result yet, what
 * they have not used so far. What a child that ended did not use is the run's again.
 * @throws SwarmError of the ledger
 */
export async function setGrantsAside(
  budget: RunBudget,
  { children }: Pick<TurnFacts, 'children'>,
  ledger: Ledger,
): Promise<void> {
  for (const { intended, finished, lost } of children.values()) {
    const { child, agent, grant } = intended.data;
    if (grant === undefined || finished !== undefined || lost !== undefined) continue;
    const { turns } = foldSession(await ledger.read(child));
    const used = await tallyTree(ledger, agent, turns);
    const { bounds } = grant;
    const own = createRunBudget(grant.budget as BudgetOptions);
    own.restore({ ...used, agents: Math.min(used.agents, bounds.agents) }, {});
    for (const { usage } of used.reports) if (usage !== undefined) own.noteUsage(usage);
    budget.setAside(own.share(1, bounds));
  }
}
