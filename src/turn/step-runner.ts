import { sleep } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { stepIdOf } from '../ids.ts';
import type { ArtifactRef } from '../ledger/content.ts';
import type { Failure, NewRecord } from '../ledger/records.ts';
import type { StepReport } from '../model/adapter.ts';
import { type AttemptEnd, runAttempt } from './attempt.ts';
import type { ProjectedRequest } from './request-projection.ts';
import { createRetryPolicy } from './retry-policy.ts';
import { abortStep, completeStep, giveUp, leaveBackoff, type StepEnd } from './step-end.ts';
import {
  changeOfTools,
  failureOf,
  INTERRUPTED,
  messageFact,
  type RunningStep,
  stepFact,
} from './step-facts.ts';
import type { TurnScope } from './turn-scope.ts';

/** A step that is open already. */
export interface ReopenedStep {
  readonly attempts: number;
  /** The last attempt has no end. */
  readonly openAttempt: boolean;
  /** It is the same turn of this process: its tools are those the step was opened with. */
  readonly keepsTools?: true;
}

/** A step to run. */
export interface StepPlan {
  readonly index: number;
  readonly projected: ProjectedRequest;
  /** Facts that belong into the first batch of the step: injected steering. */
  readonly before: readonly NewRecord[];
  /** Set when the step was opened before: by an earlier process, or with a request that was too large. */
  readonly reopened?: ReopenedStep;
  /** Called when the first batch is durable. */
  onOpened?(): void;
}

/**
 * One answer of the model: request capture, attempts, backoff, and the answer's facts in one batch before
 * anything acts on them.
 * @throws SwarmError when a fact could not be made durable
 */
export async function runStep(scope: TurnScope, plan: StepPlan): Promise<StepEnd> {
  const step = startStep(scope, plan);
  try {
    await openStep(step);
    plan.onOpened?.();
    for (;;) {
      const end = await requestOnce(step);
      const next = await settleAttempt(step, end);
      if (next !== 'again') return next;
      await captureAttempt(step, []);
    }
  } catch (error) {
    step.machine.send({ type: 'COMMIT_FAILED', kind: error instanceof SwarmError ? error.code : 'unknown' });
    throw error;
  }
}

function startStep(scope: TurnScope, plan: StepPlan): RunningStep {
  const { session } = scope;
  const { limits } = scope.plan;
  const stepId = stepIdOf(scope.turnId, plan.index);
  const attemptsBefore = plan.reopened?.attempts ?? 0;
  const machine = session.lifecycle.start('step', {
    id: stepId,
    parentId: scope.turnId,
    rootId: session.rootId,
    session: session.sessionId,
    input: {
      stepId,
      index: plan.index,
      visibleCount: plan.projected.visible.length,
      maxAttempts: limits.attempts.max,
      maxIdleRetries: limits.attempts.idle,
      maxTruncatedRetries: limits.attempts.truncated,
      attemptsBefore,
    },
  });
  const retry = createRetryPolicy(limits, session.random);
  return { scope, plan, stepId, machine, retry, attempt: attemptsBefore + 1 };
}

function openStep(step: RunningStep): Promise<void> {
  const { plan, scope } = step;
  if (plan.reopened === undefined) {
    const { visible, toolsHash, schemaChars } = plan.projected;
    const opened = stepFact(step, 'step.opened', {
      index: plan.index,
      visible: visible.map((bound) => bound.name),
      toolsHash,
      schemaChars,
      active: [...scope.tools.activated],
      ...changeOfTools(scope, toolsHash),
    });
    scope.progress.tools = { visible: visible.length, schemaChars, toolsHash };
    return captureAttempt(step, [...plan.before, opened]);
  }
  const lost = stepFact(step, 'attempt.failed', {
    attempt: plan.reopened.attempts,
    failure: INTERRUPTED,
    retryable: true,
  });
  return captureAttempt(step, [...(plan.reopened.openAttempt ? [lost] : []), ...plan.before]);
}

/** The request is on record before it is sent; without the record nothing is sent. */
async function captureAttempt(step: RunningStep, before: readonly NewRecord[]): Promise<void> {
  const { scope, plan } = step;
  const body = scope.plan.capturesRequests ? await keepRequest(step) : undefined;
  await scope.session.log.commit([
    ...before,
    stepFact(step, 'request.prepared', {
      ...plan.projected.fingerprint,
      ...(body === undefined ? {} : { body }),
    }),
    stepFact(step, 'attempt.started', { attempt: step.attempt, sha256: plan.projected.fingerprint.sha256 }),
  ]);
  step.machine.send({ type: 'CAPTURED' });
}

/** The whole request as the model adapter gets it: no header, no key, but all that was said. */
function keepRequest(step: RunningStep): Promise<ArtifactRef> {
  const text = JSON.stringify(step.plan.projected.request);
  return step.scope.session.ledger.putArtifact(Buffer.from(text), 'application/json');
}

function requestOnce(step: RunningStep): Promise<AttemptEnd> {
  const { scope, plan, machine, stepId } = step;
  const { live } = scope.run;
  const { sessionId, agentPath, clock } = scope.session;
  return runAttempt({
    model: scope.plan.model,
    request: plan.projected.request,
    machine,
    clock,
    timeouts: scope.plan.limits.timeouts,
    signal: scope.stop.signal,
    onEvent(event) {
      if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
        live.publish({ type: event.type, text: event.text, session: sessionId, step: stepId, agentPath });
      }
    },
  });
}

async function settleAttempt(step: RunningStep, end: AttemptEnd): Promise<StepEnd | 'again'> {
  endStream(step, end);
  switch (end.type) {
    case 'completed':
      return completeStep(step, end);
    case 'aborted':
      return abortStep(step, end.report);
    case 'failed':
      return fail(step, end);
  }
}

/** Brings the machine from its streaming states to `settlingOutcome`. */
function endStream(step: RunningStep, end: AttemptEnd): void {
  const { machine } = step;
  // Signed metadata is no event of the stream, and binds like text does.
  const { metadata } = reportOf(end).emitted;
  if (metadata && machine.state === 'streaming' && machine.context.emitted !== 'output') {
    machine.send({ type: 'OUTPUT_EMITTED', what: 'output' });
  }
  if (machine.state === 'dispatching') {
    const failed = end.type === 'failed';
    machine.send(failed ? { type: 'ATTEMPT_FAILED', kind: end.failure.kind } : { type: 'EMPTY_FINISH' });
  } else if (machine.state === 'streaming') {
    if (end.type !== 'failed') machine.send({ type: 'STREAM_ENDED' });
    else if (end.cause === 'idle') machine.send({ type: 'IDLE_EXPIRED' });
    else if (end.cause === 'truncated') machine.send({ type: 'STREAM_ENDED' });
    else machine.send({ type: 'ATTEMPT_FAILED', kind: end.failure.kind });
  }
}

function reportOf(end: AttemptEnd): StepReport {
  return end.type === 'completed' ? end.outcome.report : end.report;
}

async function fail(
  step: RunningStep,
  end: Extract<AttemptEnd, { type: 'failed' }>,
): Promise<StepEnd | 'again'> {
  const { scope, machine } = step;
  const failure = failureOf(end.failure);
  const verdict = scope.stop.afterStep
    ? ({ type: 'give-up' } as const)
    : step.retry.judge(end.failure, step.attempt);
  if (verdict.type === 'retry') {
    machine.send({ type: 'OUTCOME_RETRYABLE', kind: failure.kind, cause: end.cause });
  }
  // The machine has the last word: what the attempt has shown forbids another.
  const retries = machine.state === 'backingOff';
  const failed = stepFact(step, 'attempt.failed', { attempt: step.attempt, failure, retryable: retries });
  if (verdict.type === 'give-up' || !retries) return giveUp(step, end, [failed]);
  // Thinking that was shown is kept under a message of its own before the stream starts anew.
  const thought = end.report.content.some((part) => part.type === 'reasoning');
  await scope.session.log.commit([
    ...(thought ? [messageFact(step, end.report.content, true)] : []),
    failed,
    stepFact(step, 'attempt.retry-scheduled', {
      attempt: step.attempt,
      maxAttempts: scope.plan.limits.attempts.max,
      delayMs: verdict.delayMs,
      reason: verdict.reason,
    }),
  ]);
  return backOff(step, verdict.delayMs, failure);
}

async function backOff(step: RunningStep, delayMs: number, failure: Failure): Promise<StepEnd | 'again'> {
  const { scope, machine, stepId } = step;
  const { stop } = scope;
  scope.machine.send({ type: 'STEP_BACKOFF', stepId, delayMs });
  await sleep(scope.session.clock, delayMs, AbortSignal.any([stop.signal, stop.afterStepSignal]));
  if (stop.signal.aborted || stop.afterStep) return leaveBackoff(step, failure);
  step.attempt += 1;
  machine.send({ type: 'BACKOFF_ELAPSED' });
  scope.machine.send({ type: 'STEP_RESUMED', stepId, attempt: step.attempt });
  return 'again';
}
