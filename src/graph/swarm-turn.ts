import type { AnyAgent } from '../agent/define-agent.ts';
import { rootLineage } from '../agent/lineage.ts';
import type { TurnRequest } from '../agent/run-turn-job.ts';
import type { TurnOwner } from '../agent/turn-owner.ts';
import type { DelegatingTurn } from '../agent/turn-ways.ts';
import type { LimitOptions } from '../limits.ts';
import { bindingOf } from '../tools/bind-tools.ts';
import type { BoundTool } from '../tools/binding.ts';
import type { AnySwarm } from './define-swarm.ts';
import { supervisorPrompt } from './orchestration-tools.ts';
import { type SupervisorDesk, spawnTool } from './supervisor-tools.ts';
import type { SwarmRequest } from './swarm-job.ts';

/** What the turns of a supervisor have that those of an agent alone do not. */
interface TurnExtras {
  readonly owner: TurnOwner;
  /** Names the run was begun with at most, where it is taken up. */
  readonly ceiling: readonly string[] | undefined;
  readonly tools: (turn: DelegatingTurn) => readonly BoundTool[];
  desk(): SupervisorDesk;
  /** The turn under way. */
  turn(): DelegatingTurn;
}

/** The request for turns of a supervisor: its agent, with the role of its mode and the tools of a graph. */
export function swarmTurn(request: SwarmRequest, extras: TurnExtras): TurnRequest {
  const { swarm, identity, clientSources, discovery, decide } = request;
  const agent = supervisorOf(swarm, lazySpawn(extras));
  return {
    agent,
    identity,
    lineage: request.lineage ?? rootLineage(agent),
    run: extras.owner,
    boundTools: intersection(request.boundTools, extras.ceiling),
    clientSources,
    discovery,
    decide,
    ownTools: extras.tools,
  };
}

/** The definition of the tool, with an implementation that finds its desk when it is called. */
function lazySpawn(extras: TurnExtras): BoundTool {
  const bound = spawnTool(extras.desk, extras.turn);
  return Object.freeze(bound);
}

/**
 * The supervisor as it runs. Agents it gives work to count as those it declares: what their sessions may use is within
 * what its own was opened with.
 */
function supervisorOf({ supervisor, agents, mode, limits }: AnySwarm, spawn: BoundTool): AnyAgent {
  const { instructions, binding } = supervisor;
  const role = supervisorPrompt(mode);
  return Object.freeze({
    ...supervisor,
    instructions: instructions === '' ? role : `${instructions}\n\n${role}`,
    binding: bindingOf([...binding.tools, spawn]),
    agents: [...supervisor.agents, ...agents],
    limits: withLimits(supervisor.limits, limits),
  });
}

/** Groups of limits are laid over each other key by key. */
function withLimits(own: LimitOptions, over: LimitOptions): LimitOptions {
  const merged: Record<string, unknown> = { ...own };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isGroup(before) && isGroup(value) ? { ...before, ...value } : value;
  }
  // Both were checked where they were given.
  return merged as LimitOptions;
}

function isGroup(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function intersection(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const names = new Set(other);
  return one.filter((name) => names.has(name));
}
