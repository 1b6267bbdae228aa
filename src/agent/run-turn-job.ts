import { type SessionId, turnIdOf } from '../ids.ts';
import { withArguments } from '../ledger/call-arguments.ts';
import type { UserPart } from '../ledger/content.ts';
import { storeParts } from '../ledger/media.ts';
import type { Failure, SessionIdentity } from '../ledger/records.ts';
import { indeterminateCalls } from '../ledger/recovery.ts';
import { replayTurn } from '../ledger/replay.ts';
import { foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import type { DiscoveryOptions } from '../tools/discovery-policy.ts';
import type { IndeterminateDecision } from '../tools/reconcile-call.ts';
import type { AnyToolSource } from '../tools/tool-source.ts';
import type { TurnEnd } from '../turn/close-turn.ts';
import { createTurnScope, openingEntry, restoreTurnScope, resumingEntry } from '../turn/open-turn.ts';
import { runTurn, type TurnEntry } from '../turn/turn-loop.ts';
import type { TurnPlan, TurnScope } from '../turn/turn-scope.ts';
import { ceilingIn, checkCeiling, sessionOpened } from './ceiling.ts';
import type { AnyAgent } from './define-agent.ts';
import type { Lineage } from './lineage.ts';
import { pendingOfTurn } from './pending-approvals.ts';
import { planTurn, readySources } from './plan-turn.ts';
import type { OpenSession, SessionJob, SessionParts } from './session-actor.ts';
import { tallyTree } from './tally-tree.ts';
import { type LeftOpen, outcomeOf, refusedOutcome, type TurnOutcome } from './turn-outcome.ts';
import type { TurnOwner } from './turn-owner.ts';

/** A turn for an agent's session. */
export interface TurnRequest {
  readonly agent: AnyAgent;
  readonly identity: SessionIdentity;
  readonly lineage: Lineage;
  readonly run: TurnOwner;
  /** Hard ceiling of the run, by tool name. */
  readonly boundTools: readonly string[] | undefined;
  /** Tools the run brings along, for its root alone. */
  readonly clientSources: readonly AnyToolSource[];
  readonly discovery: DiscoveryOptions | undefined;
  /** What is to become of calls whose outcome is unknown, at every depth. */
  readonly decide: DecideIndeterminate;
}

/** What a person or program says of calls whose outcome is unknown. */
export type DecideIndeterminate = (call: {
  readonly callId: string;
  readonly toolName: string;
  readonly operationId: string;
}) => IndeterminateDecision;

/** What follows a turn that handed over: makes the next turn and gives it to its session. Never rejects. */
export type FollowHandoff = (
  request: TurnRequest,
  outcome: Extract<TurnOutcome, { readonly type: 'handed-off' }>,
  session: OpenSession,
) => void;

/** The job that gives a session a new input. */
export function inputJob(
  request: TurnRequest,
  input: readonly UserPart[],
  follow: FollowHandoff,
): SessionJob {
  return turnJob(request, 'message', follow, (session) => openTurn(session, request, input));
}

/** The job that takes up an open turn where its facts left it. */
export function resumeJob(request: TurnRequest, follow: FollowHandoff): SessionJob {
  return turnJob(request, 'resume', follow, (session) => resumeTurn(session, request));
}

function turnJob(
  request: TurnRequest,
  wakes: 'message' | 'resume',
  follow: FollowHandoff,
  run: (session: OpenSession) => Promise<TurnOutcome>,
): SessionJob {
  const { agent, run: owner } = request;
  return {
    identity: request.identity,
    hooks: agent.hooks === undefined ? [] : [agent.hooks],
    wakes,
    async run(session) {
      if (!owner.begin()) return;
      const outcome = await run(session);
      if (outcome.type === 'handed-off') follow(request, outcome, session);
      // Whoever is told of a pause may resume at once, from any process.
      else if (outcome.type === 'paused') session.whenFree(() => owner.ended(outcome));
      else owner.ended(outcome);
    },
    refuse: (failure) => owner.ended(refusedOutcome(failure)),
  };
}

async function openTurn(
  session: OpenSession,
  request: TurnRequest,
  input: readonly UserPart[],
): Promise<TurnOutcome> {
  const { facts, parts } = session;
  const { agentPath } = request.lineage;
  const refusal = refuseInput(session, request);
  if (refusal !== undefined) return refusedOutcome(refusal);
  const signal = AbortSignal.any([request.run.stopped, session.leaving]);
  const live = await readySources(request.agent, parts, { ...request, pins: facts.pins, signal });
  const plan = planTurn(request.agent, parts, { ...request, budget: budgetOf(request), live });
  const over = reserveRoot(request, plan);
  if (over !== undefined) return refusedOutcome(over);
  const gate = await plan.gates.run(
    'beforeTurn',
    { sessionId: request.identity.session, agentPath, runId: request.run.scope.runId, input },
    parts.signal,
  );
  if (gate.type === 'refuse') return refusedOutcome({ kind: 'gate-refused', message: gate.reason });
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
  const before = facts.opened === undefined ? [sessionOpened(request, ceilingIn(request, parts))] : [];
  const scope = createTurnScope(scopeParts);
  return drive(session, request.run, scope, openingEntry(scopeParts, ordinal, stored, before));
}

function budgetOf({ run }: TurnRequest) {
  return run.scope.budget.options;
}

function refuseInput(session: OpenSession, request: TurnRequest): Failure | undefined {
  const { facts, parts, log } = session;
  if (log.identity.parent !== request.identity.parent) return belongsElsewhere(log.identity);
  if (facts.openTurn !== undefined) {
    const message = `the turn ${facts.openTurn.turnId} of the session is open: resume or abandon it first`;
    return { kind: 'turn-open', message };
  }
  if (log.headSeq >= parts.limits.ledger.maxSessionRecords) {
    const message = `the session holds ${log.headSeq} records, ${parts.limits.ledger.maxSessionRecords} may be`;
    return { kind: 'session-full', message };
  }
  return undefined;
}

/** Alone, a child would be held to nothing of what holds for it: its parent's policies, gates and ceiling. */
function belongsElsewhere({ session, root }: SessionIdentity): Failure {
  return {
    kind: 'child-session',
    message: `the session ${session} belongs to the run of ${root}, and goes on with it`,
  };
}

/** Whoever asks a child takes its place before there is a session. */
function reserveRoot({ identity, run }: TurnRequest, { limits }: TurnPlan): Failure | undefined {
  if (identity.parent !== undefined) return undefined;
  const over = run.scope.budget.reserveAgent(limits.agents);
  return over === undefined
    ? undefined
    : { kind: 'agent-budget', message: `the run may have ${over.limit} agents` };
}

async function resumeTurn(session: OpenSession, request: TurnRequest): Promise<TurnOutcome> {
  const { facts, parts, log } = session;
  if (facts.openTurn === undefined) {
    return refusedOutcome({ kind: 'nothing-to-resume', message: 'the session has no open turn' });
  }
  if (log.identity.parent !== request.identity.parent) return refusedOutcome(belongsElsewhere(log.identity));
  const wider = checkCeiling(request, parts, facts.opened);
  const turn = await withArguments(facts.openTurn, parts.ledger);
  await takeUpRun(request, parts);
  // The ceiling of the turn is the one it was opened with: what a newer definition adds stays out.
  const opened = turn.opened.data;
  const signal = AbortSignal.any([request.run.stopped, session.leaving]);
  const live = await readySources(request.agent, parts, { ...request, opened, pins: facts.pins, signal });
  const plan = planTurn(request.agent, parts, { ...request, budget: budgetOf(request), opened, live });
  const records = await parts.ledger.read(request.identity.session);
  const replay = replayTurn(records, turn.turnId);
  const scope = restoreTurnScope(
    {
      turnId: turnIdOf(request.identity.session as SessionId, turn.opened.data.ordinal),
      plan,
      run: request.run.scope,
      session: session.turnSession(request.lineage.agentPath),
      history: facts.turns.filter((one) => one.turnId !== turn.turnId),
    },
    turn,
    replay.turn,
  );
  // Taken up to be ended: nothing of it goes on beyond what those above it may do.
  if (wider !== undefined) scope.stop.stop({ type: 'failed', failure: wider });
  const entry = resumingEntry(scope, turn, decisionsFor(turn, request.decide), replay.whilePaused);
  return drive(session, request.run, scope, entry);
}

/** What the run used before counts once, for all of its sessions together, where its root is taken up. */
async function takeUpRun({ run, identity }: TurnRequest, { ledger }: SessionParts): Promise<void> {
  if (run.takeUp === undefined) return;
  const records = await ledger.read(identity.root);
  const turn = foldSession(records).turns.at(-1);
  if (turn === undefined) return;
  run.takeUp(turn, await tallyTree(ledger, records[0]?.agent ?? '', [turn]));
}

function decisionsFor(
  turn: TurnFacts,
  decide: DecideIndeterminate,
): ReadonlyMap<string, IndeterminateDecision> {
  return new Map(indeterminateCalls(turn).map((call) => [call.callId, decide(call)]));
}

async function drive(
  session: OpenSession,
  owner: TurnOwner,
  scope: TurnScope,
  entry: TurnEntry,
): Promise<TurnOutcome> {
  session.setTurn(scope);
  owner.attach(scope);
  const end = await runTurn(scope, entry);
  session.setTurn(undefined);
  if (end.type === 'detached' && end.failure.kind !== 'runtime-closed') session.broke(end.failure.kind);
  // A turn without an end in this process leaves its machines behind.
  if (end.type !== 'closed') session.parts.lifecycle.stopTree(scope.turnId);
  return outcomeOf(end, scope.progress, await leftOpen(session, end));
}

async function leftOpen(session: OpenSession, end: TurnEnd): Promise<LeftOpen> {
  if (end.type !== 'paused') return { approvals: [], calls: [] };
  const { ledger } = session.parts;
  const { session: sessionId } = session.log.identity;
  const facts = foldSession(await ledger.read(sessionId));
  const turn = facts.openTurn;
  if (turn === undefined) return { approvals: [], calls: [] };
  return {
    approvals: pendingOfTurn(sessionId, facts, await withArguments(turn, ledger)),
    calls: indeterminateCalls(turn),
  };
}
