import { isSwarmError } from '../errors.ts';
import type { StepId } from '../ids.ts';
import type { Failure, LedgerRecord, NewRecord } from '../ledger/records.ts';
import type { CallFacts } from '../ledger/turn-facts.ts';
import type { FinishReason, StepReport } from '../model/adapter.ts';
import { type CallRepair, createCallRepair } from '../tools/call-repair.ts';
import type { AttemptEnd } from './attempt.ts';
import { noteCache } from './cache-watch.ts';
import { type ReadCall, readCalls } from './call-records.ts';
import { mayRecover } from './overflow-recovery.ts';
import type { ProjectedRequest } from './request-projection.ts';
import {
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
  tooLarge,
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
      /** Set where the step is open still: a smaller request may take the place of this one. */
      readonly rejected?: { readonly request: ProjectedRequest; readonly attempts: number };
    }
  | { readonly type: 'aborted'; readonly stepId: StepId; readonly text: string };

/** The answer and its calls become durable together. */
export async function completeStep(
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
  const committed = await commitAnswer(step, [
    messageFact(step, report.content, false),
    ...calls.map((call) => call.record),
    ...(warnings.length === 0 ? [] : [stepFact(step, 'step.warned', { warnings })]),
    ...noteCache(step, report.usage),
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
  if (committed === 'too-large') {
    const end = tooLarge(report);
    const data = { attempt: step.attempt, failure: failureOf(end.failure), retryable: false };
    return giveUp(step, end, [stepFact(step, 'attempt.failed', data)]);
  }
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

async function commitAnswer(
  step: RunningStep,
  facts: readonly NewRecord[],
): Promise<readonly LedgerRecord[] | 'too-large'> {
  try {
    return await step.scope.session.log.commit(facts);
  } catch (error) {
    if (isSwarmError(error, 'ledger-limit')) return 'too-large';
    throw error;
  }
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

/** The step was stopped; what was shown of its answer is kept. */
export async function abortStep(step: RunningStep, report: StepReport): Promise<StepEnd> {
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

/** Ends a step between two attempts, with nothing of it on the way. */
export async function leaveBackoff(step: RunningStep, failure: Failure): Promise<StepEnd> {
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

/** The request was too large and nothing came of it: the step stays open for a smaller one. */
async function leaveForRecovery(step: RunningStep, failure: Failure): Promise<StepEnd> {
  const { scope, machine, stepId, attempt, plan } = step;
  await scope.session.log.commit([stepFact(step, 'attempt.failed', { attempt, failure, retryable: true })]);
  scope.progress.leftStep = { stepId, attempts: attempt };
  machine.send({ type: 'OUTCOME_OVERFLOW', kind: failure.kind });
  const rejected = { request: plan.projected, attempts: attempt };
  return { type: 'overflow', stepId, failure, emitted: false, rejected };
}

/** No attempt brought an answer, and none will. */
export async function giveUp(
  step: RunningStep,
  end: Extract<AttemptEnd, { type: 'failed' }>,
  before: readonly NewRecord[],
): Promise<StepEnd> {
  const { scope, machine, stepId } = step;
  const failure = failureOf(end.failure);
  const { emitted } = end.report;
  if (failure.kind === 'context-overflow' && mayRecover(scope, emitted, step.attempt)) {
    return leaveForRecovery(step, failure);
  }
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
      emitted: emitted.text || emitted.toolActivity,
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
