import { rootLineage } from '../agent/lineage.ts';
import { reachableAgents } from '../agent/reachable-agents.ts';
import type { Run } from '../agent/run.ts';
import type { DecideIndeterminate } from '../agent/run-turn-job.ts';
import type { RuntimeCore } from '../agent/runtime-core.ts';
import { type RunSettings, startRun } from '../agent/start-run.ts';
import { SwarmError } from '../errors.ts';
import type { SessionIdentity } from '../ledger/records.ts';
import type { AnyGraph } from './define-graph.ts';
import { graphInputParts } from './graph-input.ts';
import { graphJob, resumeGraphJob } from './graph-job.ts';
import { runNested } from './nested-run.ts';

type Options = RunSettings & { readonly context?: unknown; readonly clientTools?: unknown };

/**
 * Runs a graph on an input, in a session of its own.
 * @throws SwarmError 'invalid-input', 'invalid-definition', 'unknown-agent'
 */
export function startGraph(
  core: RuntimeCore,
  graph: AnyGraph,
  input: unknown,
  options: Options,
): Run<unknown> {
  checkAgents(core, graph, options);
  const parts = graphInputParts(graph, input);
  return startRun(core, options, (run, sessionId) => {
    const identity = { session: sessionId, root: sessionId, agent: graph.name };
    const request = { graph, identity, run, decide: () => 'block' as const };
    return graphJob({ ...request, ...sharedOf(graph, options) }, parts);
  });
}

/** Takes up the open run of a graph. @throws SwarmError 'invalid-definition', 'unknown-agent' */
export function resumeGraph(
  core: RuntimeCore,
  graph: AnyGraph,
  session: { readonly sessionId: string; identity(): Promise<SessionIdentity> },
  options: Options & { readonly indeterminate?: DecideIndeterminate },
): Run<unknown> {
  checkAgents(core, graph, options);
  const decide = options.indeterminate ?? (() => 'block');
  return startRun(core, { ...options, sessionId: session.sessionId }, async (run) => {
    const identity = await session.identity();
    return resumeGraphJob({ graph, identity, run, decide, ...sharedOf(graph, options) });
  });
}

function sharedOf(graph: AnyGraph, { boundTools }: Options) {
  return { lineage: rootLineage(graph), boundTools, runNested };
}

function checkAgents(core: RuntimeCore, graph: AnyGraph, { clientTools }: Options): void {
  if (clientTools !== undefined) {
    throw new SwarmError(
      'invalid-definition',
      `run: clientTools are for an agent, and ${graph.name} is a graph`,
    );
  }
  reachableAgents(graph.agents, core.agents);
}
