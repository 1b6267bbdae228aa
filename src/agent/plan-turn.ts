import { resolveLimits } from '../limits.ts';
import {
  type DiscoveryOptions,
  type DiscoveryPolicy,
  resolveDiscovery,
  withoutDiscovery,
} from '../tools/discovery-policy.ts';
import { narrowBinding } from '../tools/narrow-binding.ts';
import type { TurnPlan } from '../turn/turn-scope.ts';
import type { AnyAgent } from './define-agent.ts';
import type { SessionParts } from './session-actor.ts';

/** What a run says of its turns beyond the agent's definition. */
export interface PlanRequest {
  /** A hard ceiling of the run, by tool name. */
  readonly boundTools?: readonly string[] | undefined;
  /** What the turn was opened with, where it is resumed. */
  readonly opened?: { readonly bound: readonly string[]; readonly discovery: string };
  readonly discovery?: DiscoveryOptions | undefined;
}

/** Resolves an agent's definition for one turn. Ceilings only narrow what the agent is bound to. */
export function planTurn(agent: AnyAgent, parts: SessionParts, request: PlanRequest): TurnPlan {
  let { binding } = agent;
  for (const names of [request.opened?.bound, request.boundTools])
    if (names !== undefined) binding = narrowBinding(binding, names);
  const hooks = agent.hooks === undefined ? parts.hooks : [...parts.hooks, agent.hooks];
  return {
    agent: agent.name,
    model: agent.model,
    instructions: agent.instructions,
    settings: agent.settings,
    binding,
    limits: resolveLimits(agent.limits, parts.limits),
    permission: agent.permission === undefined ? parts.permission : [...parts.permission, agent.permission],
    gates: parts.hookRunner.gates(hooks),
    discovery: discoveryOf(agent, parts, request),
    answersAtLastStep: false,
    stages: [],
  };
}

/**
 * The nearest word wins; a resumed turn goes on under the preset it was opened with. A ceiling without the tools that
 * reach deferred ones means that nothing may be found: all is direct.
 */
function discoveryOf(agent: AnyAgent, parts: SessionParts, request: PlanRequest): DiscoveryPolicy {
  const layers = [parts.discovery, agent.discovery, request.discovery];
  const policy = resolveDiscovery(layers, request.opened?.discovery);
  const { boundTools } = request;
  if (boundTools === undefined || policy.ownTools.every((name) => boundTools.includes(name))) return policy;
  return withoutDiscovery(policy);
}
