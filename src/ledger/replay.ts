import type { StepEvent } from '../../machines/step.ts';
import type { ToolCallEvent } from '../../machines/tool-call.ts';
import type { TurnEvent } from '../../machines/turn.ts';
import type { LedgerRecord, RecordOf } from './records.ts';

/** Events that bring fresh machines of one turn to where its facts say they were. */
export interface TurnReplay {
  readonly turn: readonly TurnEvent[];
  /** By step id, in order of opening. */
  readonly steps: ReadonlyMap<string, readonly StepEvent[]>;
  /** By call id; a decided retry stands under `<call id>#<generation>`. */
  readonly calls: ReadonlyMap<string, readonly ToolCallEvent[]>;
}

/**
 * The table durable fact -> machine event. Facts are fewer than transitions, so what lies between two facts is
 * filled in: the machines end where they ended live, on a path that may be shorter.
 * `records` are those of one session in order; records of other turns are passed over.
 */
export function replayTurn(records: readonly LedgerRecord[], turnId: string): TurnReplay {
  const fold: ReplayFold = {
    turn: [],
    steps: new Map(),
    calls: new Map(),
    backingOff: false,
    closing: false,
    stepOpen: false,
    projectsAgain: false,
  };
  for (const record of records) {
    if (record.turn !== turnId) continue;
    foldTurnEvent(fold, record);
    if (record.call !== undefined) foldCallEvent(fold, record, record.call);
    else if (record.step !== undefined) foldStepEvent(fold, record, record.step);
  }
  return fold;
}

interface ReplayFold {
  readonly turn: TurnEvent[];
  readonly steps: Map<string, StepEvent[]>;
  readonly calls: Map<string, ToolCallEvent[]>;
  /** The last fact of the step was a scheduled retry. */
  backingOff: boolean;
  /** A failure of a step already closes the turn. */
  closing: boolean;
  /** A step is open. */
  stepOpen: boolean;
  /** The turn was resumed with a step open: its request is projected again. */
  projectsAgain: boolean;
}

function foldTurnEvent(fold: ReplayFold, record: LedgerRecord): void {
  const { turn } = fold;
  switch (record.type) {
    case 'turn.opened':
      turn.push({ type: 'OPENED' });
      return;
    case 'request.prepared':
      if (fold.projectsAgain) turn.push({ type: 'PROJECTED' });
      fold.projectsAgain = false;
      return;
    case 'step.opened':
      fold.stepOpen = true;
      if (record.data.index > 1) turn.push({ type: 'CONTINUE' });
      turn.push({ type: 'PROJECTED' });
      return;
    case 'attempt.retry-scheduled':
      turn.push({ type: 'STEP_BACKOFF', stepId: record.step ?? '', delayMs: record.data.delayMs });
      return;
    case 'attempt.started':
      if (fold.backingOff) {
        turn.push({ type: 'STEP_RESUMED', stepId: record.step ?? '', attempt: record.data.attempt });
      }
      return;
    case 'step.closed':
      foldStepClosed(fold, record);
      return;
    case 'permission.requested':
      turn.push({ type: 'CALL_PARKED', callId: record.call ?? '' });
      return;
    case 'permission.decided':
      turn.push({ type: 'APPROVAL_RESOLVED', callId: record.call ?? '', decision: record.data.decision });
      return;
    case 'permission.expired':
      turn.push({ type: 'APPROVAL_RESOLVED', callId: record.call ?? '', decision: 'expired' });
      return;
    case 'permission.cancelled':
      closeFirst(fold, record);
      turn.push({ type: 'APPROVAL_RESOLVED', callId: record.call ?? '', decision: 'cancelled' });
      return;
    case 'tool.settled':
    case 'tool.refused':
      turn.push({ type: 'CALL_SETTLED', callId: record.call ?? '' });
      return;
    case 'turn.paused':
      turn.push({ type: 'PAUSED', reason: record.data.reason });
      return;
    case 'turn.resumed':
      fold.projectsAgain = fold.stepOpen;
      turn.push({ type: 'RESUMED' });
      return;
    case 'turn.closed':
      foldTurnClosed(fold, record);
      return;
    default:
      return;
  }
}

/** Requests are cancelled only when the turn is being stopped; what stopped it is known at its end. */
function closeFirst(fold: ReplayFold, record: RecordOf<'permission.cancelled'>): void {
  if (fold.closing) return;
  fold.closing = true;
  fold.turn.push({ type: 'INTERRUPT', reason: record.data.reason });
}

function foldStepClosed(fold: ReplayFold, record: RecordOf<'step.closed'>): void {
  const stepId = record.step ?? '';
  const { status, calls, failure } = record.data;
  fold.stepOpen = false;
  if (status === 'completed') fold.turn.push({ type: 'STEP_COMPLETED', stepId, calls });
  if (status !== 'failed') return;
  fold.closing = true;
  fold.turn.push({ type: 'STEP_FAILED', stepId, kind: failure?.kind ?? 'unknown' });
}

function foldTurnClosed(fold: ReplayFold, record: RecordOf<'turn.closed'>): void {
  const { turn } = fold;
  const { status, stopReason, error, reason } = record.data;
  switch (status) {
    case 'completed':
      turn.push({ type: 'FINISH', stopReason });
      return;
    case 'yielded':
      turn.push({ type: 'YIELD' });
      return;
    case 'handed-off':
      turn.push({ type: 'HANDED_OFF', target: reason ?? '' });
      return;
    case 'cancelled':
      turn.push({ type: 'CANCEL', ...(reason === undefined ? {} : { reason }) }, { type: 'CLOSED' });
      return;
    case 'interrupted':
      turn.push({ type: 'INTERRUPT', ...(reason === undefined ? {} : { reason }) }, { type: 'CLOSED' });
      return;
    case 'failed':
      if (!fold.closing) turn.push({ type: 'BUDGET_EXHAUSTED', budget: error?.kind ?? 'unknown' });
      turn.push({ type: 'CLOSED' });
      return;
  }
}

function foldStepEvent(fold: ReplayFold, record: LedgerRecord, stepId: string): void {
  const events = fold.steps.get(stepId) ?? [];
  fold.steps.set(stepId, events);
  switch (record.type) {
    case 'attempt.started':
      if (record.data.attempt > 1) events.push({ type: 'BACKOFF_ELAPSED' });
      events.push({ type: 'CAPTURED' });
      fold.backingOff = false;
      return;
    case 'attempt.failed': {
      const { kind } = record.data.failure;
      events.push({ type: 'ATTEMPT_FAILED', kind });
      if (record.data.retryable) events.push({ type: 'OUTCOME_RETRYABLE', kind, cause: 'failure' });
      return;
    }
    case 'attempt.retry-scheduled':
      fold.backingOff = true;
      return;
    case 'step.closed':
      events.push(...stepEnd(record));
      return;
    default:
      return;
  }
}

function stepEnd(record: RecordOf<'step.closed'>): readonly StepEvent[] {
  const { status, calls, usage, failure } = record.data;
  if (status === 'completed') {
    return [{ type: 'EMPTY_FINISH' }, { type: 'OUTCOME_COMPLETED', calls, usageKnown: usage !== undefined }];
  }
  if (status === 'aborted') return [{ type: 'ABORT' }, { type: 'OUTCOME_ABORTED' }];
  return [{ type: 'OUTCOME_TERMINAL', kind: failure?.kind ?? 'unknown' }];
}

function foldCallEvent(fold: ReplayFold, record: LedgerRecord, callId: string): void {
  const events = currentCall(fold, callId);
  switch (record.type) {
    case 'tool.called':
      if (record.data.requestedName !== undefined || (record.data.repaired?.length ?? 0) > 0) {
        events.push({ type: 'REPAIRED', toolName: record.data.toolName });
      }
      return;
    case 'permission.requested':
      events.push({ type: 'ADMITTED' }, { type: 'NEEDS_PERMISSION', request: record.data.request });
      return;
    case 'permission.decided':
      if (record.data.decision === 'approve') events.push({ type: 'GRANTED', request: record.data.request });
      return;
    case 'tool.refused':
      events.push(refusedEvent(record, events));
      return;
    case 'tool.dispatched':
      foldDispatched(fold, record, callId);
      return;
    case 'tool.reconciled':
      if (record.data.decision !== 'retry') {
        const decision = record.data.decision;
        const outcome = decision === 'abandon' ? ('abandoned' as const) : ('success' as const);
        events.push({ type: 'SETTLED_BY_DECISION', decision, outcome });
      } else {
        events.push({ type: 'OUTCOME_LOST', reason: 'retried' });
      }
      return;
    case 'tool.settled':
      foldSettled(record, events);
      return;
    default:
      return;
  }
}

/** Events of the newest generation of a call. */
function currentCall(fold: ReplayFold, callId: string): ToolCallEvent[] {
  let key = callId;
  for (let generation = 1; fold.calls.has(`${callId}#${generation}`); generation += 1)
    key = `${callId}#${generation}`;
  const events = fold.calls.get(key) ?? [];
  fold.calls.set(key, events);
  return events;
}

function foldDispatched(fold: ReplayFold, record: RecordOf<'tool.dispatched'>, callId: string): void {
  const { generation, operationId } = record.data;
  const prepared: ToolCallEvent = { type: 'PREPARED', operationId };
  if (generation > 0) {
    fold.calls.set(`${callId}#${generation}`, [{ type: 'ADMITTED' }, { type: 'CLEARED' }, prepared]);
    return;
  }
  const events = currentCall(fold, callId);
  if (events.some((event) => event.type === 'GRANTED')) events.push(prepared);
  else events.push({ type: 'ADMITTED' }, { type: 'CLEARED' }, prepared);
}

function foldSettled(record: RecordOf<'tool.settled'>, events: ToolCallEvent[]): void {
  const decided = events.some((event) => event.type === 'SETTLED_BY_DECISION');
  if (!decided) events.push({ type: 'EXECUTE' }, { type: 'RETURNED', outcome: record.data.status });
  events.push({ type: 'COMMITTED' });
}

function refusedEvent(record: RecordOf<'tool.refused'>, events: readonly ToolCallEvent[]): ToolCallEvent {
  const { code } = record.data;
  const request = events.find((event) => event.type === 'NEEDS_PERMISSION')?.request;
  if (code === 'turn-ended') return { type: 'ABORT' };
  if (request !== undefined && code === 'denied') return { type: 'DENIED', request };
  if (request !== undefined && code === 'expired') return { type: 'EXPIRED', request };
  return { type: 'REFUSED', code };
}
