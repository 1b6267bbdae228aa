import type { StepEvent } from '../../machines/step.ts';
import type { ToolCallEvent } from '../../machines/tool-call.ts';
import type { TurnEvent } from '../../machines/turn.ts';
import type { LedgerRecord, RecordOf } from './records.ts';
import { foldCallEvent } from './replay-call.ts';

/** Events that bring fresh machines of one turn to where its facts say they were. */
export interface TurnReplay {
  readonly turn: readonly TurnEvent[];
  /** By step id, in order of opening. */
  readonly steps: ReadonlyMap<string, readonly StepEvent[]>;
  /** By call id; a decided retry stands under `<call id>#<generation>`. */
  readonly calls: ReadonlyMap<string, readonly ToolCallEvent[]>;
  /** Facts since the turn was paused, which its machine is told of when it has been resumed; in no other list. */
  readonly whilePaused: readonly TurnEvent[];
}

/**
 * The table durable fact -> machine event. Facts are fewer than transitions, so what lies between two facts is
 * filled in: the machines end where they ended live, on a path that may be shorter.
 * `records` are those of one session in order; records of other turns are passed over.
 */
export function replayTurn(records: readonly LedgerRecord[], turnId: string): TurnReplay {
  const replayer = createTurnReplayer(turnId);
  for (const record of records) replayer.add(record);
  return replayer.replay();
}

/** Follows the facts of one turn as they come. A later fact may take back what an earlier one seemed to say. */
export interface TurnReplayer {
  /** Records of other turns are passed over. */
  add(record: LedgerRecord): void;
  /** The events up to here. Its lists go on growing. */
  replay(): TurnReplay;
}

export function createTurnReplayer(turnId: string): TurnReplayer {
  const fold: ReplayFold = {
    turn: [],
    steps: new Map(),
    calls: new Map(),
    backingOff: false,
    closing: false,
    stepOpen: false,
    projectsAgain: false,
    hadStep: false,
    goesOn: false,
    whilePaused: undefined,
  };
  return {
    add(record) {
      if (record.turn !== turnId) return;
      foldTurnEvent(fold, record);
      if (record.call !== undefined) foldCallEvent(fold.calls, record, record.call);
      else if (record.step !== undefined) foldStepEvent(fold, record, record.step);
    },
    replay: () => ({ ...fold, whilePaused: fold.whilePaused ?? [] }),
  };
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
  /** A step was closed. */
  hadStep: boolean;
  /** The turn was told to take another step, which is not open yet. */
  goesOn: boolean;
  /** The turn was resumed with a step open: its request is projected again. */
  projectsAgain: boolean;
  /** What happened since the turn was paused: its machine lives nowhere, and is told when it goes on. */
  whilePaused: TurnEvent[] | undefined;
}

function foldTurnEvent(fold: ReplayFold, record: LedgerRecord): void {
  switch (record.type) {
    case 'turn.paused':
      fold.turn.push({ type: 'PAUSED', reason: record.data.reason });
      fold.whilePaused = [];
      return;
    case 'turn.resumed':
      fold.projectsAgain = fold.stepOpen;
      fold.backingOff = false;
      goOn(fold, { type: 'RESUMED' });
      return;
    case 'turn.closed':
      foldTurnClosed(fold, record);
      return;
    default:
      (fold.whilePaused ?? fold.turn).push(...turnEventsOf(fold, record));
  }
}

function goOn(fold: ReplayFold, event: TurnEvent): void {
  fold.turn.push(event, ...(fold.whilePaused ?? []));
  fold.whilePaused = undefined;
}

function turnEventsOf(fold: ReplayFold, record: LedgerRecord): readonly TurnEvent[] {
  const callId = record.call ?? '';
  switch (record.type) {
    case 'turn.opened':
      return [{ type: 'OPENED' }];
    case 'request.prepared':
      return projectedAgain(fold);
    case 'step.opened':
      return stepOpened(fold, record);
    case 'compaction.committed':
      return folded(fold, record.data.trigger, { type: 'COMPACTED' });
    case 'compaction.skipped':
      return foldSkipped(fold, record);
    case 'overflow.recovered':
      // The step stays open, and its request is made again.
      fold.projectsAgain = true;
      return [{ type: 'STEP_OVERFLOW', stepId: record.step ?? '', emitted: false }, { type: 'RECOVERED' }];
    case 'attempt.retry-scheduled':
      return [{ type: 'STEP_BACKOFF', stepId: record.step ?? '', delayMs: record.data.delayMs }];
    case 'attempt.started':
      if (!fold.backingOff) return [];
      return [{ type: 'STEP_RESUMED', stepId: record.step ?? '', attempt: record.data.attempt }];
    case 'step.closed':
      return [...projectedAgain(fold), ...stepClosed(fold, record)];
    case 'permission.requested':
      return [{ type: 'CALL_PARKED', callId }];
    case 'permission.decided':
      return [{ type: 'APPROVAL_RESOLVED', callId, decision: record.data.decision }];
    case 'permission.expired':
      return [{ type: 'APPROVAL_RESOLVED', callId, decision: 'expired' }];
    case 'permission.cancelled':
      return [{ type: 'APPROVAL_RESOLVED', callId, decision: 'cancelled' }];
    case 'tool.settled':
    case 'tool.refused':
      return [{ type: 'CALL_SETTLED', callId }];
    default:
      return [];
  }
}

function stepOpened(fold: ReplayFold, { data }: RecordOf<'step.opened'>): readonly TurnEvent[] {
  fold.stepOpen = true;
  const events = [...(data.index > 1 ? nextStep(fold) : []), { type: 'PROJECTED' } as const];
  fold.goesOn = false;
  return events;
}

/** Said once for each step, by the first fact that shows it. */
function nextStep(fold: ReplayFold): readonly TurnEvent[] {
  if (fold.goesOn) return [];
  fold.goesOn = true;
  return [{ type: 'CONTINUE' }];
}

/** A fold stands between two steps: the turn had decided to go on. */
function folded(fold: ReplayFold, trigger: 'capacity' | 'overflow', end: TurnEvent): readonly TurnEvent[] {
  if (trigger === 'overflow') return [];
  const goesOn = fold.stepOpen || !fold.hadStep ? [] : nextStep(fold);
  return [...goesOn, { type: 'NEEDS_COMPACTION' }, end];
}

function foldSkipped(fold: ReplayFold, { data }: RecordOf<'compaction.skipped'>): readonly TurnEvent[] {
  const { trigger, fits } = data;
  if (trigger === 'capacity' && !fits) fold.closing = true;
  const kind = 'context-budget-exhausted';
  return folded(fold, trigger, { type: 'COMPACTION_FAILED', kind, underWindow: fits });
}

function projectedAgain(fold: ReplayFold): readonly TurnEvent[] {
  if (!fold.projectsAgain) return [];
  fold.projectsAgain = false;
  return [{ type: 'PROJECTED' }];
}

function stepClosed(fold: ReplayFold, record: RecordOf<'step.closed'>): readonly TurnEvent[] {
  const stepId = record.step ?? '';
  const { status, calls, failure } = record.data;
  fold.stepOpen = false;
  fold.hadStep = true;
  if (status === 'completed') return [{ type: 'STEP_COMPLETED', stepId, calls }];
  if (status === 'aborted') return [];
  fold.closing = true;
  return [{ type: 'STEP_FAILED', stepId, kind: failure?.kind ?? 'unknown' }];
}

function foldTurnClosed(fold: ReplayFold, record: RecordOf<'turn.closed'>): void {
  const { turn } = fold;
  const { status, stopReason, error, reason } = record.data;
  const why = reason === undefined ? {} : { reason };
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
      goOn(fold, { type: 'CANCEL', ...why });
      break;
    case 'interrupted':
      goOn(fold, { type: 'INTERRUPT', ...why });
      break;
    case 'failed':
      if (!fold.closing) goOn(fold, { type: 'BUDGET_EXHAUSTED', budget: error?.kind ?? 'unknown' });
      break;
  }
  turn.push({ type: 'CLOSED' });
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
    case 'step.closed': {
      const last = events.at(-1);
      // Left open for a smaller request that was never sent: the step ended with its overflow.
      const overflowed = last?.type === 'OUTCOME_RETRYABLE' && last.kind === 'context-overflow';
      if (overflowed && record.data.status === 'aborted') {
        events.splice(-1, 1, { type: 'OUTCOME_OVERFLOW', kind: last.kind });
      } else events.push(...stepEnd(record));
      return;
    }
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
