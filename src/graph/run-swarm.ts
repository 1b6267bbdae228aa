import type { ClientTools } from '../agent/client-tools.ts';
import { clientSources } from '../agent/client-tools.ts';
import { reachableAgents } from '../agent/reachable-agents.ts';
import type { Run } from '../agent/run.ts';
import { inputParts, type RunInput } from '../agent/run-input.ts';
import type { DecideIndeterminate } from '../agent/run-turn-job.ts';
import type { RuntimeCore } from '../agent/runtime-core.ts';
import { type RunSettings, startRun } from '../agent/start-run.ts';
import type { SessionIdentity } from '../ledger/records.ts';
import type { AnySwarm } from './define-swarm.ts';
import { resumeSwarmJob, type SwarmRequest, swarmJob } from './swarm-job.ts';

type Options = RunSettings & { readonly clientTools?: ClientTools };

/**
 * Gives a swarm an input, in the session of its supervisor.
 * @throws SwarmError 'invalid-input', 'invalid-definition', 'unknown-agent'
 */
export function startSwarm(
  core: RuntimeCore,
  swarm: AnySwarm,
  input: RunInput,
  options: Options & { readonly context?: unknown },
): Run<unknown> {
  const shared = sharedOf(core, swarm, options);
  const parts = inputParts(input);
  return startRun(core, options, (run, sessionId) => {
    const identity = { session: sessionId, root: sessionId, agent: swarm.name };
    return swarmJob({ identity, run, decide: () => 'block', ...shared }, parts);
  });
}

/** Takes up the run of a swarm, in a turn of its supervisor or between two. @throws SwarmError 'unknown-agent' */
export function resumeSwarm(
  core: RuntimeCore,
  swarm: AnySwarm,
  session: { readonly sessionId: string; identity(): Promise<SessionIdentity> },
  options: Options & { readonly context?: unknown; readonly indeterminate?: DecideIndeterminate },
): Run<unknown> {
  const shared = sharedOf(core, swarm, options);
  const decide = options.indeterminate ?? (() => 'block');
  return startRun(core, { ...options, sessionId: session.sessionId }, async (run) => {
    const identity = await session.identity();
    return resumeSwarmJob({ identity, run, decide, ...shared });
  });
}

function sharedOf(
  core: RuntimeCore,
  swarm: AnySwarm,
  { boundTools, discovery, clientTools }: Options,
): Pick<SwarmRequest, 'swarm' | 'boundTools' | 'discovery' | 'clientSources'> {
  reachableAgents([swarm.supervisor, ...swarm.agents], core.agents);
  return { swarm, boundTools, discovery, clientSources: clientSources(swarm.supervisor, clientTools) };
}
