import { type ClientTools, clientSources } from '../agent/client-tools.ts';
import { type AnyAgent, isAgent } from '../agent/define-agent.ts';
import { takeUpJob } from '../agent/handoff-chain.ts';
import { rootLineage } from '../agent/lineage.ts';
import { reachableAgents } from '../agent/reachable-agents.ts';
import type { Run } from '../agent/run.ts';
import { inputParts, type RunInput } from '../agent/run-input.ts';
import { type DecideIndeterminate, inputJob } from '../agent/run-turn-job.ts';
import type { RuntimeCore } from '../agent/runtime-core.ts';
import { identityOf } from '../agent/session-task.ts';
import { type StartSettings, startRun } from '../agent/start-run.ts';
import { SwarmError } from '../errors.ts';
import type { SessionIdentity } from '../ledger/records.ts';
import { type AnyGraph, isGraph } from './define-graph.ts';
import { type AnySwarm, isSwarm } from './define-swarm.ts';
import { resumeGraph, startGraph } from './run-graph.ts';
import { resumeSwarm, startSwarm } from './run-swarm.ts';

/** Whatever a run may be of. */
export type AnyTarget = AnyAgent | AnyGraph | AnySwarm;

/** What a run in this process is started with. */
export type TargetSettings = StartSettings & { readonly clientTools?: ClientTools };

/** What a run is taken up with. */
export type ResumeSettings = TargetSettings & { readonly indeterminate?: DecideIndeterminate };

/**
 * Runs an agent, graph or swarm in this process.
 * @throws SwarmError 'invalid-input', 'invalid-limit', 'invalid-definition', 'unknown-agent'
 */
export function startTarget(
  core: RuntimeCore,
  target: AnyTarget,
  input: unknown,
  options: TargetSettings,
): Run<unknown> {
  // An agent or swarm takes text or parts, and whatever else is refused.
  if (isSwarm(target)) return startSwarm(core, target, input as RunInput, options);
  if (isGraph(target)) return startGraph(core, target, input, options);
  const agent = checkedTarget(target) as AnyAgent;
  reachableAgents([agent], core.agents);
  const parts = inputParts(input as RunInput);
  const client = clientSources(agent, options.clientTools);
  return startRun(core, options, (active, sessionId) => {
    const identity = { session: sessionId, root: sessionId, agent: agent.name };
    const { boundTools, discovery } = options;
    const lineage = rootLineage(agent);
    const request = { agent, identity, lineage, run: active, boundTools, clientSources: client, discovery };
    return inputJob({ ...request, decide: () => 'block' }, parts);
  });
}

/**
 * Takes up the open turn of a session in this process.
 * @throws SwarmError 'invalid-definition', 'unknown-agent'
 */
export function resumeTarget(
  core: RuntimeCore,
  target: AnyTarget | string,
  sessionId: string,
  options: ResumeSettings,
): Run<unknown> {
  const found = typeof target === 'string' ? (core.definitions.get(target) as AnyTarget) : target;
  const session = { sessionId, identity: () => rootIdentity(core, sessionId) };
  if (isGraph(found)) return resumeGraph(core, found, session, options);
  if (isSwarm(found)) return resumeSwarm(core, found, session, options);
  const agent =
    typeof target === 'string' ? registeredAgent(core, target) : (checkedTarget(target) as AnyAgent);
  reachableAgents([agent], core.agents);
  const client = clientSources(agent, options.clientTools);
  const decide = options.indeterminate ?? (() => 'block');
  return startRun(core, { ...options, sessionId }, async (active) => {
    const identity = await rootIdentity(core, sessionId);
    const { boundTools, discovery } = options;
    const lineage = rootLineage(agent);
    const request = { agent, identity, lineage, run: active, boundTools, clientSources: client, discovery };
    return takeUpJob(core.registry.parts(await core.ledger), { ...request, decide });
  });
}

/** A child goes on with its parent, under what holds for it there. @throws SwarmError 'child-session', 'unknown-session' */
export async function rootIdentity(core: RuntimeCore, sessionId: string): Promise<SessionIdentity> {
  const identity = await identityOf(await core.ledger, sessionId);
  if (identity.parent === undefined) return identity;
  const message = `the session ${sessionId} belongs to the run of ${identity.root}: resume that one`;
  throw new SwarmError('child-session', message);
}

/** The definition that is given, or has the name. @throws SwarmError 'unknown-agent', 'invalid-definition' */
export function targetOf(core: RuntimeCore, target: AnyTarget | string): AnyTarget {
  if (typeof target !== 'string') return checkedTarget(target);
  const known = core.definitions.get(target);
  if (known === undefined) throw unknownName(target);
  // Definitions of a registry were made by those who make targets.
  return known as AnyTarget;
}

/** The agent whose turns the session of a target has; undefined for a graph. */
export function speaker(target: AnyTarget): AnyAgent | undefined {
  if (isAgent(target)) return target;
  return isSwarm(target) ? target.supervisor : undefined;
}

function checkedTarget(target: AnyTarget): AnyTarget {
  if (isAgent(target) || isGraph(target) || isSwarm(target)) return target;
  throw new SwarmError(
    'invalid-definition',
    'the target of a run is made by defineAgent(), defineGraph() or defineSwarm()',
  );
}

function registeredAgent(core: RuntimeCore, name: string): AnyAgent {
  const agent = core.agents.get(name);
  if (agent !== undefined) return agent;
  throw unknownName(name);
}

function unknownName(name: string): SwarmError {
  return new SwarmError('unknown-agent', `no agent named ${name} is in the registry of this runtime`);
}
