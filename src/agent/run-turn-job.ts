import { createHash } from 'node:crypto';
import { type SessionId, turnIdOf } from '../ids.ts';
import { withArguments } from '../ledger/call-arguments.ts';
import type { UserPart } from '../ledger/content.ts';
import { storeParts } from '../ledger/media.ts';
import type { Failure, NewRecord, SessionIdentity } from '../ledger/records.ts';
import { indeterminateCalls } from '../ledger/recovery.ts';
import { replayTurn } from '../ledger/replay.ts';
import { foldSession, type SessionFacts, type TurnFacts } from '../ledger/turn-facts.ts';
import type { Binding } from '../tools/binding.ts';
import type { DiscoveryOptions } from '../tools/discovery-policy.ts';
import type { IndeterminateDecision } from '../tools/reconcile-call.ts';
import type { AnyToolSource } from '../tools/tool-source.ts';
import type { TurnEnd } from '../turn/close-turn.ts';
import { createTurnScope, openingEntry, restoreTurnScope, resumingEntry } from '../turn/open-turn.ts';
import { runTurn, type TurnEntry } from '../turn/turn-loop.ts';
import type { TurnScope } from '../turn/turn-scope.ts';
import type { ActiveRun } from './active-run.ts';
import type { AnyAgent } from './define-agent.ts';
import { pendingOfTurn } from './pending-approvals.ts';
import { planTurn, readySources } from './plan-turn.ts';
import { type RunResult, refusedResult, resultOfTurn } from './run-result.ts';
import type { OpenSession, SessionJob } from './session-actor.ts';

/** A turn for an agent's session. */
export interface TurnRequest {
  readonly agent: AnyAgent;
  readonly identity: SessionIdentity;
  readonly run: ActiveRun;
  /** Hard ceiling of this run, by tool name. */
  readonly boundTools: readonly string[] | undefined;
  /** Tools the run brings along. */
  readonly clientSources: readonly AnyToolSource[];
  readonly discovery: DiscoveryOptions | undefined;
}

/** What a person or program says of calls whose outcome is unknown. */
export type DecideIndeterminate = (call: {
  readonly callId: string;
  readonly toolName: string;
  readonly operationId: string;
}) => IndeterminateDecision;

/** The job that gives a session a new input. */
export function inputJob(request: TurnRequest, input: readonly UserPart[]): SessionJob {
  return turnJob(request, 'message', (session) => openTurn(session, request, input));
}

/** The job that takes up an open turn where its facts left it. */
export function resumeJob(request: TurnRequest, decide: DecideIndeterminate): SessionJob {
  return turnJob(request, 'resume', (session) => resumeTurn(session, request, decide));
}

function turnJob(
  request: TurnRequest,
  wakes: 'message' | 'resume',
  run: (session: OpenSession) => Promise<RunResult<unknown>>,
): SessionJob {
  const { agent } = request;
  return {
    identity: request.identity,
    hooks: agent.hooks === undefined ? [] : [agent.hooks],
    wakes,
    async run(session) {
      if (!request.run.begin()) return;
      const result = await run(session);
      // Whoever is told of a pause may resume at once, from any process.
      if (result.status === 'paused') session.whenFree(() => request.run.settle(result));
      else request.run.settle(result);
    },
    refuse: (failure) => request.run.settle(refusedResult(failure)),
  };
}

async function openTurn(
  session: OpenSession,
  request: TurnRequest,
  input: readonly UserPart[],
): Promise<RunResult<unknown>> {
  const { facts, parts } = session;
  const refusal = refuseInput(session, request);
  if (refusal !== undefined) return refusedResult(refusal);
  const signal = AbortSignal.any([request.run.stopped, session.leaving]);
  const live = await readySources(request.agent, parts, { ...request, pins: facts.pins, signal });
  const plan = planTurn(request.agent, parts, { ...request, live });
  const agentPath = [request.agent.name];
  const gate = await plan.gates.run(
    'beforeTurn',
    { sessionId: request.identity.session, agentPath, runId: request.run.scope.runId, input },
    parts.signal,
  );
  if (gate.type === 'refuse') return refusedResult({ kind: 'gate-refused', message: gate.reason });
  const stored = await storeParts(gate.subject.input, parts.ledger);
  const ordinal = facts.turns.length + 1;
  const scopeParts = {
    // The identity was checked or made where the run began.
    turnId: turnIdOf(request.identity.session as SessionId, ordinal),
    plan,
    run: request.run.scope,
    session: session.turnSession(agentPath),
    history: facts.turns,
  };
  const before = facts.opened === undefined ? [sessionOpened(request.agent.binding, agentPath)] : [];
  const scope = createTurnScope(scopeParts);
  return drive(session, request.run, scope, openingEntry(scopeParts, ordinal, stored, before));
}

function refuseInput(session: OpenSession, request: TurnRequest): Failure | undefined {
  const { facts, parts, log } = session;
  if (facts.openTurn !== undefined) {
    const message = `the turn ${facts.openTurn.turnId} of the session is open: resume or abandon it first`;
    return { kind: 'turn-open', message };
  }
  if (log.headSeq >= parts.limits.ledger.maxSessionRecords) {
    const message = `the session holds ${log.headSeq} records, ${parts.limits.ledger.maxSessionRecords} may be`;
    return { kind: 'session-full', message };
  }
  const over = request.run.scope.budget.reserveAgent();
  return over === undefined
    ? undefined
    : { kind: 'agent-budget', message: `the run may have ${over.limit} agents` };
}

function sessionOpened(binding: Binding, agentPath: readonly string[]): NewRecord {
  const ceiling = binding.tools.map((bound) => bound.name);
  const ceilingHash = createHash('sha256')
    .update([...ceiling].sort().join('\n'))
    .digest('hex');
  return {
    type: 'session.opened',
    data: { kind: 'agent', ceiling, ceilingHash, agentPath: [...agentPath], depth: agentPath.length - 1 },
  };
}

async function resumeTurn(
  session: OpenSession,
  request: TurnRequest,
  decide: DecideIndeterminate,
): Promise<RunResult<unknown>> {
  const { facts, parts } = session;
  if (facts.openTurn === undefined) {
    return refusedResult({ kind: 'nothing-to-resume', message: 'the session has no open turn' });
  }
  const turn = await withArguments(facts.openTurn, parts.ledger);
  // The ceiling of the turn is the one it was opened with: what a newer definition adds stays out.
  const opened = turn.opened.data;
  const signal = AbortSignal.any([request.run.stopped, session.leaving]);
  const live = await readySources(request.agent, parts, { ...request, opened, pins: facts.pins, signal });
  const plan = planTurn(request.agent, parts, { ...request, opened, live });
  request.run.scope.budget.reserveAgent();
  request.run.takeUp(turn);
  const records = await parts.ledger.read(request.identity.session);
  const replay = replayTurn(records, turn.turnId);
  const scope = restoreTurnScope(
    {
      turnId: turnIdOf(request.identity.session as SessionId, turn.opened.data.ordinal),
      plan,
      run: request.run.scope,
      session: session.turnSession(facts.opened?.data.agentPath ?? [request.agent.name]),
      history: facts.turns.filter((one) => one.turnId !== turn.turnId),
    },
    turn,
    replay.turn,
  );
  const entry = resumingEntry(scope, turn, decisionsFor(turn, decide), replay.whilePaused);
  return drive(session, request.run, scope, entry);
}

function decisionsFor(
  turn: TurnFacts,
  decide: DecideIndeterminate,
): ReadonlyMap<string, IndeterminateDecision> {
  return new Map(indeterminateCalls(turn).map((call) => [call.callId, decide(call)]));
}

async function drive(
  session: OpenSession,
  run: ActiveRun,
  scope: TurnScope,
  entry: TurnEntry,
): Promise<RunResult<unknown>> {
  session.setTurn(scope);
  run.attach(scope);
  const end = await runTurn(scope, entry);
  session.setTurn(undefined);
  if (end.type === 'detached' && end.failure.kind !== 'runtime-closed') session.broke(end.failure.kind);
  // A turn without an end in this process leaves its machines behind.
  if (end.type !== 'closed') session.parts.lifecycle.stopTree(scope.turnId);
  return resultOfTurn(end, {
    meter: run.scope.usage,
    progress: scope.progress,
    ...(await leftOpen(session, end)),
  });
}

async function leftOpen(
  session: OpenSession,
  end: TurnEnd,
): Promise<Pick<Parameters<typeof resultOfTurn>[1], 'approvals' | 'calls'>> {
  if (end.type !== 'paused') return { approvals: [], calls: [] };
  const facts: SessionFacts = foldSession(await session.parts.ledger.read(session.log.identity.session));
  const turn = facts.openTurn;
  if (turn === undefined) return { approvals: [], calls: [] };
  return {
    approvals: pendingOfTurn(
      session.log.identity.session,
      facts,
      await withArguments(turn, session.parts.ledger),
    ),
    calls: indeterminateCalls(turn),
  };
}
