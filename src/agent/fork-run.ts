import { SwarmError } from '../errors.ts';
import type { ForkEdit } from '../ledger/fork-point.ts';
import type { ActiveRun } from './active-run.ts';
import { type ClientTools, clientSources } from './client-tools.ts';
import type { Agent, AnyAgent } from './define-agent.ts';
import { checkFork, type ForkRequest, readOrigin, writeFork } from './fork-session.ts';
import { takeUpJob } from './handoff-chain.ts';
import { rootLineage, withOwn } from './lineage.ts';
import { checkOptions } from './option-checks.ts';
import { reachableAgents } from './reachable-agents.ts';
import type { Run } from './run.ts';
import type { DecideIndeterminate } from './run-turn-job.ts';
import type { RuntimeCore } from './runtime-core.ts';
import type { SessionParts } from './session-parts.ts';
import { type RunSettings, startRun } from './start-run.ts';
import { refusedOutcome } from './turn-outcome.ts';

/** Options of `runtime.fork`. */
export type ForkOptions<Output = string> = ForkRequest &
  Omit<RunSettings, 'sessionId'> & {
    /** Who goes on. Default: the agent of the session, by its name in the registry. */
    readonly agent?: Agent<Output, never>;
    readonly context?: unknown;
    /** Tools the run brings along: they are not in the ledger. */
    readonly clientTools?: ClientTools;
    /** What becomes of calls that were entered and whose outcome is unknown. Default `block`: nothing. */
    readonly indeterminate?: DecideIndeterminate;
  };

/** A run of a fork. */
export interface Forked {
  readonly run: Run<unknown>;
  /** Resolves when the session of the fork is durable. @throws SwarmError why there is none */
  readonly written: Promise<void>;
}

/**
 * Writes a new session from a point of another one, and goes on with it.
 * @throws SwarmError 'invalid-fork', 'invalid-input', 'invalid-definition', 'runtime-closed'
 */
export function forkRun(core: RuntimeCore, sessionId: string, options: ForkOptions<unknown>): Forked {
  core.assertOpen();
  checkOptions('fork', options);
  const { atSeq, edit: wanted, agent: given, clientTools, boundTools, discovery } = options;
  const edit = checkFork({ atSeq, ...(wanted === undefined ? {} : { edit: wanted }) }, core.limits);
  const written = Promise.withResolvers<void>();
  // Whoever does not ask hears of it by the result of the run.
  written.promise.catch(() => undefined);
  const run = startRun(core, options, async (active, session) => {
    try {
      const origin = { ledger: await core.ledger, limits: core.limits, sessionId };
      const records = await readOrigin(origin);
      const agent = agentOf(core, given as AnyAgent | undefined, records[0]?.agent ?? '');
      const client = clientSources(agent, clientTools);
      const parts = core.registry.parts(origin.ledger);
      const self = { session, run: active.scope.runId };
      const admitted = await admitEdit(edit, { parts, agent, run: active, session });
      const identity = await writeFork(origin, records, { atSeq, edit: admitted }, self);
      written.resolve();
      return await takeUpJob(parts, {
        agent,
        identity,
        lineage: rootLineage(agent),
        run: active,
        boundTools,
        clientSources: client,
        discovery,
        decide: options.indeterminate ?? (() => 'block'),
      });
    } catch (error) {
      written.reject(error);
      throw error;
    }
  });
  return { run, written: written.promise };
}

interface Admission {
  readonly parts: SessionParts;
  readonly agent: AnyAgent;
  readonly run: ActiveRun;
  readonly session: string;
}

/** Another input passes the gate that every input does. The one of the origin passed it when its turn was opened. */
async function admitEdit(
  edit: ForkEdit | undefined,
  { parts, agent, run, session }: Admission,
): Promise<ForkEdit | undefined> {
  if (edit?.type !== 'input') return edit;
  const { agentPath } = rootLineage(agent);
  const gates = parts.hookRunner.gates([...parts.hooks, ...withOwn([], agent.hooks)]);
  const subject = { sessionId: session, agentPath, runId: run.scope.runId, input: edit.input };
  const gate = await gates.run('beforeTurn', subject, parts.signal);
  if (gate.type !== 'refuse') return { type: 'input', input: gate.subject.input };
  run.ended(refusedOutcome({ kind: 'gate-refused', message: gate.reason }));
  throw new SwarmError('invalid-fork', `a gate refused the input: ${gate.reason}`);
}

function agentOf(core: RuntimeCore, given: AnyAgent | undefined, name: string): AnyAgent {
  const agent = given ?? core.agents.get(name);
  if (agent === undefined) {
    const message = `no agent named ${name} is in the registry of this runtime: add it, or give it as agent`;
    throw new SwarmError('unknown-agent', message);
  }
  reachableAgents([agent], core.agents);
  return agent;
}
