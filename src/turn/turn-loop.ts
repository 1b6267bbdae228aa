import type { TurnEvent } from '../../machines/turn.ts';
import type { Failure, NewRecord, PauseReason, StopReason } from '../ledger/records.ts';
import type { CallFacts } from '../ledger/turn-facts.ts';
import type { BoundTool } from '../tools/binding.ts';
import type { IndeterminateDecision } from '../tools/reconcile-call.ts';
import { readHistory } from './build-request.ts';
import { breakTurn, closeTurn, finishTurn, type TurnEnd } from './close-turn.ts';
import { sitOutBackoff } from './left-step.ts';
import { recoverOverflow } from './overflow-recovery.ts';
import { settleStep } from './settle-step.ts';
import type { StepEnd } from './step-end.ts';
import type { ReopenedStep } from './step-runner.ts';
import type { StopCause } from './stop-signal.ts';
import { invalidOutput, judgeOutput, type OutputVerdict } from './structured-output.ts';
import { takeStep } from './take-step.ts';
import type { TurnScope } from './turn-scope.ts';
import { isYield } from './yield-turn.ts';

/** Calls of the step last taken, and how its answer ended. */
export interface AnsweredStep {
  readonly calls: readonly CallFacts[];
  readonly visible: readonly BoundTool[];
  readonly finish: string;
  readonly toolsForbidden: boolean;
  /** What is to become of calls whose outcome an earlier process left open, by call id. */
  readonly decisions: ReadonlyMap<string, IndeterminateDecision>;
  /** Set once the calls are settled. */
  readonly endsTurn?: boolean;
}

/** Where the loop goes on: a fresh turn projects, a resumed one goes where its facts left it. */
export type Stage =
  | {
      readonly type: 'project';
      readonly reopened?: ReopenedStep;
    }
  | { readonly type: 'settle'; readonly step: AnsweredStep }
  | { readonly type: 'decide'; readonly step: AnsweredStep };

type Next = Stage | { readonly type: 'end'; readonly end: TurnEnd };

/** What opens a turn: its first facts, or those of a resume. */
export interface TurnEntry {
  readonly records: readonly NewRecord[];
  readonly stage: Stage;
  /** What the machine is told once the facts are durable. */
  readonly events: readonly TurnEvent[];
}

/**
 * Drives one turn from its entry to its end: project, step, settle, decide, and again. The machine says where
 * the turn stands; every fact is durable before the machine moves and before anything acts on it.
 * Never rejects: what breaks the turn is its end.
 */
export async function runTurn(scope: TurnScope, entry: TurnEntry): Promise<TurnEnd> {
  try {
    await scope.session.log.commit(entry.records);
    for (const event of entry.events) scope.machine.send(event);
    let next: Next = entry.stage;
    while (next.type !== 'end') next = await advance(scope, next);
    return next.end;
  } catch (error) {
    // A commit that failed on its way: the facts decide what happened, not this process.
    return breakTurn(scope, error);
  }
}

async function advance(scope: TurnScope, stage: Stage): Promise<Next> {
  if (scope.stop.cause !== undefined) return stopAt(scope, stage, scope.stop.cause);
  const closing = closingFailure(scope);
  if (closing !== undefined) return end(await closeTurn(scope, { type: 'failed', failure: closing }));
  switch (stage.type) {
    case 'project':
      return projectAndStep(scope, stage);
    case 'settle':
      return settle(scope, stage.step);
    case 'decide':
      return decide(scope, stage.step);
  }
}

/**
 * Ends a turn between two stages. Calls that stand in the ledger get their other half first; a turn that only
 * leaves this process keeps them open.
 */
async function stopAt(scope: TurnScope, stage: Stage, cause: StopCause): Promise<Next> {
  if (stage.type === 'settle' && cause.type !== 'detached') {
    await settleStep(scope, { ...stage.step, cutOff: false });
  }
  return end(await closeTurn(scope, cause));
}

/** The machine closed the turn on its own account: a limit, or a guard a user provided. */
function closingFailure(scope: TurnScope): Failure | undefined {
  if (scope.machine.state !== 'closing') return undefined;
  const { stopReason, maxSteps } = scope.machine.context;
  if (stopReason === 'step-limit') {
    return { kind: 'step-limit', message: `the agent may take ${maxSteps ?? 0} steps a turn` };
  }
  return {
    kind: scope.machine.context.failureKind ?? 'machine-fault',
    message: 'the turn machine closed the turn',
  };
}

async function projectAndStep(scope: TurnScope, stage: Extract<Stage, { type: 'project' }>): Promise<Next> {
  await sitOutBackoff(scope);
  // Back to the loop, which ends the turn.
  if (scope.stop.cause !== undefined) return stage;
  const taken = await takeStep(scope, scope.machine.context.stepIndex, stage.reopened);
  if (taken.type === 'refused') {
    const { failure } = taken;
    scope.machine.send(
      taken.event === 'budget'
        ? { type: 'BUDGET_EXHAUSTED', budget: failure.kind }
        : { type: 'PROJECTION_FAILED', kind: failure.kind },
    );
    return end(await closeTurn(scope, { type: 'failed', failure }));
  }
  const { end: step, view } = taken;
  scope.progress.steps = scope.machine.context.stepIndex;
  switch (step.type) {
    case 'completed':
      scope.progress.text = step.text;
      scope.progress.toolCalls += step.calls.length;
      scope.machine.send({ type: 'STEP_COMPLETED', stepId: step.stepId, calls: step.calls.length });
      return {
        type: step.calls.length > 0 ? 'settle' : 'decide',
        step: {
          calls: step.calls,
          visible: view.visible,
          finish: step.finish,
          toolsForbidden: view.toolsForbidden,
          decisions: new Map(),
        },
      };
    case 'overflow':
      return recover(scope, step);
    case 'failed':
      scope.machine.send({ type: 'STEP_FAILED', stepId: step.stepId, kind: step.failure.kind });
      return end(await closeTurn(scope, { type: 'failed', failure: step.failure }));
    case 'aborted':
      scope.progress.text = step.text;
      return end(await closeTurn(scope, scope.stop.cause ?? INTERRUPTED));
  }
}

/** A smaller request for the same step, or the end of the turn. */
async function recover(scope: TurnScope, step: Extract<StepEnd, { type: 'overflow' }>): Promise<Next> {
  const { machine, stop } = scope;
  const { stepId, emitted, failure, rejected } = step;
  machine.send({ type: 'STEP_OVERFLOW', stepId, emitted });
  if (rejected !== undefined && machine.state === 'recovering') {
    const isSmaller = await recoverOverflow(scope, rejected.request);
    if (stop.cause !== undefined) return end(await closeTurn(scope, stop.cause));
    if (isSmaller) {
      machine.send({ type: 'RECOVERED' });
      const { attempts } = rejected;
      return { type: 'project', reopened: { attempts, openAttempt: false, keepsTools: true } };
    }
  }
  machine.send({ type: 'RECOVERY_FAILED', kind: 'context-overflow' });
  return end(await closeTurn(scope, { type: 'failed', failure }));
}

const INTERRUPTED: StopCause = { type: 'interrupted', reason: 'the step was stopped' };

async function settle(scope: TurnScope, step: AnsweredStep): Promise<Next> {
  // Results must be readable again, or running anything would be for nothing.
  const readable = await readHistory(scope);
  if (readable.type === 'failed') {
    scope.machine.send({ type: 'COMMIT_FAILED', kind: readable.failure.kind });
    scope.stop.stop({ type: 'failed', failure: readable.failure });
  }
  if (scope.stop.cause !== undefined) return stopAt(scope, { type: 'settle', step }, scope.stop.cause);
  const calls = await settleStep(scope, {
    ...step,
    cutOff: step.finish === 'length' && step.calls.length > 0,
  });
  scope.tools.mergeActivations(step.calls.map((call) => call.callId));
  if (calls.type === 'settled') return { type: 'decide', step: { ...step, endsTurn: calls.endsTurn } };
  const stopped = scope.stop.cause;
  if (stopped !== undefined) return end(await closeTurn(scope, stopped));
  return pause(scope, calls);
}

interface Pause {
  readonly reason: PauseReason;
  /** Calls that have no result yet. */
  readonly open: readonly string[];
}

async function pause(scope: TurnScope, { reason, open }: Pause): Promise<Next> {
  // Also those that were never handed in again, and whoever waits for that to decide on them.
  scope.approvals.detach();
  await scope.session.log.commit([
    { type: 'turn.paused', turn: scope.turnId, data: { reason, open: [...open] } },
  ]);
  // Accepted texts stay queued in the ledger; only who waits here is told.
  scope.steering.close('the turn is paused; the text stays queued').resolve();
  scope.machine.send({ type: 'PAUSED', reason });
  return end({ type: 'paused', reason });
}

/** Somebody asked for a pause, and the turn has another step to take. */
function pauseBetweenSteps(scope: TurnScope): Promise<Next> {
  // From here on the turn pauses: a stop that comes now finds nothing to stop.
  scope.stop.seal();
  return pause(scope, { reason: 'requested', open: [] });
}

/** Where there is no step left to take, the turn ends by its limit, paused or not. */
function hasStepLeft({ machine }: TurnScope): boolean {
  const { stepIndex, maxSteps } = machine.context;
  return maxSteps === null || stepIndex < maxSteps;
}

async function decide(scope: TurnScope, step: AnsweredStep): Promise<Next> {
  const { handoff } = scope.progress;
  if (handoff !== undefined) {
    if (scope.stop.cause !== undefined) return end(await closeTurn(scope, scope.stop.cause));
    const target = handoff.to;
    return end(await finishTurn(scope, { status: 'handed-off', stopReason: 'handoff', target }));
  }
  if (scope.progress.yields === true && isYield(step.calls)) {
    if (scope.stop.cause !== undefined) return end(await closeTurn(scope, scope.stop.cause));
    return end(await finishTurn(scope, { status: 'yielded', stopReason: 'graph-yield' }));
  }
  const output = await outputOf(scope, step);
  if (output.type === 'failed') scope.stop.stop({ type: 'failed', failure: output.failure });
  const goesOn = scope.stop.cause === undefined && (await wantsAnotherStep(scope, step, output));
  const stopped = scope.stop.cause;
  if (stopped !== undefined) return end(await closeTurn(scope, stopped));
  if (!goesOn || scope.stop.afterStep) return finish(scope, step, output);
  if (scope.stop.pauses && hasStepLeft(scope)) return pauseBetweenSteps(scope);
  scope.machine.send({ type: 'CONTINUE' });
  return { type: 'project' };
}

/** A text that waits is answered before the answer counts as the output. */
async function outputOf(scope: TurnScope, step: AnsweredStep): Promise<OutputVerdict> {
  const { plan, steering } = scope;
  if (plan.output === undefined) return { type: 'none' };
  await steering.ready();
  if (step.calls.length === 0 && steering.size > 0 && !scope.stop.afterStep) return { type: 'none' };
  return judgeOutput(scope, plan.output, step.calls);
}

async function wantsAnotherStep(
  scope: TurnScope,
  step: AnsweredStep,
  output: OutputVerdict,
): Promise<boolean> {
  const { steering } = scope;
  if (scope.stop.afterStep) return false;
  if (step.endsTurn === true) return output.type === 'accepted' && mustContinue(scope, output);
  await steering.ready();
  if (step.calls.length > 0 || steering.size > 0 || output.type === 'rejected')
    return mayContinue(scope, step);
  if (await mustContinue(scope, output)) return true;
  // A text may have come while the gate was asked.
  await steering.ready();
  return steering.size > 0 && mayContinue(scope, step);
}

function finishReason(scope: TurnScope, step: AnsweredStep, output: OutputVerdict): StopReason {
  if (step.endsTurn === true) return output.type === 'accepted' ? 'end-turn' : 'tool-end';
  if (scope.stop.afterStep) return 'after-step-stop';
  if (step.calls.length > 0) return 'other';
  if (step.finish === 'length') return 'max-tokens';
  return step.finish === 'other' ? 'other' : 'end-turn';
}

async function finish(scope: TurnScope, step: AnsweredStep, output: OutputVerdict): Promise<Next> {
  const stopReason = finishReason(scope, step, output);
  if (output.type === 'accepted') {
    return end(await finishTurn(scope, { status: 'completed', stopReason, output }));
  }
  if (scope.plan.output === undefined)
    return end(await finishTurn(scope, { status: 'completed', stopReason }));
  // An agent with an output never completes without one.
  const failure = invalidOutput(`the turn ended without one (${stopReason})`);
  scope.stop.stop({ type: 'failed', failure });
  return end(await closeTurn(scope, scope.stop.cause ?? { type: 'failed', failure }));
}

async function mayContinue(scope: TurnScope, step: AnsweredStep): Promise<boolean> {
  const { plan } = scope;
  if (!plan.gates.has('beforeContinue')) return true;
  const subject = { ...gateScope(scope), stepIndex: scope.progress.steps, calls: step.calls.length };
  const result = await plan.gates.run('beforeContinue', subject, scope.stop.signal);
  return result.type === 'allow';
}

/** A gate may ask for one more step before the turn ends; its reason is what the model is told. */
async function mustContinue(scope: TurnScope, output: OutputVerdict): Promise<boolean> {
  const { plan } = scope;
  if (!plan.gates.has('beforeComplete')) return false;
  const subject = {
    ...gateScope(scope),
    stepIndex: scope.progress.steps,
    text: scope.progress.text,
    ...(output.type === 'accepted' ? { output: output.json } : {}),
  };
  const result = await plan.gates.run('beforeComplete', subject, scope.stop.signal);
  if (result.type === 'allow' || scope.stop.cause !== undefined) return false;
  const id = `${scope.turnId}.gate.${scope.progress.steps}`;
  const data = { id, text: result.reason, actor: result.by };
  await scope.session.log.commit([{ type: 'steering.accepted', turn: scope.turnId, data }]);
  void scope.steering.add(id, result.reason);
  return true;
}

function gateScope(scope: TurnScope) {
  const { sessionId, agentPath } = scope.session;
  return { sessionId, agentPath, turnId: scope.turnId };
}

function end(turnEnd: TurnEnd): Next {
  return { type: 'end', end: turnEnd };
}
