import { type TreeTally, tallyTree } from '../agent/tally-tree.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import type { Schedule } from './schedule.ts';

/**
 * What a run of a swarm used so far: the turns of its supervisor, and those of its operators since it began. Cost: one
 * read of each session.
 * @throws SwarmError of the ledger
 */
export async function swarmTally(
  ledger: Pick<Ledger, 'read'>,
  supervisor: string,
  turns: readonly TurnFacts[],
  schedule: Schedule,
): Promise<TreeTally> {
  const began = turns[0]?.opened.at ?? 0;
  const sums = [await tallyTree(ledger, supervisor, turns)];
  for (const { session, spec } of schedule.operators.values()) {
    if (session === undefined) continue;
    const all = foldSession(await ledger.read(session)).turns;
    // An operator of an earlier run of the session may have gone on in this one.
    const own = all.filter(({ opened }) => opened.at >= began);
    if (own.length > 0) sums.push(await tallyTree(ledger, spec.target ?? '', own));
  }
  return sums.reduce((all, one) => ({
    steps: all.steps + one.steps,
    toolCalls: all.toolCalls + one.toolCalls,
    agents: all.agents + one.agents,
    handoffs: all.handoffs + one.handoffs,
    reports: [...all.reports, ...one.reports],
  }));
}
