import { abandonTree } from './agent/abandon-tree.ts';
import { type Approvals, createApprovals } from './agent/approvals.ts';
import type { ClientTools } from './agent/client-tools.ts';
import type { Agent } from './agent/define-agent.ts';
import { type ForkOptions, forkRun } from './agent/fork-run.ts';
import { checkOptions } from './agent/option-checks.ts';
import { placedSession, wakeWorkers } from './agent/pool-desk.ts';
import { createRanAgents, type RanAgents } from './agent/ran-agents.ts';
import type { Run } from './agent/run.ts';
import type { DecideIndeterminate } from './agent/run-turn-job.ts';
import { RuntimeCore } from './agent/runtime-core.ts';
import type { RuntimeOptions } from './agent/runtime-options.ts';
import { withinTree } from './agent/session-tree.ts';
import { createSessions, type Sessions } from './agent/sessions.ts';
import type { RunSettings } from './agent/start-run.ts';
import { SwarmError } from './errors.ts';
import type { SinkStats } from './events/outbox.ts';
import type { Graph } from './graph/define-graph.ts';
import type { Swarm } from './graph/define-swarm.ts';
import { queueResume, queueTarget } from './graph/queue-target.ts';
import type { InputFor, OptionsFor, OutputFor, RunTarget } from './graph/run-target.ts';
import {
  type AnyTarget,
  resumeTarget,
  startTarget,
  type TargetSettings,
  targetOf,
} from './graph/start-target.ts';
import { keepWork } from './graph/turn-work.ts';
import type { SessionSummary } from './ledger/ledger.ts';
import { type RecoveryReport, reportOf } from './ledger/recovery.ts';
import type { HookStats } from './lifecycle/hook-stats.ts';
import type { InspectedRuntime } from './lifecycle/inspector.ts';

/** Options of {@link Runtime.resume}. */
export type ResumeOptions = Omit<RunSettings, 'sessionId'> & {
  readonly context?: unknown;
  /** Tools the run brought along: they are not in the ledger. Those left out count as withdrawn. */
  readonly clientTools?: ClientTools;
  /** What becomes of calls that were entered and whose outcome is unknown. Default `block`: nothing. */
  readonly indeterminate?: DecideIndeterminate;
};

/** Runs agents: owns their machines, sessions and events in this process. */
export interface Runtime extends AsyncDisposable {
  /**
   * Gives an agent, graph or swarm an input: one for a graph is parsed by its schema, one for a swarm is for its
   * supervisor. A name stands for what has it in the registry. Returns at once; everything that can happen is in
   * `run.result`.
   * @throws SwarmError 'invalid-input', 'invalid-limit', 'invalid-definition', 'runtime-closed'; 'unknown-agent' for a
   * name, or an agent to hand over to, that is not in the registry; with a pool 'not-queueable'
   */
  run<Target extends RunTarget>(
    target: Target,
    input: InputFor<Target>,
    ...options: OptionsFor<Target>
  ): Run<OutputFor<Target>>;
  readonly approvals: Approvals;
  /** What ended processes left open: of one session and those below it, or of all. Executes nothing. */
  recover(sessionId?: string): Promise<readonly RecoveryReport[]>;
  /**
   * Takes up the open turn of a session. A provider request without an answer is sent again; a call that was
   * entered and has no outcome is left alone unless `indeterminate` decides. Children that are open go on with it, and
   * so does the agent it handed over to.
   * @throws SwarmError 'unknown-agent', 'runtime-closed'
   */
  resume<Output = string>(
    target: Agent<Output, never> | Graph<never, Output, never> | Swarm<Output, never> | string,
    sessionId: string,
    options?: ResumeOptions,
  ): Run<Output>;
  /**
   * Goes on from any point of a session, finished or open, in a new one. What was recorded up to `atSeq` is taken over:
   * answers are not asked for and tools are not run again, and effects of hooks not repeated. The new session is linked
   * to the fact it comes from by its hash, in `origin` of its first fact; the old one is only read.
   *
   * There is no way on from inside of a step: a step whose answer was not complete is taken again, and calls of the
   * last complete answer come with their outcomes even where those are later than `atSeq`. A call that was entered and
   * has no outcome stays unknown (`indeterminate`). The end of a turn is left out: a finished one ends again as it did.
   * Readers of events and sinks hear of what was taken over as facts of the new session, after its `session.opened`.
   *
   * Another input passes the gate `beforeTurn`; the recorded one did when its turn was opened. Approvals for the session
   * hold in its fork.
   *
   * What cannot be forked is in `run.result`: `unknown-session`, `invalid-fork` (no such point, a graph, an edit that
   * does not fit), `child-session`, `unknown-agent`, `gate-refused`, `ledger-corrupt`.
   * @throws SwarmError 'invalid-fork', 'invalid-input', 'input-too-large', 'invalid-definition', 'runtime-closed'
   * @example
   * const facts = await runtime.sessions.read(sessionId);
   * const settled = facts.find(({ type }) => type === 'tool.settled');
   * const run = runtime.fork(sessionId, { atSeq: settled.seq, edit: { result: 'The disk is full.' } });
   */
  fork<Output = string>(sessionId: string, options: ForkOptions<Output>): Run<Output>;
  /** Closes the open turn of a session, and those below it, as interrupted. @throws SwarmError 'unknown-session', 'nothing-to-resume' */
  abandon(sessionId: string, reason: string): Promise<void>;
  readonly sessions: Sessions;
  /** How often each hook fired, failed or hung. */
  hookStats(): HookStats;
  /** How far each sink is. */
  sinkStats(): readonly SinkStats[];
  /**
   * Takes no more runs, lets turns go on for `drainMs` (default 0), then leaves those still open resumable in the
   * ledger: their runs fail with kind `runtime-closed`. Closes the ledger. Idempotent.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/**
 * Makes a runtime. It holds no timer and no socket while nothing runs.
 * @throws SwarmError 'invalid-definition', 'invalid-limit', 'invalid-machine'
 * @example
 * await using runtime = createRuntime({ ledger: sqliteLedger({ path: 'swarm.db' }) });
 * const result = await runtime.run(reviewer, 'Review src/main.ts').result;
 */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  assertShared(options);
  const core = new RuntimeCore(options);
  const ran = createRanAgents();
  const runtime = runtimeOf(core, ran);
  options.inspect?.watch?.(watchedSide(core, runtime, ran));
  return runtime;
}

/** The ledger that is made where none is given is in the memory of this runtime alone: its workers would never see it. */
function assertShared({ pool, ledger }: RuntimeOptions): void {
  if (pool === undefined || ledger !== undefined) return;
  throw new SwarmError(
    'invalid-definition',
    'createRuntime: a pool needs the ledger of its workers: give `ledger`',
  );
}

function runtimeOf(core: RuntimeCore, ran: RanAgents): Runtime {
  const runtime: Runtime = {
    run: (target: AnyTarget | string, input: unknown, ...rest: readonly (TargetSettings | undefined)[]) => {
      ran.note(target);
      return runTarget(core, target, input, rest[0] ?? {});
    },
    approvals: createApprovals(core),
    recover: (sessionId) => recover(core, sessionId),
    resume: (target, sessionId, resumeOptions) => {
      ran.note(target);
      return resume(core, target as AnyTarget | string, sessionId, resumeOptions ?? {});
    },
    // The output was parsed by the schema of the agent; without one it is the text.
    fork: <Output>(sessionId: string, forkOptions: ForkOptions<Output>) =>
      forkRun(core, sessionId, forkOptions as ForkOptions<unknown>).run as Run<Output>,
    abandon: (sessionId, reason) => abandon(core, sessionId, reason),
    sessions: createSessions(core),
    hookStats: () => core.hookRunner.stats(),
    sinkStats: () => core.outbox?.stats() ?? [],
    close: (closeOptions) => core.close(closeOptions?.drainMs ?? 0),
    [Symbol.asyncDispose]: () => core.close(0),
  };
  keepWork(runtime, core);
  return runtime;
}

/** What an inspector may see and ask: the same that any caller may. */
function watchedSide(core: RuntimeCore, { approvals, sessions }: Runtime, ran: RanAgents): InspectedRuntime {
  return {
    ledger: core.ledger,
    clock: core.clock,
    pending: () => approvals.pending(),
    decide: (id, decision) => approvals.decide(id, decision),
    steer: (sessionId, text) => sessions.steer(sessionId, text),
    cancel: (sessionId, reason) => sessions.cancel(sessionId, reason),
    async fork(sessionId, atSeq) {
      const [first] = await (await core.ledger).read(sessionId);
      const agent = core.agents.has(first?.agent ?? '') ? undefined : ran.find(first?.agent ?? '');
      // Its output is of no interest here, whatever its type.
      const given = agent === undefined ? {} : { agent: agent as Agent<unknown, never> };
      const { run, written } = forkRun(core, sessionId, { atSeq, ...given });
      await written;
      return run.sessionId;
    },
  };
}

/** The types of `run` tie those of target, input and result to each other. */
function runTarget(
  core: RuntimeCore,
  target: AnyTarget | string,
  input: unknown,
  options: TargetSettings,
): Run<never> {
  core.assertOpen();
  checkOptions('run', options);
  const run =
    core.pool === undefined
      ? startTarget(core, targetOf(core, target), input, options)
      : queueTarget(core, target, input, options);
  // The output was parsed by the schema of the agent, or is the text, or what the output node of a graph yields.
  return run as Run<never>;
}

function resume<Output>(
  core: RuntimeCore,
  target: AnyTarget | string,
  sessionId: string,
  options: ResumeOptions,
): Run<Output> {
  core.assertOpen();
  checkOptions('resume', options);
  const run =
    core.pool === undefined
      ? resumeTarget(core, target, sessionId, options)
      : queueResume(core, target, sessionId, options);
  return run as Run<Output>;
}

async function recover(core: RuntimeCore, sessionId: string | undefined): Promise<readonly RecoveryReport[]> {
  const ledger = await core.ledger;
  const all = await ledger.listOpen();
  const open = sessionId === undefined ? all : withinTree(all, sessionId);
  const sessions = await ledger.sessions();
  const ids = new Set(sessions.map((one) => one.sessionId));
  const tree = sessionId === undefined ? sessions : withinTree(sessions, sessionId);
  const gaveWay = tree.filter((one) => one.openTurn === undefined && mayHaveGivenWay(core, one, sessionId));
  const reports = await Promise.all(
    [...gaveWay, ...open].map(async (one) =>
      reportOf(
        await ledger.read(one.sessionId),
        one.owned,
        (id) => ids.has(id),
        runsSwarm(core, one) && all.some(({ parentId }) => parentId === one.sessionId),
      ),
    ),
  );
  return reports.filter((report) => report !== undefined);
}

/**
 * Between two turns of a swarm, and before the turn of an agent that takes over, no turn is open: whether the run is
 * over is said by its facts alone.
 */
function mayHaveGivenWay(core: RuntimeCore, session: SessionSummary, wanted: string | undefined): boolean {
  const { sessionId, agent } = session;
  if (sessionId === wanted || (core.agents.get(agent)?.handoffs.length ?? 0) > 0) return true;
  return wanted === undefined && runsSwarm(core, session);
}

function runsSwarm(core: RuntimeCore, { agent }: SessionSummary): boolean {
  return core.definitions.get(agent)?.kind === 'swarm';
}

async function abandon(core: RuntimeCore, sessionId: string, reason: string): Promise<void> {
  core.assertOpen();
  await abandonTree(core, sessionId, reason);
  const ledger = await core.ledger;
  // Whoever gave the run to the pool is told by a worker how it ended.
  const head = core.pool === undefined ? undefined : await ledger.head(sessionId);
  if (core.pool === undefined || head === undefined) return;
  const session = await placedSession(ledger, sessionId);
  await wakeWorkers(core.pool, ledger, { session, cause: `abandoned ${head.seq}` });
}
