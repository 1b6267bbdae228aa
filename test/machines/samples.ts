import { agentMachine } from '../../machines/agent.ts';
import { graphSupervisorMachine } from '../../machines/graph-supervisor.ts';
import type { EventOf, InputOf, MachineKind, MachineOf } from '../../machines/machine-kind.ts';
import { stepMachine } from '../../machines/step.ts';
import { toolCallMachine } from '../../machines/tool-call.ts';
import { turnMachine } from '../../machines/turn.ts';

/** A machine with the inputs and events that together reach every corner of it. */
export interface Sample<K extends MachineKind> {
  readonly kind: K;
  readonly machine: MachineOf<K>;
  readonly inputs: readonly InputOf<K>[];
  /** Each type at least once; several times where its payload decides. */
  readonly events: readonly EventOf<K>[];
  /** The request that ends an instance from outside. */
  readonly stop: EventOf<K>['type'];
  /** Facts of the context that guards read, bounded: what makes two situations different. */
  readonly situation: readonly string[];
}

const stepId = 's-1.1.1';
const callId = 's-1.1.1.0';
const childId = 's-2';
const request = 's-1.1.1.0.ask';
const kind = 'unknown';

export const turnSample: Sample<'turn'> = {
  kind: 'turn',
  machine: turnMachine,
  inputs: [
    { turnId: 's-1.1', agentId: 'a', maxSteps: 2 },
    { turnId: 's-1.1', agentId: 'a', maxSteps: 0 },
    { turnId: 's-1.1', agentId: 'a', maxSteps: Number.POSITIVE_INFINITY },
  ],
  events: [
    { type: 'OPENED' },
    { type: 'OPEN_FAILED', kind },
    { type: 'PROJECTED' },
    { type: 'PROJECTION_FAILED', kind },
    { type: 'NEEDS_COMPACTION' },
    { type: 'COMPACTED' },
    { type: 'COMPACTION_FAILED', kind, underWindow: true },
    { type: 'COMPACTION_FAILED', kind, underWindow: false },
    { type: 'STEP_BACKOFF', stepId, delayMs: 1_000 },
    { type: 'STEP_RESUMED', stepId, attempt: 2 },
    { type: 'STEP_COMPLETED', stepId, calls: 0 },
    { type: 'STEP_COMPLETED', stepId, calls: 2 },
    { type: 'STEP_FAILED', stepId, kind },
    { type: 'STEP_OVERFLOW', stepId, emitted: false },
    { type: 'STEP_OVERFLOW', stepId, emitted: true },
    { type: 'RECOVERED' },
    { type: 'RECOVERY_FAILED', kind },
    { type: 'CALL_PARKED', callId },
    { type: 'APPROVAL_RESOLVED', callId, decision: 'approve' },
    { type: 'CALL_SETTLED', callId },
    { type: 'CONTINUE' },
    { type: 'FINISH', stopReason: 'end-turn' },
    { type: 'YIELD' },
    { type: 'HANDED_OFF', target: 'b' },
    { type: 'PAUSED', reason: 'approval' },
    { type: 'RESUMED' },
    { type: 'STOP_AFTER_STEP' },
    { type: 'CANCEL' },
    { type: 'INTERRUPT' },
    { type: 'COMMIT_FAILED', kind },
    { type: 'BUDGET_EXHAUSTED', budget: 'token-budget' },
    { type: 'CLOSED' },
  ],
  stop: 'CANCEL',
  situation: [
    'stepIndex',
    'stepCompleted',
    'pendingCalls',
    'parkedCount',
    'overflowUsed',
    'stopAfterStep',
    'closeReason',
  ],
};

export const stepSample: Sample<'step'> = {
  kind: 'step',
  machine: stepMachine,
  inputs: [
    { stepId, index: 1, visibleCount: 3, maxAttempts: 3, maxIdleRetries: 1, maxTruncatedRetries: 1 },
    {
      stepId,
      index: 1,
      visibleCount: 0,
      maxAttempts: 3,
      maxIdleRetries: 0,
      maxTruncatedRetries: 0,
      attemptsBefore: 2,
    },
  ],
  events: [
    { type: 'CAPTURED' },
    { type: 'CAPTURE_FAILED', kind },
    { type: 'FIRST_PART' },
    { type: 'EMPTY_FINISH' },
    { type: 'ATTEMPT_FAILED', kind },
    { type: 'OUTPUT_EMITTED', what: 'thinking' },
    { type: 'OUTPUT_EMITTED', what: 'output' },
    { type: 'STREAM_ENDED' },
    { type: 'IDLE_EXPIRED' },
    { type: 'OUTCOME_COMPLETED', calls: 1, usageKnown: true },
    { type: 'OUTCOME_RETRYABLE', kind, cause: 'failure' },
    { type: 'OUTCOME_RETRYABLE', kind, cause: 'idle' },
    { type: 'OUTCOME_RETRYABLE', kind, cause: 'truncated' },
    { type: 'OUTCOME_TRUNCATED', kind },
    { type: 'OUTCOME_TERMINAL', kind },
    { type: 'OUTCOME_OVERFLOW', kind },
    { type: 'OUTCOME_ABORTED' },
    { type: 'BACKOFF_ELAPSED' },
    { type: 'ABORT' },
    { type: 'COMMIT_FAILED', kind },
  ],
  stop: 'ABORT',
  situation: ['attempt', 'idleRetriesLeft', 'truncatedRetriesLeft', 'emitted', 'abortRequested'],
};

export const toolCallSample: Sample<'tool-call'> = {
  kind: 'tool-call',
  machine: toolCallMachine,
  inputs: [{ callId, stepId, toolName: 'read', origin: 'model', recovery: 'never_auto_retry' }],
  events: [
    { type: 'REPAIRED', toolName: 'read' },
    { type: 'ADMITTED' },
    { type: 'REFUSED', code: 'unknown-tool' },
    { type: 'NEEDS_PERMISSION', request },
    { type: 'CLEARED' },
    { type: 'GRANTED', request },
    { type: 'DENIED', request },
    { type: 'EXPIRED', request },
    { type: 'TURN_CLOSED', request },
    { type: 'PREPARED', operationId: 'op-1' },
    { type: 'PREPARE_FAILED', kind },
    { type: 'EXECUTE' },
    { type: 'PROGRESS' },
    { type: 'SUSPENDED' },
    { type: 'RESUMED' },
    { type: 'RETURNED', outcome: 'success' },
    { type: 'RETURNED', outcome: 'error' },
    { type: 'RETURNED', outcome: 'aborted' },
    { type: 'THREW', kind },
    { type: 'TIMED_OUT' },
    { type: 'ABORT' },
    { type: 'GRACE_EXPIRED' },
    { type: 'OUTCOME_LOST', reason: 'process-lost' },
    { type: 'SETTLED_BY_DECISION', decision: 'settle', outcome: 'success' },
    { type: 'SETTLED_BY_DECISION', decision: 'interrupted', outcome: 'interrupted' },
    { type: 'COMMITTED' },
    { type: 'COMMIT_FAILED', kind },
  ],
  stop: 'ABORT',
  situation: ['outcome', 'abortCause'],
};

export const agentSample: Sample<'agent'> = {
  kind: 'agent',
  machine: agentMachine,
  inputs: [
    { agentId: 'a', maxRestarts: 1 },
    { agentId: 'a', maxRestarts: 1, openChildren: 2, graph: 'live', mailboxSize: 1 },
  ],
  events: [
    { type: 'MESSAGE' },
    { type: 'WITHDRAWN' },
    { type: 'WAKE', reason: 'graph' },
    { type: 'WAKE', reason: 'schedule' },
    { type: 'STEER' },
    { type: 'TURN_DONE', status: 'completed' },
    { type: 'TURN_DONE', status: 'completed', graph: 'terminal' },
    { type: 'TURN_YIELDED' },
    { type: 'TURN_BROKEN', kind },
    { type: 'CHILD_STARTED', childId },
    { type: 'CHILD_DONE', childId, status: 'completed' },
    { type: 'WAIT_EXPIRED' },
    { type: 'RESTART' },
    { type: 'STOP' },
    { type: 'STOP_GRACE_EXPIRED' },
  ],
  stop: 'STOP',
  situation: ['mailboxSize', 'openChildren', 'graph', 'restarts'],
};

export const graphSupervisorSample: Sample<'graph-supervisor'> = {
  kind: 'graph-supervisor',
  machine: graphSupervisorMachine,
  inputs: [{ graphId: 's-1.1' }, { graphId: 's-1.1', turnId: 's-1.1', runningWorks: 1, settledWorks: 2 }],
  events: [
    { type: 'UPDATED', revision: 1 },
    { type: 'WORK_STARTED', work: 'w' },
    { type: 'WORK_PARKED', work: 'w' },
    { type: 'WORK_UNPARKED', work: 'w' },
    { type: 'WORK_SETTLED', work: 'w', status: 'completed' },
    { type: 'PASS_DONE' },
    { type: 'RETRY_DUE' },
    { type: 'FINISH' },
    { type: 'FAIL', kind },
    { type: 'STOP' },
    { type: 'COMMIT_FAILED', kind },
    { type: 'PAUSED', reason: 'approval' },
    { type: 'RESUMED' },
    { type: 'CLOSED' },
  ],
  stop: 'STOP',
  situation: ['runningWorks', 'parkedWorks', 'closeReason'],
};

export const samples = [turnSample, stepSample, toolCallSample, agentSample, graphSupervisorSample] as const;
