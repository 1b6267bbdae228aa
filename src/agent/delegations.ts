import type { ChildFacts } from '../ledger/turn-facts.ts';
import type { BoundTool } from '../tools/binding.ts';
import { runtimeTool } from '../tools/runtime-tool.ts';
import type { TurnScope } from '../turn/turn-scope.ts';
import { askChild } from './ask-child.ts';
import { ceilingIn } from './ceiling.ts';
import { type ChildPermits, createChildPermits } from './child-permits.ts';
import { ChildPlaces } from './child-places.ts';
import { openPlacedChildren } from './child-standing.ts';
import { delegationNames } from './delegation.ts';
import { type Ancestor, limitsWithin } from './lineage.ts';
import type { TurnRequest } from './run-turn-job.ts';
import type { OpenSession } from './session-parts.ts';
import { takeHandoff } from './take-handoff.ts';
import type { DelegatingTurn } from './turn-ways.ts';

/** What the calls of one turn to other agents work with. */
export interface DelegationScope {
  readonly request: TurnRequest;
  readonly session: OpenSession;
  readonly turn: TurnScope;
  /** The agent of the turn as those below it see it. */
  readonly self: Ancestor;
  /** Children the turn wanted so far, also in an earlier process, by session. */
  readonly known: Map<string, ChildFacts>;
  readonly permits: ChildPermits;
  /** Those of them that other workers may have. */
  readonly places: ChildPlaces;
}

/**
 * The tools by which a turn reaches other agents: those its agent declares, within the ceiling of the run and, where
 * the turn is taken up, those it was opened with.
 */
export function delegationTools({
  request,
  session,
  scope: turn,
  before,
}: DelegatingTurn): readonly BoundTool[] {
  const { agent, lineage, run } = request;
  const names = delegationNames(request, before.bound);
  if (names.length === 0) return [];
  const limits = limitsWithin(agent, session.parts.limits, lineage, run.scope.budget.options);
  const self = { agent, lineage, limits, ceiling: ceilingIn(request, session.parts) };
  const permits = createChildPermits(limits.fanOut, limits.fanOutQueue);
  const places = new ChildPlaces(limits.fanOut);
  places.restore(openPlacedChildren(before.children));
  const scope = (): DelegationScope => ({
    request,
    session,
    turn: turn(),
    self,
    known: before.children,
    permits,
    places,
  });
  return agent.delegations
    .filter(({ bound }) => names.includes(bound.name))
    .map((delegation) =>
      runtimeTool(delegation.bound, (input, ctx) =>
        delegation.type === 'ask'
          ? askChild(scope(), delegation.target, input, ctx)
          : takeHandoff(scope(), delegation.target, input, ctx),
      ),
    );
}
