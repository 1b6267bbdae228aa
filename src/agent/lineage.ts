import type { Hooks } from '../lifecycle/hooks.ts';
import { type Limits, resolveLimits } from '../limits.ts';
import type { PermissionPolicy } from '../tools/permission.ts';
import type { BudgetOptions } from '../turn/run-budget.ts';
import type { AnyAgent } from './define-agent.ts';

/** Bounds of a tree of sessions, as they hold below one agent. */
export type TreeBounds = Pick<Limits, 'depth' | 'agents' | 'handoffs' | 'fanOut' | 'fanOutQueue'>;

/** What a session is held to by those above it. It only narrows: what is said here, nobody below takes back. */
export interface Lineage {
  /** Names from the root to the agent of the session. */
  readonly agentPath: readonly string[];
  /** Levels of children above the session; a handoff stays on its level. */
  readonly depth: number;
  /** Policies of the agents above, outermost first, after that of the runtime and before the agent's own. */
  readonly permission: readonly PermissionPolicy[];
  /** Hooks of the agents above, outermost first: their gates stand before this agent's work as well. */
  readonly hooks: readonly Hooks[];
  /** Absent at the root, where the agent's own limits are the first word. */
  readonly bounds?: TreeBounds;
  /** Names of the tools the session above was opened with, its own and those of the agents it declares. */
  readonly ceiling?: readonly string[];
  /** Somebody waits for the answer: the last step the session may take brings one. */
  readonly isAsked: boolean;
}

/** The lineage of a session that nobody is above. */
export function rootLineage(agent: { readonly name: string }): Lineage {
  return { agentPath: [agent.name], depth: 0, permission: [], hooks: [], isAsked: false };
}

/** An agent at work, as those it asks or hands over to see it. */
export interface Ancestor {
  readonly agent: Pick<AnyAgent, 'permission' | 'hooks'>;
  readonly lineage: Lineage;
  /** Its limits, as they hold in its place: see {@link limitsWithin}. */
  readonly limits: Limits;
  /** What its session was opened with. */
  readonly ceiling: readonly string[];
}

/** What holds for a child of an agent. */
export function childLineage(above: Ancestor, child: { readonly name: string }): Lineage {
  const { depth, ...bounds } = above.limits;
  return {
    ...inherited(above, child),
    depth: above.lineage.depth + 1,
    bounds: { ...bounds, depth: Math.max(0, depth - 1) },
    isAsked: true,
  };
}

/** What holds for an agent that another one hands over to: it stands where the other one stood. */
export function handoffLineage(above: Ancestor, target: { readonly name: string }): Lineage {
  return {
    ...inherited(above, target),
    depth: above.lineage.depth,
    bounds: above.limits,
    isAsked: above.lineage.isAsked,
  };
}

function inherited(
  { agent, lineage, ceiling }: Ancestor,
  { name }: { readonly name: string },
): Pick<Lineage, 'agentPath' | 'permission' | 'hooks' | 'ceiling'> {
  return {
    agentPath: [...lineage.agentPath, name],
    permission: withOwn(lineage.permission, agent.permission),
    hooks: withOwn(lineage.hooks, agent.hooks),
    ceiling,
  };
}

/** The words of those above with an agent's own. Once each: agents that hand over to each other do not ask the same policy twice. */
export function withOwn<T>(above: readonly T[], own: T | undefined): readonly T[] {
  return own === undefined || above.includes(own) ? above : [...above, own];
}

/** The limits of an agent in its place: its own, within those of the agents above and the budget of the run. */
export function limitsWithin(
  agent: Pick<AnyAgent, 'limits'>,
  base: Limits,
  { bounds }: Lineage,
  budget: BudgetOptions,
): Limits {
  const own = resolveLimits(agent.limits, base);
  // The budget of the run is said once, at the root, and reaches everybody below through the bounds.
  const outer: Partial<TreeBounds> = bounds ?? budgetBounds(budget);
  return {
    ...own,
    depth: Math.min(own.depth, outer.depth ?? own.depth),
    agents: Math.min(own.agents, outer.agents ?? own.agents),
    handoffs: Math.min(own.handoffs, outer.handoffs ?? own.handoffs),
    fanOut: Math.min(own.fanOut, outer.fanOut ?? own.fanOut),
    fanOutQueue: Math.min(own.fanOutQueue, outer.fanOutQueue ?? own.fanOutQueue),
  };
}

function budgetBounds({ depth, agents }: BudgetOptions): Partial<TreeBounds> {
  return { ...(depth === undefined ? {} : { depth }), ...(agents === undefined ? {} : { agents }) };
}
