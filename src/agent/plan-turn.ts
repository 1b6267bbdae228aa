import type { ToolPin } from '../ledger/turn-facts.ts';
import { resolveLimits } from '../limits.ts';
import type { Binding } from '../tools/binding.ts';
import {
  type DiscoveryOptions,
  type DiscoveryPolicy,
  resolveDiscovery,
  withoutDiscovery,
} from '../tools/discovery-policy.ts';
import { createLiveTools, type LiveTools } from '../tools/live-binding.ts';
import { narrowBinding } from '../tools/narrow-binding.ts';
import { settleSources } from '../tools/open-sources.ts';
import { type AnyToolSource, isToolSourceDefinition, type ToolSource } from '../tools/tool-source.ts';
import type { CompactionPlan } from '../turn/compaction.ts';
import type { BudgetOptions } from '../turn/run-budget.ts';
import type { TurnPlan } from '../turn/turn-scope.ts';
import { type AnyAgent, reservedNames } from './define-agent.ts';
import { delegationNames } from './delegation.ts';
import { type Lineage, limitsWithin, withOwn } from './lineage.ts';
import type { SessionParts } from './session-parts.ts';

/** What a run says of its turns beyond the agent's definition. */
export interface PlanRequest {
  /** A hard ceiling of the run, by tool name. */
  readonly boundTools?: readonly string[] | undefined;
  /** What holds because of those above. */
  readonly lineage: Lineage;
  readonly budget: BudgetOptions;
  /** What {@link readySources} gave. */
  readonly live: ReadySources;
  /** What the turn was opened with, where it is resumed. */
  readonly opened?: OpenedWith;
  readonly discovery?: DiscoveryOptions | undefined;
}

interface OpenedWith {
  readonly bound: readonly string[];
  readonly ceiling?: readonly string[] | undefined;
  readonly discovery: string;
}

/** Resolves an agent's definition for one turn. Ceilings only narrow what the agent is bound to. */
export function planTurn(agent: AnyAgent, parts: SessionParts, request: PlanRequest): TurnPlan {
  const { opened, boundTools, lineage } = request;
  const ceiling = intersection(opened?.ceiling, boundTools);
  let base = agent.binding;
  for (const names of [opened?.bound, ceiling, lineage.ceiling])
    if (names !== undefined) base = narrowBinding(base, names);
  const limits = limitsWithin(agent, parts.limits, lineage, request.budget);
  const live = liveToolsOf(agent, request, { base, ceiling, maxTools: limits.liveTools });
  const discovery = discoveryOf(agent, parts, request);
  return {
    agent: agent.name,
    model: agent.model,
    instructions: agent.instructions,
    settings: agent.settings,
    binding: live?.state.binding ?? base,
    required: delegationNames({ agent, boundTools }, opened?.bound),
    ...(ceiling === undefined ? {} : { ceiling }),
    ...(live === undefined ? {} : { live }),
    limits,
    permission: [...parts.permission, ...withOwn(lineage.permission, agent.permission)],
    gates: parts.hookRunner.gates([...parts.hooks, ...withOwn(lineage.hooks, agent.hooks)]),
    discovery,
    capturesRequests: parts.capturesRequests,
    // A placeholder stands for what its source has at the moment of the call.
    ...(live === undefined || discovery.wire === 'absent' ? {} : { isLive: (name) => live.isOffered(name) }),
    ...(agent.output === undefined ? {} : { output: { contract: agent.output, mode: outputModeOf(agent) } }),
    ...(agent.compaction === false ? {} : { compaction: compactionOf(agent) }),
    answersAtLastStep: lineage.isAsked,
  };
}

function compactionOf({ compaction }: AnyAgent): CompactionPlan {
  if (compaction === undefined || compaction === false) return { isGiven: false };
  return { ...compaction, isGiven: true };
}

function outputModeOf({ model }: AnyAgent): 'native' | 'submit' {
  return model.capabilities.structuredOutput === true ? 'native' : 'submit';
}

/** What two ceilings leave. */
function intersection(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const names = new Set(other);
  return one.filter((name) => names.has(name));
}

/** The live sources of a turn, and what the facts of its session tell of them. */
export interface ReadySources {
  readonly sources: readonly ToolSource[];
  /** The live tools as they were last, by name. */
  readonly pins: ReadonlyMap<string, ToolPin>;
}

/** What the sources of a turn are chosen and waited for by. */
export interface SourcesRequest extends Pick<PlanRequest, 'boundTools' | 'opened'> {
  /** Tools the run brings along. */
  readonly clientSources: readonly AnyToolSource[];
  readonly pins: ReadonlyMap<string, ToolPin>;
  readonly signal: AbortSignal;
}

/**
 * Opens the sources that a turn may use tools of, and lets them find out what they offer. One whose tools are all over
 * the ceiling is not asked, and what is known of it stays as it was.
 */
export async function readySources(
  agent: AnyAgent,
  parts: SessionParts,
  request: SourcesRequest,
): Promise<ReadySources> {
  const ceiling = intersection(request.opened?.ceiling, request.boundTools);
  const all = [...agent.toolSources, ...request.clientSources];
  const isSelected = (source: AnyToolSource) =>
    ceiling === undefined || !isToolSourceDefinition(source) || ceiling.some((name) => source.mayOffer(name));
  const left = new Set(all.filter((source) => !isSelected(source)).map(({ name }) => name));
  const sources = all.filter(isSelected).map((source) => parts.sources.of(source));
  const { clock } = parts;
  const { sourceMs } = resolveLimits(agent.limits, parts.limits).timeouts;
  await settleSources(sources, { clock, waitMs: sourceMs, signal: request.signal });
  const pins = [...request.pins].filter(([, { source }]) => !left.has(source));
  return { sources, pins: new Map(pins) };
}

interface LiveBounds {
  readonly base: Binding;
  readonly ceiling: readonly string[] | undefined;
  readonly maxTools: number;
}

/** Nothing where no tool comes or went. */
function liveToolsOf(agent: AnyAgent, request: PlanRequest, bounds: LiveBounds): LiveTools | undefined {
  const { sources, pins } = request.live;
  if (sources.length === 0 && pins.size === 0) return undefined;
  return createLiveTools({
    base: bounds.base,
    sources,
    ceiling: bounds.ceiling === undefined ? undefined : new Set(bounds.ceiling),
    reservedNames: reservedNames(agent),
    maxTools: bounds.maxTools,
    pins,
  });
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
