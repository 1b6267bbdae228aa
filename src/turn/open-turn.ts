import { hash } from 'node:crypto';
import type { TurnEvent } from '../../machines/turn.ts';
import type { TurnId } from '../ids.ts';
import type { JsonObject, UserPart } from '../ledger/content.ts';
import type { NewRecord, RecordData } from '../ledger/records.ts';
import {
  activatedNames,
  type CallFacts,
  hasResult,
  type StepFacts,
  type TurnFacts,
} from '../ledger/turn-facts.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import { ApprovalDesk } from '../tools/approvals.ts';
import type { BoundTool } from '../tools/binding.ts';
import { createLoopGate } from '../tools/loop-gate.ts';
import type { IndeterminateDecision } from '../tools/reconcile-call.ts';
import { type ClosedTurn, causeText } from './close-turn.ts';
import { createPersonWatch } from './person-watch.ts';
import type { BudgetOptions } from './run-budget.ts';
import { createSteeringQueue } from './steering-queue.ts';
import { createStopSignal, type StopCause, type StopSignal } from './stop-signal.ts';
import { calibrate, createTokenEstimate, type TokenEstimate } from './token-estimate.ts';
import { projectTools } from './tool-projection.ts';
import type { AnsweredStep, Stage, TurnEntry } from './turn-loop.ts';
import type { RunScope, TurnPlan, TurnScope, TurnSession } from './turn-scope.ts';
import { createTurnTools } from './turn-tools.ts';
import { createUsageMeter } from './usage-meter.ts';
import { tallyTurn } from './usage-tally.ts';
import { hasYielded } from './yield-turn.ts';

/** Everything a scope is made of. */
export interface ScopeParts {
  readonly turnId: TurnId;
  readonly plan: TurnPlan;
  readonly run: RunScope;
  readonly session: TurnSession;
  /** Earlier turns of the session. */
  readonly history: readonly TurnFacts[];
  /** Tools the turn has beside those of its agent: in every request, by name. Called once, for this turn. */
  requiredTools?(scope: () => TurnScope): readonly BoundTool[];
  /** Told when calls of the turn begin to wait for a person, and when none does any more. */
  onWaiting?(isWaiting: boolean): void;
  /** Makes the last facts of the turn durable. @throws SwarmError as `log.commit` of its session */
  commitEnd(scope: TurnScope, batch: readonly NewRecord[], end: ClosedTurn): Promise<unknown>;
  /** Id of the record that the turn is opened for. */
  readonly cause?: string;
  /** What of its schedule the turn is told of. */
  readonly wake?: WakeData;
}

/** The state of a schedule that a turn is opened for. */
export type WakeData = NonNullable<RecordData<'turn.opened'>['wake']>;

/** The scope of a new turn: nothing activated, nothing remembered, nothing counted. */
export function createTurnScope(parts: ScopeParts): TurnScope {
  return makeScope(parts, undefined, { ...NOTHING_BEFORE, fromSeq: parts.session.log.headSeq + 1 });
}

/** The scope of a turn as its facts left it: only its own facts, never those of another turn. */
export function restoreTurnScope(
  parts: ScopeParts,
  facts: TurnFacts,
  replay: readonly TurnEvent[],
): TurnScope {
  const { steering, rejectedOutputs, steps, opened } = facts;
  const activated = activatedNames(facts);
  const scope = makeScope(parts, replay, {
    steering,
    rejectedOutputs,
    steps,
    activated,
    fromSeq: opened.seq,
  });
  for (const call of facts.calls.values()) restoreCall(scope, call);
  for (const step of facts.steps) restoreStep(scope, step);
  // What the run used was counted when it was taken up; this meter is the turn's alone.
  for (const { usage, complete } of tallyTurn(facts).reports) {
    scope.turnUsage.note(scope.plan.agent, usage, complete);
  }
  scope.progress.toolCalls = facts.calls.size;
  if (facts.handoff !== undefined) {
    const { to, child: session, input } = facts.handoff.data;
    scope.progress.handoff = { to, session, input };
  }
  scope.progress.yields = hasYielded(facts);
  return scope;
}

interface Before extends Pick<TurnFacts, 'steering' | 'rejectedOutputs' | 'steps'> {
  readonly activated: readonly string[];
  readonly fromSeq: number;
}

const NOTHING_BEFORE = { steering: [], activated: [], rejectedOutputs: [], steps: [] };

/** Begins with what earlier steps of the same model reported, those of earlier turns first. */
function estimateOf({ history, plan }: ScopeParts, steps: readonly StepFacts[]): TokenEstimate {
  const estimate = createTokenEstimate();
  for (const turn of history)
    if (turn.opened.data.model === plan.model.modelId) calibrate(estimate, turn.steps);
  calibrate(estimate, steps);
  return estimate;
}

function makeScope(
  parts: ScopeParts,
  /** Absent for a new turn, whose beginning its hooks are told of. */
  replay: readonly TurnEvent[] | undefined,
  before: Before,
): TurnScope {
  const { turnId, plan, run, session } = parts;
  const machine = session.lifecycle.start('turn', {
    id: turnId,
    parentId: session.sessionId,
    rootId: session.rootId,
    session: session.sessionId,
    input: { turnId, agentId: session.sessionId, maxSteps: plan.limits.steps },
    ...(replay === undefined ? {} : { replay }),
  });
  const people = createPersonWatch((isWaiting) => parts.onWaiting?.(isWaiting));
  const approvals = new ApprovalDesk({
    turnId,
    clock: session.clock,
    sessionMemory: session.memory,
    commit: (batch) => session.log.commit(batch),
    onResolved(callId, decision) {
      machine.send({ type: 'APPROVAL_RESOLVED', callId, decision });
      people.remove();
    },
  });
  const scope: TurnScope = {
    turnId,
    plan,
    session,
    machine,
    people,
    stop: stopOf(machine, approvals),
    approvals,
    loopGate: createLoopGate(plan.limits.tools.identicalFailures),
    steering: createSteeringQueue(turnId, before.steering),
    tools: createTurnTools({
      turnId,
      plan,
      session,
      context: run.context,
      gate: (subject, signal) => plan.gates.run('beforeActivation', subject, signal),
      history: parts.history,
      activated: before.activated,
      required: parts.requiredTools?.(() => scope) ?? [],
    }),
    fromSeq: before.fromSeq,
    progress: {
      steps: 0,
      toolCalls: 0,
      text: '',
      toolsBefore: toolsBefore(parts),
      rejectedOutputs: new Set(before.rejectedOutputs),
    },
    context: { estimate: estimateOf(parts, before.steps) },
    turnUsage: createUsageMeter(),
    run,
    commitEnd: (batch, end) => parts.commitEnd(scope, batch, end),
  };
  return scope;
}

/** A stop reaches the machine and the requests for approval at once. */
function stopOf(machine: Lifecycle<'turn'>, approvals: ApprovalDesk): StopSignal {
  return createStopSignal(
    (cause) => {
      sendStop(machine.send.bind(machine), cause);
      if (cause.type === 'detached') approvals.detach();
      // A store that fails here fails the turn's own commits too, which is where it is told.
      else void approvals.cancelAll(causeText(cause)).catch(() => approvals.detach());
    },
    () => machine.send({ type: 'STOP_AFTER_STEP' }),
  );
}

function sendStop(send: (event: TurnEvent) => boolean, cause: StopCause): void {
  if (cause.type === 'cancelled') send({ type: 'CANCEL', reason: cause.reason });
  else if (cause.type === 'interrupted') send({ type: 'INTERRUPT', reason: cause.reason });
  else if (cause.type === 'failed') send({ type: 'BUDGET_EXHAUSTED', budget: cause.failure.kind });
}

function restoreCall(scope: TurnScope, call: CallFacts): void {
  const { decided, requested, settled, refused } = call;
  if (decided?.data.scope === 'turn' && requested !== undefined) {
    const { decision, reason, request } = decided.data;
    scope.approvals.remember(requested.data.scopeKey, {
      decision,
      by: request,
      ...(reason === undefined ? {} : { reason }),
    });
  }
  const { args } = call;
  const { toolName } = call.called.data;
  if (hasResult(call)) scope.tools.shapeGate.restore(call);
  if (settled !== undefined) {
    scope.loopGate.note(toolName, args, settled.data.status === 'success' ? 'success' : 'failure');
  } else if (refused !== undefined) {
    scope.loopGate.note(toolName, args, 'failure');
  }
}

/** The tools of the last request of the turn before. */
function toolsBefore({ history, plan }: ScopeParts): TurnScope['progress']['toolsBefore'] {
  const last = history.at(-1)?.steps.at(-1)?.opened.data;
  if (last === undefined) return undefined;
  const cleared = last.active.length > 0 && plan.discovery.retention === 'turn';
  return { toolsHash: last.toolsHash, cleared };
}

function restoreStep(scope: TurnScope, step: StepFacts): void {
  scope.progress.steps = step.index;
  const { visible, schemaChars, toolsHash } = step.opened.data;
  scope.progress.tools = { visible: visible.length, schemaChars, toolsHash };
  const text = step.message?.data.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  if (text !== undefined) scope.progress.text = text;
  if (step.closed === undefined) scope.progress.leftStep = step;
}

/** The first facts of a turn and where its loop begins. `before` are facts of a new session. */
export function openingEntry(
  parts: ScopeParts,
  ordinal: number,
  input: readonly UserPart[],
  before: readonly NewRecord[],
): TurnEntry {
  const { plan, run, turnId, cause, wake } = parts;
  const opened: NewRecord = {
    type: 'turn.opened',
    turn: turnId,
    ...(cause === undefined ? {} : { cause }),
    data: {
      ordinal,
      run: run.runId,
      input: [...input],
      bound: [...plan.binding.tools.map((bound) => bound.name), ...plan.required],
      boundHash: plan.binding.hash,
      discovery: plan.discovery.preset,
      model: plan.model.modelId,
      instructionsHash: hash('sha256', plan.instructions),
      budget: finiteBounds(run.budget.options),
      ...(plan.ceiling === undefined ? {} : { ceiling: [...plan.ceiling] }),
      ...(wake === undefined ? {} : { wake }),
    },
  };
  return { records: [...before, opened], stage: { type: 'project' }, events: [{ type: 'OPENED' }] };
}

/** A bound that is infinite is none, and no JSON. */
function finiteBounds(options: BudgetOptions): JsonObject {
  return Object.fromEntries(Object.entries(options).filter(([, bound]) => Number.isFinite(bound)));
}

/** Where a restored turn goes on, and the fact that says so. `whilePaused` is what happened since it was paused. */
export function resumingEntry(
  scope: TurnScope,
  facts: TurnFacts,
  decisions: ReadonlyMap<string, IndeterminateDecision>,
  whilePaused: readonly TurnEvent[],
): TurnEntry {
  return {
    records: [{ type: 'turn.resumed', turn: scope.turnId, data: { run: scope.run.runId } }],
    stage: resumingStage(scope, facts, decisions),
    events: [{ type: 'RESUMED' }, ...whilePaused],
  };
}

function resumingStage(
  scope: TurnScope,
  facts: TurnFacts,
  decisions: ReadonlyMap<string, IndeterminateDecision>,
): Stage {
  const step = facts.steps.at(-1);
  if (step === undefined) return { type: 'project' };
  if (step.closed === undefined) {
    const { attempts, openAttempt } = step;
    return { type: 'project', reopened: { attempts, openAttempt: openAttempt !== undefined } };
  }
  // The turn had gone on: its next request was being made.
  if ((facts.compactions.at(-1)?.seq ?? 0) > step.closed.seq) return { type: 'project' };
  const { status, failure, finish } = step.closed.data;
  // The process ended between the end of the step and that of its turn: the turn ends the same way now.
  if (status === 'failed' && failure !== undefined) scope.stop.stop({ type: 'failed', failure });
  if (status === 'aborted')
    scope.stop.stop({ type: 'cancelled', reason: 'stopped before the process ended' });
  const calls = step.callIds.flatMap((id) => facts.calls.get(id) ?? []);
  const { visible } = scope.tools.restoreSnapshot(step.opened.data);
  const answered: AnsweredStep = {
    calls,
    visible,
    finish: finish ?? 'other',
    toolsForbidden: projectTools(scope, step.index >= scope.plan.limits.steps).toolsForbidden,
    decisions,
    endsTurn: calls.some((call) => call.settled?.data.endsTurn === true),
  };
  return calls.every(hasResult) ? { type: 'decide', step: answered } : { type: 'settle', step: answered };
}
