import { sleep } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { type StepId, stepIdOf } from '../ids.ts';
import type { Failure, LedgerRecord, NewRecord } from '../ledger/records.ts';
import type { CallFacts } from '../ledger/turn-facts.ts';
import type { FinishReason, StepReport } from '../model/adapter.ts';
import { type CallRepair, createCallRepair } from '../tools/call-repair.ts';
import { type AttemptEnd, runAttempt } from './attempt.ts';
import { type ReadCall, readCalls } from './call-records.ts';
import type { ProjectedRequest } from './request-projection.ts';
import { createRetryPolicy } from './retry-policy.ts';
import {
  changeOfTools,
  failureOf,
  INTERRUPTED,
  messageFact,
  noteAuxiliary,
  noteFailedUsage,
  noteReported,
  noteUsage,
  partialFacts,
  type RunningStep,
  responseOf,
  stepFact,
  textOf,
} from './step-facts.ts';
import type { TurnScope } from './turn-scope.ts';

/** What a step came to, all of it durable. */
export type StepEnd =
  | {
      readonly type: 'completed';
      readonly stepId: StepId;
      /** In the order in which the model returned them. */
      readonly calls: readonly CallFacts[];
      readonly finish: FinishReason;
      readonly text: string;
    }
  | { readonly type: 'failed'; readonly stepId: StepId; readonly failure: Failure }
  | {
      readonly type: 'overflow';
      readonly stepId: StepId;
      readonly failure: Failure;
      readonly emitted: boolean;
    }
  | { readonly type: 'aborted'; readonly stepId: StepId; readonly text: string };

/** A step to run. */
export interface StepPlan {
  readonly index: number;
  readonly projected: ProjectedRequest;
  /** Facts that belong into the first batch of the step: injected steering. */
  readonly before: readonly NewRecord[];
  /** Set when an earlier process opened the step and left its attempt unanswered. */
  readonly reopened?: { readonly attempts: number; readonly openAttempt: boolean };
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
  await scope.session.log.commit([
    ...before,
    stepFact(step, 'request.prepared', plan.projected.fingerprint),
    stepFact(step, 'attempt.started', { attempt: step.attempt, sha256: plan.projected.fingerprint.sha256 }),
  ]);
  step.machine.send({ type: 'CAPTURED' });
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
      return complete(step, end);
    case 'aborted':
      return abort(step, end.report);
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

async function complete(
  step: RunningStep,
  end: Extract<AttemptEnd, { type: 'completed' }>,
): Promise<StepEnd> {
  const { scope, plan, machine, stepId } = step;
  const { report, finish } = end.outcome;
  const warnings = [...report.warnings, ...noteReported(step, report.usage)];
  const repair = repairOf(scope, report);
  const calls = await readCalls(report.calls, {
    turnId: scope.turnId,
    stepId,
    binding: scope.tools.binding,
    visible: plan.projected.visible,
    availability: (route) => scope.tools.availability(route),
    repair,
    limits: scope.plan.limits,
    ledger: scope.session.ledger,
    open: finish.reason === 'length',
  });
  const committed = await scope.session.log.commit([
    messageFact(step, report.content, false),
    ...calls.map((call) => call.record),
    ...(warnings.length === 0 ? [] : [stepFact(step, 'step.warned', { warnings })]),
    stepFact(step, 'step.closed', {
      status: 'completed',
      attempts: step.attempt,
      calls: calls.length,
      finish: finish.reason,
      ...(finish.raw === undefined ? {} : { rawFinish: finish.raw }),
      ...responseOf(report),
      ...(repair.requests.length === 0 ? {} : { auxiliary: [...repair.requests] }),
    }),
  ]);
  noteAuxiliary(scope, repair.requests);
  // A retried step has no authoritative usage: what its lost attempts cost is unknown.
  const usageKnown = report.usage !== undefined && step.attempt === 1;
  noteUsage(scope, report.usage, usageKnown);
  machine.send({ type: 'OUTCOME_COMPLETED', calls: calls.length, usageKnown });
  return {
    type: 'completed',
    stepId,
    calls: callsOf(committed, calls),
    finish: finish.reason,
    text: textOf(report.content),
  };
}

function repairOf({ plan, session, run, stop }: TurnScope, report: StepReport): CallRepair {
  const repair = createCallRepair({
    options: plan.discovery.repair,
    model: plan.model,
    clock: session.clock,
    timeoutMs: plan.limits.timeouts.repairMs,
    maxRequests: plan.limits.tools.maxRepairs,
    signal: stop.signal,
    mayAsk: () => !run.budget.isSpent([report, ...repair.requests].flatMap(({ usage }) => usage ?? [])),
  });
  return repair;
}

function callsOf(records: readonly LedgerRecord[], read: readonly ReadCall[]): readonly CallFacts[] {
  const called = records.filter((record) => record.type === 'tool.called');
  return called.map((record, index) => ({
    callId: record.call ?? '',
    stepId: record.step ?? '',
    called: record,
    args: read[index]?.args ?? record.data.args,
  }));
}

async function abort(step: RunningStep, report: StepReport): Promise<StepEnd> {
  const { scope, machine, stepId } = step;
  // A turn that only leaves this process keeps its step open: another one asks again.
  const leaves = scope.stop.cause?.type === 'detached';
  const lost = { attempt: step.attempt, failure: INTERRUPTED, retryable: true };
  await scope.session.log.commit([
    ...partialFacts(step, report.content),
    leaves
      ? stepFact(step, 'attempt.failed', lost)
      : stepFact(step, 'step.closed', {
          status: 'aborted',
          attempts: step.attempt,
          calls: 0,
          ...responseOf(report),
        }),
  ]);
  noteUsage(scope, report.usage, report.usage !== undefined);
  machine.send({ type: 'OUTCOME_ABORTED' });
  return { type: 'aborted', stepId, text: textOf(report.content) };
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

/** Ends a step between two attempts, with nothing of it on the way. */
async function leaveBackoff(step: RunningStep, failure: Failure): Promise<StepEnd> {
  const { scope, machine, stepId, attempt: attempts } = step;
  const { cause } = scope.stop;
  noteUsage(scope, undefined, false);
  if (cause === undefined) {
    const closed = { status: 'failed', attempts, calls: 0, failure } as const;
    await scope.session.log.commit([stepFact(step, 'step.closed', closed)]);
    machine.send({ type: 'OUTCOME_TERMINAL', kind: failure.kind });
    return { type: 'failed', stepId, failure };
  }
  machine.send({ type: 'ABORT' });
  // A turn that only leaves this process keeps its step open: another one asks again.
  if (cause.type !== 'detached') {
    const closed = { status: 'aborted', attempts, calls: 0 } as const;
    await scope.session.log.commit([stepFact(step, 'step.closed', closed)]);
  }
  return { type: 'aborted', stepId, text: '' };
}

async function giveUp(
  step: RunningStep,
  end: Extract<AttemptEnd, { type: 'failed' }>,
  before: readonly NewRecord[],
): Promise<StepEnd> {
  const { scope, machine, stepId } = step;
  const failure = failureOf(end.failure);
  await scope.session.log.commit([
    ...partialFacts(step, end.report.content),
    ...before,
    stepFact(step, 'step.closed', {
      status: 'failed',
      attempts: step.attempt,
      calls: 0,
      failure,
      ...responseOf(end.report),
    }),
  ]);
  noteFailedUsage(step, end);
  scope.progress.text = textOf(end.report.content);
  if (failure.kind === 'context-overflow') {
    machine.send({ type: 'OUTCOME_OVERFLOW', kind: failure.kind });
    return {
      type: 'overflow',
      stepId,
      failure,
      emitted: end.report.emitted.text || end.report.emitted.toolActivity,
    };
  }
  if (!machine.finished) {
    machine.send({
      type: end.cause === 'truncated' ? 'OUTCOME_TRUNCATED' : 'OUTCOME_TERMINAL',
      kind: failure.kind,
    });
  }
  return { type: 'failed', stepId, failure };
}
