import { createHash } from 'node:crypto';
import type { GraphSupervisorEvent } from '../../machines/graph-supervisor.ts';
import { ceilingIn, sessionOpened } from '../agent/ceiling.ts';
import { type Lineage, limitsWithin } from '../agent/lineage.ts';
import { oversizedInput } from '../agent/oversized-input.ts';
import type { DecideIndeterminate } from '../agent/run-turn-job.ts';
import type { OpenSession, SessionJob, SessionParts } from '../agent/session-parts.ts';
import { tallyTree } from '../agent/tally-tree.ts';
import { type LastOutcome, refusedOutcome } from '../agent/turn-outcome.ts';
import type { TurnOwner } from '../agent/turn-owner.ts';
import { type SessionId, turnIdOf } from '../ids.ts';
import type { UserPart } from '../ledger/content.ts';
import { loadParts, storeParts } from '../ledger/media.ts';
import type { Failure, NewRecord, RecordOf, SessionIdentity } from '../ledger/records.ts';
import type { TurnFacts } from '../ledger/turn-facts.ts';
import { createPersonWatch } from '../turn/person-watch.ts';
import { createStopSignal, type StopCause } from '../turn/stop-signal.ts';
import type { AnyGraph } from './define-graph.ts';
import { readGraphInput } from './graph-input.ts';
import { GraphRun } from './graph-run.ts';
import { ChangeSignal, type GraphScope, type RunNested } from './graph-scope.ts';
import { Schedule } from './schedule.ts';
import { isSettled } from './work-state.ts';
import { WorkValues } from './work-values.ts';

/** A run of a graph, for its session. */
export interface GraphRequest {
  readonly graph: AnyGraph;
  readonly identity: SessionIdentity;
  readonly lineage: Lineage;
  readonly run: TurnOwner;
  /** Hard ceiling of the run, by tool name. */
  readonly boundTools: readonly string[] | undefined;
  /** What is to become of nodes and calls whose outcome is unknown, at every depth. */
  readonly decide: DecideIndeterminate;
  /** Runs the graphs and swarms that are nodes of it. */
  readonly runNested: RunNested;
}

/** The job that runs a graph on an input. */
export function graphJob(request: GraphRequest, input: readonly UserPart[]): SessionJob {
  return jobOf(request, 'message', (session) => openGraph(session, request, input));
}

/** The job that takes up the open run of a graph where its facts left it. */
export function resumeGraphJob(request: GraphRequest): SessionJob {
  return jobOf(request, 'resume', (session) => resumeGraph(session, request));
}

function jobOf(
  request: GraphRequest,
  wakes: 'message' | 'resume',
  run: (session: OpenSession) => Promise<LastOutcome>,
): SessionJob {
  const { run: owner } = request;
  return {
    identity: request.identity,
    hooks: [],
    wakes,
    async run(session) {
      if (!owner.begin()) return;
      const outcome = await run(session);
      // Whoever is told of a pause may resume at once, from any process.
      if (outcome.type === 'paused') session.whenFree(() => owner.ended(outcome));
      else owner.ended(outcome);
    },
    refuse: (failure) => owner.ended(refusedOutcome(failure)),
  };
}

async function openGraph(
  session: OpenSession,
  request: GraphRequest,
  input: readonly UserPart[],
): Promise<LastOutcome> {
  const { facts, parts, log } = session;
  const { graph, run, identity } = request;
  const refusal = refuseInput(session, request);
  if (refusal !== undefined) return refusedOutcome(refusal);
  const limits = limitsOf(request, parts);
  const over = identity.parent === undefined ? run.scope.budget.reserveAgent(limits.agents) : undefined;
  if (over !== undefined) {
    return refusedOutcome({ kind: 'agent-limit', message: `the run may have ${over.limit} agents` });
  }
  const gate = await parts.hookRunner.gates([...parts.hooks, ...request.lineage.hooks]).run(
    'beforeTurn',
    {
      sessionId: identity.session,
      agentPath: request.lineage.agentPath,
      runId: run.scope.runId,
      input,
    },
    parts.signal,
  );
  if (gate.type === 'refuse') return refusedOutcome({ kind: 'gate-refused', message: gate.reason });
  const value = readGraphInput(graph, gate.subject.input);
  if (value.type === 'invalid') return refusedOutcome({ kind: 'invalid-input', message: value.message });
  const oversized = oversizedInput(gate.subject.input, parts.limits, 'run');
  if (oversized !== undefined) return refusedOutcome({ kind: 'input-too-large', message: oversized });
  const ordinal = facts.turns.length + 1;
  // The identity was checked or made where the run began.
  const turnId = turnIdOf(identity.session as SessionId, ordinal);
  const ceiling = ceilingOf(request, parts);
  await log.commit([
    ...(facts.opened === undefined ? [graphOpened(request, ceiling)] : []),
    await turnOpened(session, request, { turnId, ordinal, input: gate.subject.input }),
  ]);
  const schedule = new Schedule(identity.session);
  return drive(session, request, {
    turnId,
    schedule,
    ceiling,
    input: value.value,
    known: new Map(),
    isResumed: false,
  });
}

async function turnOpened(
  { parts }: OpenSession,
  { run, graph, boundTools }: GraphRequest,
  turn: { readonly turnId: string; readonly ordinal: number; readonly input: readonly UserPart[] },
): Promise<NewRecord> {
  const { options } = run.scope.budget;
  return {
    type: 'turn.opened',
    turn: turn.turnId,
    data: {
      ordinal: turn.ordinal,
      run: run.scope.runId,
      input: await storeParts(turn.input, parts.ledger),
      bound: [],
      boundHash: createHash('sha256').digest('hex'),
      discovery: 'off',
      model: 'none',
      // What a run goes on with is the graph it was begun with.
      instructionsHash: graph.hash,
      ...(Object.keys(options).length === 0 ? {} : { budget: { ...options } }),
      ...(boundTools === undefined ? {} : { ceiling: [...boundTools] }),
    },
  };
}

function refuseInput({ facts, parts, log }: OpenSession, request: GraphRequest): Failure | undefined {
  const { session, root, parent } = log.identity;
  if (parent !== request.identity.parent) {
    const message = `the session ${session} belongs to the run of ${root}, and goes on with it`;
    return { kind: 'child-session', message };
  }
  if (facts.openTurn !== undefined) {
    const message = `the turn ${facts.openTurn.turnId} of the session is open: resume or abandon it first`;
    return { kind: 'turn-open', message };
  }
  if (facts.opened !== undefined && facts.opened.data.kind !== 'graph') {
    return { kind: 'wrong-session', message: `the session ${session} is one of an agent, not of a graph` };
  }
  return log.headSeq >= parts.limits.ledger.maxSessionRecords
    ? { kind: 'session-full', message: `the session holds ${log.headSeq} records and takes no further run` }
    : undefined;
}

async function resumeGraph(session: OpenSession, given: GraphRequest): Promise<LastOutcome> {
  const { facts, parts, log } = session;
  const { graph, identity } = given;
  const turn = facts.openTurn;
  if (turn === undefined) {
    return refusedOutcome({ kind: 'nothing-to-resume', message: 'the session has no open turn' });
  }
  if (turn.opened.data.instructionsHash !== graph.hash) {
    const message = `the run was begun with another graph ${graph.name}: its nodes or edges have changed`;
    return refusedOutcome({ kind: 'graph-changed', message });
  }
  const request = withinCeiling(given, turn);
  const ceiling = ceilingOf(request, parts);
  const wider = checkGraphCeiling(request, parts, facts.opened);
  await takeUpRun(request, parts, turn);
  const value = readGraphInput(graph, await loadParts(turn.opened.data.input, parts.ledger));
  if (value.type === 'invalid') return refusedOutcome({ kind: 'invalid-input', message: value.message });
  const resumed: NewRecord = {
    type: 'turn.resumed',
    turn: turn.turnId,
    data: { run: request.run.scope.runId },
  };
  await log.commit([resumed]);
  const schedule = new Schedule(identity.session);
  for (const record of await parts.ledger.read(identity.session)) {
    if (record.turn === turn.turnId) schedule.apply(record);
  }
  const opening = {
    turnId: turn.turnId,
    schedule,
    ceiling,
    input: value.value,
    known: turn.children,
    isResumed: true,
  };
  return drive(session, request, opening, wider);
}

/** The hard ceiling the run was begun with holds to its end; who takes it up may only narrow it. */
function withinCeiling(request: GraphRequest, { opened }: TurnFacts): GraphRequest {
  const { ceiling } = opened.data;
  const { boundTools } = request;
  if (ceiling === undefined) return request;
  const names = new Set(ceiling);
  return { ...request, boundTools: boundTools?.filter((name) => names.has(name)) ?? ceiling };
}

/** What the run used before counts once, where its root is taken up. */
async function takeUpRun(
  { run, identity }: GraphRequest,
  { ledger }: SessionParts,
  turn: TurnFacts,
): Promise<void> {
  if (run.takeUp === undefined || identity.parent !== undefined) return;
  run.takeUp(turn, await tallyTree(ledger, identity.agent, [turn]));
}

interface Opening extends Pick<GraphScope, 'turnId' | 'schedule' | 'ceiling' | 'known'> {
  readonly input: unknown;
  readonly isResumed: boolean;
}

async function drive(
  session: OpenSession,
  request: GraphRequest,
  opening: Opening,
  wider?: Failure,
): Promise<LastOutcome> {
  const scope = scopeOf(session, request, opening);
  try {
    await scope.values.load(session.parts.ledger);
  } catch (error) {
    const message = error instanceof Error ? error.message : 'a value cannot be read';
    return {
      type: 'left',
      failure: { kind: 'ledger-unavailable', message },
      steps: 0,
      toolCalls: 0,
      text: '',
    };
  }
  session.setGraph({ stop: scope.stop, runId: request.run.scope.runId });
  request.run.attachGraph?.(scope.stop);
  // Taken up to be ended: nothing of it goes on beyond what those above it may do.
  if (wider !== undefined) scope.stop.stop({ type: 'failed', failure: wider });
  const outcome = await new GraphRun(scope).run();
  session.setGraph(undefined);
  if (outcome.type === 'left' && outcome.failure.kind !== 'runtime-closed')
    session.broke(outcome.failure.kind);
  // A run without an end in this process leaves its machine behind.
  if (outcome.type === 'left' || outcome.type === 'paused') session.parts.lifecycle.stopTree(scope.turnId);
  return outcome;
}

function scopeOf(session: OpenSession, request: GraphRequest, opening: Opening): GraphScope {
  const { parts, log } = session;
  const { turnId, schedule, input } = opening;
  const { graph, run, lineage, boundTools, decide, identity } = request;
  const machine = parts.lifecycle.start('graph-supervisor', {
    id: turnId,
    name: graph.name,
    parentId: identity.session,
    rootId: log.identity.root,
    session: identity.session,
    input: { graphId: graph.name, turnId, settledWorks: settledWorks(schedule) },
    ...(opening.isResumed ? { replay: eventsBefore(schedule) } : {}),
  });
  const changes = new ChangeSignal();
  const onStop = (cause: StopCause) => {
    if (cause.type === 'failed') machine.send({ type: 'FAIL', kind: cause.failure.kind });
    else if (cause.type !== 'detached') machine.send({ type: 'STOP', reason: cause.reason });
    changes.tell();
  };
  return {
    turnId,
    graph,
    run: run.scope,
    parts,
    log,
    lineage,
    limits: limitsOf(request, parts),
    ceiling: opening.ceiling,
    boundTools,
    decide,
    runNested: request.runNested,
    stop: createStopSignal(onStop, () => changes.tell()),
    schedule,
    values: new WorkValues(graph, schedule, input),
    machine,
    changes,
    mapStops: new Map(),
    parked: [],
    people: createPersonWatch((isWaiting) => run.waiting?.(isWaiting)),
    known: opening.known,
    child: (event) => session.child(event),
  };
}

/** Brings the machine of a run that is taken up to where it lies in the ledger. */
function eventsBefore({ revision }: Schedule): readonly GraphSupervisorEvent[] {
  if (revision === 0) return [];
  return [{ type: 'UPDATED', revision }, { type: 'PASS_DONE' }, { type: 'PAUSED', reason: 'indeterminate' }];
}

function settledWorks({ works }: Schedule): number {
  let settled = 0;
  for (const { status } of works.values()) if (isSettled(status)) settled += 1;
  return settled;
}

function limitsOf({ graph, lineage, run }: GraphRequest, parts: SessionParts) {
  return limitsWithin(graph, parts.limits, lineage, run.scope.budget.options);
}

/** Names of the tools that the agents of a graph may ever use, within what those above may. */
function ceilingOf(request: GraphRequest, parts: SessionParts): readonly string[] {
  const names = request.graph.agents.flatMap((agent) => ceilingIn({ ...request, agent }, parts));
  return [...new Set(names)].sort();
}

function checkGraphCeiling(
  request: GraphRequest,
  parts: SessionParts,
  opened: RecordOf<'session.opened'> | undefined,
): Failure | undefined {
  const { lineage } = request;
  if (opened === undefined || lineage.bounds === undefined) return undefined;
  const now = new Set(ceilingOf(request, parts));
  const gone = opened.data.ceiling.filter((name) => !now.has(name));
  if (gone.length === 0) return undefined;
  const message = `${request.graph.name} was opened with tools that may not be used any more: ${gone.join(', ')}`;
  return { kind: 'ceiling-changed', message };
}

function graphOpened({ lineage }: GraphRequest, ceiling: readonly string[]): NewRecord {
  return sessionOpened({ lineage }, ceiling, 'graph');
}
