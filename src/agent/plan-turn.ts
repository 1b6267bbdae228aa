import { resolveLimits } from '../limits.ts';
import { narrowBinding } from '../tools/narrow-binding.ts';
import type { TurnPlan } from '../turn/turn-scope.ts';
import type { AnyAgent } from './define-agent.ts';
import type { SessionParts } from './session-actor.ts';

/** Resolves an agent's definition for one turn. `ceilings` only narrow what the agent is bound to. */
export function planTurn(
  agent: AnyAgent,
  parts: SessionParts,
  ceilings: readonly (readonly string[] | undefined)[],
): TurnPlan {
  let { binding } = agent;
  for (const names of ceilings) if (names !== undefined) binding = narrowBinding(binding, names);
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
    discovery: 'off',
    answersAtLastStep: false,
    stages: [],
  };
}
