import type { StepId } from '../ids.ts';
import type { AssistantPart, Usage } from '../ledger/content.ts';
import type { Failure, LedgerRecord, NewRecord, RecordData } from '../ledger/records.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { ModelFailure, StepReport } from '../model/adapter.ts';
import type { AuxiliaryRequest } from '../tools/call-repair.ts';
import { cutChars } from '../tools/safe-text.ts';
import type { AttemptEnd } from './attempt.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { StepPlan } from './step-runner.ts';
import type { TurnScope } from './turn-scope.ts';

/** State of one step under way. */
export interface RunningStep {
  readonly scope: TurnScope;
  readonly plan: StepPlan;
  readonly stepId: StepId;
  readonly machine: Lifecycle<'step'>;
  readonly retry: RetryPolicy;
  attempt: number;
}

/** The failure of an attempt whose answer nobody was left to read. */
export const INTERRUPTED: Failure = {
  kind: 'network',
  detail: 'interrupted',
  message: 'the process ended before the answer came',
};

/** What was shown of an answer that is not whole, as far as a record may hold it. */
export function partialFacts(step: RunningStep, content: readonly AssistantPart[]): readonly NewRecord[] {
  // A character takes at most six bytes as JSON; what is partial anyway may end a little earlier.
  let left = Math.floor(step.scope.plan.limits.ledger.maxBatchBytes / 8);
  const shown = content.flatMap((part) => {
    if ((part.type !== 'text' && part.type !== 'reasoning') || left <= 0) return [];
    const text = cutChars(part.text, left);
    left -= text.length;
    return [{ ...part, text }];
  });
  return shown.length === 0 ? [] : [messageFact(step, shown, true)];
}

/** An answer that is whole and larger than what may be written of one step. */
export function tooLarge(report: StepReport): Extract<AttemptEnd, { type: 'failed' }> {
  const message = 'the answer is larger than what the ledger keeps of one step';
  const failure = { kind: 'malformed-response', detail: 'too-large', message } as const;
  return {
    type: 'failed',
    cause: 'failure',
    failure: { ...failure, retryable: false, phase: 'stream' },
    report,
  };
}

export function messageFact(
  step: RunningStep,
  content: readonly AssistantPart[],
  partial: boolean,
): NewRecord {
  const { model } = step.scope.plan;
  return stepFact(step, 'assistant.message', {
    content: partial ? content.filter((part) => part.type !== 'call') : [...content],
    ...(partial ? { partial: true as const } : {}),
    attempt: step.attempt,
    provider: model.provider,
    model: model.modelId,
  });
}

export function responseOf(report: StepReport): Partial<RecordData<'step.closed'>> {
  const { id, modelId } = report.response;
  return {
    ...(report.usage === undefined ? {} : { usage: report.usage }),
    ...(modelId === undefined ? {} : { modelId }),
    ...(id === undefined ? {} : { responseId: id }),
  };
}

/** What is kept of a failure: the loop's own notes of it stay out. */
export function failureOf(failure: ModelFailure): Failure {
  const { kind, detail, message, status, code, retryAfterMs, requestId } = failure;
  return {
    kind,
    message,
    ...(detail === undefined ? {} : { detail }),
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(requestId === undefined ? {} : { requestId }),
  };
}

export function textOf(content: readonly AssistantPart[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

type StepFactType = Extract<
  LedgerRecord['type'],
  | 'step.opened'
  | 'step.closed'
  | 'step.warned'
  | 'request.prepared'
  | 'attempt.started'
  | 'attempt.failed'
  | 'attempt.retry-scheduled'
  | 'assistant.message'
  | 'step.cache-broken'
>;

export function stepFact<T extends StepFactType>(step: RunningStep, type: T, data: RecordData<T>): NewRecord {
  // The pair of type and data is right by the signature; the union of records cannot see it.
  return { type, data, turn: step.scope.turnId, step: step.stepId } as NewRecord;
}

/**
 * One request that the provider turned away cost nothing; one that died on its way has an unknown cost, and so
 * has a step that was retried.
 */
export function noteFailedUsage(step: RunningStep, end: Extract<AttemptEnd, { type: 'failed' }>): void {
  const { usage } = end.report;
  const isRetried = step.attempt > 1;
  if (usage !== undefined || isRetried || end.failure.phase === 'stream')
    noteUsage(step.scope, usage, usage !== undefined && !isRetried);
}

/** The estimate follows what the provider counted; a count that is far too low is worth a warning. */
export function noteReported({ scope, plan }: RunningStep, usage: Usage | undefined): readonly string[] {
  const { tokens } = plan.projected.size;
  const reported = usage?.inputTokens;
  if (reported === undefined) return [];
  const expected = scope.context.estimate.of(tokens);
  if (scope.context.estimate.note(tokens, reported)) return [];
  return [
    `the provider counted ${reported} tokens where about ${expected} were sent: it may have cut the request`,
  ];
}

export function noteUsage(scope: TurnScope, usage: Usage | undefined, complete: boolean): void {
  scope.turnUsage.note(scope.plan.agent, usage, complete);
  scope.run.usage.note(scope.plan.agent, usage, complete);
  if (usage !== undefined) scope.run.budget.noteUsage(usage);
}

/** What model requests beside those of steps cost; one without a report makes the sum unknown. */
export function noteAuxiliary(scope: TurnScope, requests: readonly AuxiliaryRequest[] = []): void {
  for (const { usage } of requests) noteUsage(scope, usage, usage !== undefined);
}

/** Why the tools of a request are not those of the one before, which a provider's cached prefix depends on. */
export function changeOfTools(
  { progress }: TurnScope,
  toolsHash: string,
): Pick<RecordData<'step.opened'>, 'toolsChange'> {
  const { tools, toolsBefore } = progress;
  const before = tools ?? toolsBefore;
  if (before === undefined || before.toolsHash === toolsHash) return {};
  const isCleared = tools === undefined && toolsBefore?.cleared === true;
  return { toolsChange: isCleared ? 'activation_cleared' : 'tool_schema_changed' };
}
