import type { Ledger } from '../ledger/ledger.ts';
import type { NewRecord } from '../ledger/records.ts';
import type { ChildFacts, TurnFacts } from '../ledger/turn-facts.ts';
import type { TurnPlan } from '../turn/turn-scope.ts';
import { abandonTurn } from './abandon-turn.ts';
import type { AnyAgent } from './define-agent.ts';
import type { OpenSession, SessionParts } from './session-parts.ts';
import { identityOf, withSession } from './session-task.ts';
import { withinTree } from './session-tree.ts';

/** How a turn that is taken up reaches children now. */
export interface ChildReach {
  readonly agent: Pick<AnyAgent, 'agents'>;
  readonly plan: Pick<TurnPlan, 'required' | 'binding'>;
}

/**
 * Gives up children that an earlier process opened and that nobody will ask for again, because their agent is no child
 * of this one any more.
 * @throws SwarmError of the ledger
 */
export async function giveUpOrphans(
  { parts, log }: OpenSession,
  turn: TurnFacts,
  reach: ChildReach,
): Promise<void> {
  for (const child of turn.children.values()) {
    if (!isOrphan(child, reach)) continue;
    const { data, step, call } = child.intended;
    await giveUp(parts, data.child);
    const lost = { child: data.child, agent: data.agent, reason: 'agent-removed' };
    const fact: NewRecord = { type: 'child.lost', turn: turn.turnId, data: lost };
    const place = {
      ...(step === undefined ? {} : { step }),
      ...(call === undefined ? {} : { call }),
    };
    await log.commit([{ ...fact, ...place }]);
  }
}

function isOrphan({ intended, finished, lost }: ChildFacts, { agent, plan }: ChildReach): boolean {
  if (finished !== undefined || lost !== undefined) return false;
  const { agent: child } = intended.data;
  if (plan.required.includes(`ask_${child}`)) return false;
  // One tool for all agents, which names the one it asks in its arguments.
  const asksAny = plan.binding.tools.some(({ waitsForSessions }) => waitsForSessions === true);
  return !asksAny || !agent.agents.some(({ name }) => name === child);
}

/** Closes every open turn of a child and below it; each is over, or at work where this process does not see it. */
async function giveUp(parts: SessionParts, sessionId: string): Promise<void> {
  const { registry } = parts;
  const ledger: Ledger = parts.ledger;
  for (const open of withinTree(await ledger.listOpen(), sessionId)) {
    await withSession(
      { registry, ledger: Promise.resolve(ledger) },
      await identityOf(ledger, open.sessionId),
      {
        between: (session) => abandonTurn(session, 'the agent that asked does not know it any more'),
      },
    );
  }
}
