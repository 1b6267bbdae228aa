import { type SessionId, turnIdOf } from '../ids.ts';
import { withArguments } from '../ledger/call-arguments.ts';
import type { UserPart } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { storeParts } from '../ledger/media.ts';
import type { Failure, SessionIdentity } from '../ledger/records.ts';
import { indeterminateCalls } from '../ledger/recovery.ts';
import { replayTurn } from '../ledger/replay.ts';
import { foldSession, type TurnFacts } from '../ledger/turn-facts.ts';
import type { BoundTool } from '../tools/binding.ts';
import type { DiscoveryOptions } from '../tools/discovery-policy.ts';
import type { IndeterminateDecision } from '../tools/reconcile-call.ts';
import type { AnyToolSource } from '../tools/tool-source.ts';
import type { TurnEnd } from '../turn/close-turn.ts';
import {
  createTurnScope,
  openingEntry,
  restoreTurnScope,
  resumingEntry,
  type ScopeParts,
  type WakeData,
} from '../turn/open-turn.ts';
import { runTurn, type TurnEntry } from '../turn/turn-loop.ts';
import type { TurnPlan, TurnScope } from '../turn/turn-scope.ts';
import { ceilingIn, checkCeiling, sessionOpened } from './ceiling.ts';
import type { AnyAgent } from './define-agent.ts';
import { setGrantsAside } from './granted-budget.ts';
import type { Lineage } from './lineage.ts';
import { type OpenTurn, openInTree } from './open-tree.ts';
import { giveUpOrphans } from './orphaned-children.ts';
import { oversizedInput } from './oversized-input.ts';
import { pendingOfTurn } from './pending-approvals.ts';
import { planTurn, readySources } from './plan-turn.ts';
import { resultOf } from './run-result.ts';
import type { OpenSession, SessionJob } from './session-parts.ts';
import { readOnce, tallyTree } from './tally-tree.ts';
import { type LeftOpen, outcomeOf, refusedOutcome, type TurnOutcome } from './turn-outcome.ts';
import type { TurnOwner } from './turn-owner.ts';
import type { DelegatingTurn, TurnBefore } from './turn-ways.ts';

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
  /** Id of the record that the turn is opened for. */
  readonly cause?: string;
  /** The turn is one more of a run whose first one has ended: it is told of its schedule. */
  readonly wake?: WakeData;
  /** Tools the turn has beside those of its agent, in every request. */
  readonly ownTools?: (turn: DelegatingTurn) => readonly BoundTool[];
}

/** What a person or program says of calls whose outcome is unknown. */
export type DecideIndeterminate = (call: {
  readonly callId: string;
  readonly toolName: string;
  readonly operationId: string;
}) => IndeterminateDecision;

/** The job that gives a session a new input. */
export function inputJob(request: TurnRequest, input: readonly UserPart[]): SessionJob {
  return turnJob(request, 'message', (session, held) => openTurn(session, held, input));
}

/** The job that takes up an open turn where its facts left it. */
export function resumeJob(request: TurnRequest): SessionJob {
  return turnJob(request, 'resume', resumeTurn);
}

function turnJob(
  request: TurnRequest,
  wakes: 'message' | 'resume',
  run: (session: OpenSession, held: TurnRequest) => Promise<TurnOutcome>,
): SessionJob {
  const { agent, run: owner } = request;
  return {
    identity: request.identity,
    hooks: agent.hooks === undefined ? [] : [agent.hooks],
    wakes,
    async run(session) {
      if (!owner.begin()) return;
      const held = wakes === 'resume' ? heldTo(request, session.facts.openTurn) : request;
      const outcome = await run(session, held);
      if (outcome.type === 'handed-off') {
        session.follow(() => owner.turn);
        session.parts.ways.followHandoff(held, outcome, session);
        // The next input of this session waits for the end of the run, wherever that is.
        await owner.result;
      }
      // Whoever is told of a pause may resume at once, from any process.
      else if (outcome.type === 'paused') session.whenFree(() => owner.ended(outcome));
      else owner.ended(outcome);
    },
    refuse: (failure) => owner.ended(refusedOutcome(failure)),
  };
}

/**
 * A request within the hard ceiling that a turn was opened with: it holds to the end of the run, in every session that
 * the turn asks or hands over to, whatever who takes the turn up says of it.
 */
export function heldTo(request: TurnRequest, turn: Pick<TurnFacts, 'opened'> | undefined): TurnRequest {
  const ceiling = turn?.opened.data.ceiling;
  if (ceiling === undefined) return request;
  const names = new Set(ceiling);
  return { ...request, boundTools: request.boundTools?.filter((name) => names.has(name)) ?? ceiling };
}

/** Opens a turn in a session and runs it to its end. Never rejects where its facts can be read. */
export async function openTurn(
  session: OpenSession,
  request: TurnRequest,
  input: readonly UserPart[],
): Promise<TurnOutcome> {
  const { facts, parts } = session;
  const { agentPath } = request.lineage;
  const refusal = refuseInput(session, request) ?? (await refuseBeyond(session, request));
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
  const oversized = oversizedInput(gate.subject.input, parts.limits, 'run');
  if (oversized !== undefined) return refusedOutcome({ kind: 'input-too-large', message: oversized });
  const stored = await storeParts(gate.subject.input, parts.ledger);
  const ordinal = facts.turns.length + 1;
  const scopeParts = {
    // The identity was checked or made where the run began.
    turnId: turnIdOf(request.identity.session as SessionId, ordinal),
    plan,
    run: request.run.scope,
    session: session.turnSession(agentPath),
    history: facts.turns,
    ...delegating(session, request, { children: new Map() }),
    ...(request.cause === undefined ? {} : { cause: request.cause }),
    ...(request.wake === undefined ? {} : { wake: request.wake }),
  };
  const before = facts.opened === undefined ? [sessionOpened(request, ceilingIn(request, parts))] : [];
  const scope = createTurnScope(scopeParts);
  return drive(session, request.run, scope, openingEntry(scopeParts, ordinal, stored, before));
}

/** How the turn reaches other agents, and how those above it hear of it and of its end. */
function delegating(
  session: OpenSession,
  request: TurnRequest,
  before: TurnBefore,
): Pick<ScopeParts, 'requiredTools' | 'onWaiting' | 'commitEnd'> {
  const { run } = request;
  if (run.watch !== undefined) session.watch(run.watch.bind(run));
  return {
    requiredTools(scope) {
      const turn = { request, session, scope, before };
      return [...session.parts.ways.toolsOf(turn), ...(request.ownTools?.(turn) ?? [])];
    },
    onWaiting: (isWaiting) => run.waiting?.(isWaiting),
    commitEnd({ progress }, batch, end) {
      const outcome = outcomeOf(end, progress, NOTHING_OPEN);
      // What is handed over or gives way is not over.
      const isOver = outcome.type !== 'handed-off' && end.status !== 'yielded';
      if (run.unit === undefined || !isOver) return session.log.commit(batch);
      return run.unit.commitEnd(session, batch, resultOf(outcome, run.scope.usage));
    },
  };
}

function budgetOf({ run }: TurnRequest) {
  return run.scope.budget.options;
}

function refuseInput(session: OpenSession, request: TurnRequest): Failure | undefined {
  const { facts, parts, log } = session;
  if (log.identity.parent !== request.identity.parent) return belongsElsewhere(log.identity);
  if (request.run.unit !== undefined && log.identity.parent !== undefined && facts.head !== undefined) {
    // Asked for twice, and both found it new: it has one turn, or was told to be over before that.
    return { kind: 'session-owned-elsewhere', message: 'another worker saw to it meanwhile' };
  }
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

/** What an ended process left of a run that this session handed over. */
async function refuseBeyond(
  { facts, parts }: OpenSession,
  request: TurnRequest,
): Promise<Failure | undefined> {
  if (facts.turns.at(-1)?.handoff === undefined) return undefined;
  const open = await parts.ways.openBeyond(parts, request);
  if (open === undefined) return undefined;
  const message = `the run of the session goes on in ${open}: resume or abandon it first`;
  return { kind: 'turn-open', message };
}

/** Alone, a child would be held to nothing of what holds for it: its parent's policies, gates and ceiling. */
function belongsElsewhere({ session, root }: SessionIdentity): Failure {
  return {
    kind: 'child-session',
    message: `the session ${session} belongs to the run of ${root}, and goes on with it`,
  };
}

/** Whoever asks a child takes its place before there is a session. */
function reserveRoot({ identity, run, wake }: TurnRequest, { limits }: TurnPlan): Failure | undefined {
  if (identity.parent !== undefined || wake !== undefined) return undefined;
  const over = run.scope.budget.reserveAgent(limits.agents);
  return over === undefined
    ? undefined
    : { kind: 'agent-budget', message: `the run may have ${over.limit} agents` };
}

/** Takes up the open turn of a session and runs it to its end. */
export async function resumeTurn(session: OpenSession, request: TurnRequest): Promise<TurnOutcome> {
  const { facts, parts, log } = session;
  if (facts.openTurn === undefined) {
    return refusedOutcome({ kind: 'nothing-to-resume', message: 'the session has no open turn' });
  }
  if (log.identity.parent !== request.identity.parent) return refusedOutcome(belongsElsewhere(log.identity));
  const wider = checkCeiling(request, parts, facts.opened);
  const turn = await withArguments(facts.openTurn, parts.ledger);
  const reading = readOnce(parts.ledger);
  await takeUpRun(request, reading);
  if (request.run.unit !== undefined) await setGrantsAside(request.run.scope.budget, turn, reading);
  // The ceiling of the turn is the one it was opened with: what a newer definition adds stays out.
  const opened = turn.opened.data;
  const signal = AbortSignal.any([request.run.stopped, session.leaving]);
  const live = await readySources(request.agent, parts, { ...request, opened, pins: facts.pins, signal });
  const plan = planTurn(request.agent, parts, { ...request, budget: budgetOf(request), opened, live });
  await giveUpOrphans(session, turn, { agent: request.agent, plan });
  const records = await parts.ledger.read(request.identity.session);
  const replay = replayTurn(records, turn.turnId);
  const scope = restoreTurnScope(
    {
      turnId: turnIdOf(request.identity.session as SessionId, turn.opened.data.ordinal),
      plan,
      run: request.run.scope,
      session: session.turnSession(request.lineage.agentPath),
      history: facts.turns.filter((one) => one.turnId !== turn.turnId),
      ...delegating(session, request, { bound: opened.bound, children: new Map(turn.children) }),
    },
    turn,
    replay.turn,
  );
  // Taken up to be ended: nothing of it goes on beyond what those above it may do.
  if (wider !== undefined) scope.stop.stop({ type: 'failed', failure: wider });
  const entry = resumingEntry(scope, turn, decisionsFor(turn, request.decide), replay.whilePaused);
  return drive(session, request.run, scope, entry);
}

/**
 * What the run used before counts once, for all of its sessions together, where its root is taken up, or the child that
 * is a worker's. Asked while nobody else can be at work on it: what others did meanwhile would not count.
 */
export async function takeUpRun({ run, identity }: TurnRequest, ledger: Pick<Ledger, 'read'>): Promise<void> {
  if (run.takeUp === undefined) return;
  const records = await ledger.read(run.unit?.session ?? identity.root);
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

const NOTHING_OPEN: LeftOpen = { approvals: [], calls: [] };

async function leftOpen(session: OpenSession, end: TurnEnd): Promise<LeftOpen> {
  if (end.type !== 'paused') return NOTHING_OPEN;
  return leftInTree(session.parts.ledger, session.log.identity.session);
}

/** What waits for somebody in a session and all below it. @throws SwarmError of the ledger */
export async function leftInTree(ledger: Ledger, sessionId: string): Promise<LeftOpen> {
  const found = await Promise.all(
    (await openInTree(ledger, sessionId)).map((one) => leftOpenIn(ledger, one)),
  );
  const approvals = found.flatMap((one) => one.approvals).sort((a, b) => a.requestedAt - b.requestedAt);
  return {
    approvals: approvals.map(({ requestedAt: _, ...request }) => request),
    calls: found.flatMap((one) => one.calls),
  };
}

async function leftOpenIn(ledger: Ledger, { sessionId, facts, turn }: OpenTurn) {
  const approvals = pendingOfTurn(sessionId, facts, await withArguments(turn, ledger));
  return { approvals, calls: indeterminateCalls(turn) };
}
