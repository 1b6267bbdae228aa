import type { Clock } from '../clock.ts';
import { createLiveBus } from '../events/live-bus.ts';
import type { SessionId } from '../ids.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Failure, LedgerRecord, RecordOf } from '../ledger/records.ts';
import { foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import type { IndeterminateDecision } from '../tools/reconcile-call.ts';
import { BUDGET_FAILURE, type BudgetOptions, createRunBudget } from '../turn/run-budget.ts';
import type { StopCause } from '../turn/stop-signal.ts';
import type { RunScope } from '../turn/turn-scope.ts';
import { createUsageMeter } from '../turn/usage-meter.ts';
import { type ChildEnd, type ChildRequest, runChild } from './child-sessions.ts';
import type { AnyAgent } from './define-agent.ts';
import { definitionHash } from './definition-hash.ts';
import { type Lineage, withOwn } from './lineage.ts';
import { agentsByName } from './reachable-agents.ts';
import type { RunResult } from './run-result.ts';
import type { RuntimeCore } from './runtime-core.ts';
import type { SessionParts } from './session-parts.ts';
import type { WorkUnit } from './turn-owner.ts';
import { whenUnwanted } from './wanted-child.ts';

/** What the facts of a parent say of a child that any worker may have. */
export interface PlacedTask {
  readonly session: string;
  readonly parent: string;
  readonly root: string;
  /** Id of the run that all of them belong to. */
  readonly run: string;
  readonly intended: RecordOf<'child.intended'>;
  /** The turn that asked. */
  readonly turn: TurnFacts;
  readonly opened: RecordOf<'session.opened'> | undefined;
}

/**
 * The task of a child; undefined where its parent knows of no such child, or has its result already.
 * @throws SwarmError of the ledger
 */
export async function placedTask(
  ledger: Ledger,
  session: string,
  parent: string,
): Promise<PlacedTask | undefined> {
  const records = await ledger.read(parent);
  const facts = foldSession(records);
  const turn = facts.turns.findLast(({ children }) => children.has(session));
  const child = turn?.children.get(session);
  if (turn === undefined || child?.intended.data.grant === undefined) return undefined;
  const isOver = turn.closed !== undefined || child.finished !== undefined || child.lost !== undefined;
  if (isOver) return undefined;
  const { root } = child.intended;
  const { opened } = facts;
  return { session, parent, root, run: turn.opened.data.run, intended: child.intended, turn, opened };
}

/** The session that asked for a child that any worker may have; undefined for every other session. */
export async function placedParent(
  ledger: Ledger,
  records: readonly LedgerRecord[],
): Promise<string | undefined> {
  const [first] = records;
  if (first?.parent === undefined) return undefined;
  const { turns } = foldSession(await ledger.read(first.parent));
  const intended = turns.findLast(({ children }) => children.has(first.session))?.children.get(first.session);
  return intended?.intended.data.grant === undefined ? undefined : first.parent;
}

/** What a worker was told of a child beside its task. */
export interface PlacedOrder {
  readonly unit: WorkUnit;
  readonly decisions: Readonly<Record<string, IndeterminateDecision>>;
  /** It is taken up to be ended. */
  readonly stop: { readonly reason: string } | undefined;
  /** Whether its parent waits for it still. */
  isWanted(): Promise<boolean>;
}

/**
 * Runs a child here, or takes it up, held to what its parent granted.
 * @throws SwarmError of the ledger
 */
export async function runPlaced(
  core: RuntimeCore,
  parts: SessionParts,
  task: PlacedTask,
  order: PlacedOrder,
): Promise<RunResult<unknown>> {
  const known = agentsByName(core.agents);
  const refusal = unfitness(task, known);
  if (refusal !== undefined) return failed(refusal);
  const run = scopeOf(core, task);
  const stop = createStop(core.clock, run.budget.options.wallMs, order);
  try {
    const end = await runChild(parts, {
      ...requestOf(task, known),
      run,
      unit: unitOf(order),
      signal: stop.signal,
      stopCause: stop.cause,
      decide: ({ callId }) => order.decisions[callId] ?? 'block',
    });
    return resultOfEnd(end);
  } finally {
    stop.dispose();
    run.live.close();
  }
}

function pathOf({ opened, intended }: PlacedTask): readonly string[] {
  return [...(opened?.data.agentPath ?? []), intended.data.agent];
}

/** Why the definitions here are not those the child was asked with. */
function unfitness(task: PlacedTask, known: ReadonlyMap<string, AnyAgent>): Failure | undefined {
  const missing = pathOf(task).find((name) => !known.has(name));
  if (missing !== undefined) {
    return { kind: 'unknown-agent', message: `no agent named ${missing} is registered here` };
  }
  const { agent: name, grant } = task.intended.data;
  const agent = known.get(name);
  if (agent === undefined || grant?.definition === definitionHash(agent)) return undefined;
  return { kind: 'definition-mismatch', message: `${name} is another one here than its parent asked` };
}

/** What the run of the child has to itself. What it used in an earlier process is counted by whoever has its session. */
function scopeOf({ limits }: RuntimeCore, task: PlacedTask): RunScope {
  const { grant } = task.intended.data;
  const budget = createRunBudget((grant?.budget ?? {}) as BudgetOptions);
  budget.reserveAgent(grant?.bounds.agents ?? 1);
  return {
    runId: task.run,
    context: undefined,
    onApproval: 'pause',
    budget,
    usage: createUsageMeter(),
    live: createLiveBus(limits.events),
  };
}

function requestOf(
  task: PlacedTask,
  known: ReadonlyMap<string, AnyAgent>,
): Pick<ChildRequest, 'sessionId' | 'agent' | 'input' | 'parent' | 'boundTools' | 'lineage'> {
  const { session, parent, root, intended, opened } = task;
  const { agent, input = '', grant } = intended.data;
  const agentPath = pathOf(task);
  const above = agentPath.slice(0, -1).flatMap((name) => known.get(name) ?? []);
  return {
    // Derived from that of the parent, as every session of a child.
    sessionId: session as SessionId,
    // Whether it is known was looked at before.
    agent: known.get(agent) as AnyAgent,
    input: [{ type: 'text', text: input }],
    parent: { session: parent, root },
    boundTools: grant?.boundTools,
    lineage: {
      agentPath,
      depth: (opened?.data.depth ?? 0) + 1,
      permission: above.reduce<Lineage['permission']>((all, one) => withOwn(all, one.permission), []),
      hooks: above.reduce<Lineage['hooks']>((all, one) => withOwn(all, one.hooks), []),
      ...(grant === undefined ? {} : { bounds: grant.bounds }),
      ...(opened === undefined ? {} : { ceiling: opened.data.ceiling }),
      isAsked: true,
    },
  };
}

/** Why a child ends whose parent has ended. */
export const UNWANTED = 'its parent has ended';

/** What ends the child from outside: whoever wants it ended, the end of its parent, or the clock. */
function createStop(clock: Clock, wallMs: number | undefined, { stop, isWanted }: PlacedOrder) {
  const controller = new AbortController();
  const over = new AbortController();
  let cause: StopCause | undefined;
  const end = (why: StopCause) => {
    cause ??= why;
    controller.abort();
  };
  if (stop !== undefined) end({ type: 'cancelled', reason: stop.reason });
  const tell = () => end({ type: 'cancelled', reason: UNWANTED });
  void whenUnwanted(clock, over.signal, { isWanted, tell });
  const failure = {
    kind: BUDGET_FAILURE.wallMs,
    message: `the wall clock budget of ${wallMs ?? 0} ms is used up`,
  };
  const timer =
    wallMs === undefined
      ? undefined
      : clock.setTimeout(() => end({ type: 'failed', failure }), Math.min(wallMs, 0x7fffffff));
  return {
    signal: controller.signal,
    cause: (): StopCause => cause ?? { type: 'interrupted', reason: 'it was stopped' },
    dispose() {
      over.abort();
      clock.clearTimeout(timer);
    },
  };
}

/** As with {@link resultOfEnd}: whatever a child completed with, it is told to have ended its turn. */
function unitOf({ unit }: PlacedOrder): WorkUnit {
  return {
    ...unit,
    commitEnd(session, batch, result) {
      const told = result.status === 'completed' ? ({ ...result, stopReason: 'end-turn' } as const) : result;
      return unit.commitEnd(session, batch, told);
    },
  };
}

function failed(error: Failure): RunResult<unknown> {
  const usage = { total: {}, byAgent: {}, reported: {} };
  return { status: 'failed', error, text: '', usage, steps: 0, toolCalls: 0 };
}

function resultOfEnd(end: ChildEnd): RunResult<unknown> {
  const { usage, steps, toolCalls } = end;
  const counted = { usage, steps, toolCalls };
  switch (end.type) {
    case 'completed':
      return {
        status: 'completed',
        output: end.output,
        text: end.text,
        stopReason: 'end-turn',
        ...counted,
      };
    case 'failed':
      return { status: 'failed', error: end.failure, text: end.text, ...counted };
    case 'cancelled':
      return { status: 'cancelled', reason: end.reason, text: end.text, ...counted };
    case 'paused':
      return {
        status: 'paused',
        reason: end.reason,
        approvals: end.approvals,
        calls: end.calls,
        ...counted,
      };
    case 'left':
    case 'lost':
      return { status: 'failed', error: end.failure, text: '', ...counted };
  }
}
