import { failure, reply } from '../../src/testing/reply.ts';
import { requestOf } from '../support/approval-run.ts';
import { eventSeen } from '../support/run-events.ts';
import type { Scenario, World } from './hook-play.ts';

const START = 'onAgentStarted onAgentWoken onTurnOpening onTurnOpened';
const STEP = 'onRequestProjected onStepStarted onRequestCaptured';
const ANSWER = 'onFirstPart onStreamEnded onStepCompleted';
const LAST = 'onTurnCompleted onAgentIdle onAgentStopped';
const FAILED = 'onTurnFailed onAgentIdle onAgentStopped';
const CANCELLED = 'onTurnCancelled onAgentIdle onAgentStopped';
const RAN = 'onToolCallReceived onToolPrepared onToolStarted onToolSettled onCallsSettled onStepBoundary';
const approve = { decision: 'approve' } as const;

const decide = async ({ runtime, run }: World, decision: 'approve' | 'deny') =>
  runtime.approvals.decide(await requestOf(run), { decision });

/** Runs of one agent, from what goes well to what cannot be written. */
export const TURN_SCENARIOS: readonly Scenario[] = [
  {
    what: 'an answer',
    script: () => [reply().text('Hello.')],
    hooks: `${START} ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a call whose name is mended, with progress',
    script: () => [reply().call('WORK', { id: 'report' }), reply().text('Done.')],
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolCallRepaired onToolPrepared onToolStarted
      onToolProgress onToolSettled onCallsSettled onStepBoundary ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a refused call',
    script: () => [reply().call('nope', {}), reply().text('Done.')],
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolCallRefused onCallsSettled onStepBoundary
      ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a call that throws',
    script: () => [reply().call('work', { id: 'throw' }), reply().text('Done.')],
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolPrepared onToolStarted onToolFailed
      onCallsSettled onStepBoundary ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a call that runs out of time',
    script: () => [reply().call('work', { id: 'wait' }), reply().text('Done.')],
    meanwhile: async ({ clock, run }) => {
      await eventSeen(run, 'tool.dispatched');
      await clock.whenPending();
      await clock.advance(600_000);
    },
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolPrepared onToolStarted onToolAborting
      onToolFailed onCallsSettled onStepBoundary ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'an approved call',
    script: () => [reply().call('gated', { id: 'a' }), reply().text('Done.')],
    meanwhile: (world) => decide(world, 'approve'),
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onPermissionRequested onApprovalRequested
      onApprovalResolved onPermissionGranted onToolPrepared onToolStarted onToolSettled onCallsSettled
      onStepBoundary ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a denied call',
    script: () => [reply().call('gated', { id: 'a' }), reply().text('Done.')],
    meanwhile: (world) => decide(world, 'deny'),
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onPermissionRequested onApprovalRequested
      onApprovalResolved onPermissionDenied onCallsSettled onStepBoundary ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a request that expires',
    script: () => [reply().call('gated', { id: 'a' }), reply().text('Done.')],
    meanwhile: async ({ clock, run }) => {
      await requestOf(run);
      await clock.whenPending();
      await clock.advance(24 * 3_600_000);
    },
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onPermissionRequested onApprovalRequested
      onApprovalResolved onPermissionDenied onCallsSettled onStepBoundary ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a pause, a decision and a resume',
    script: () => [reply().call('gated', { id: 'a' }), reply().text('Done.')],
    run: { onApproval: 'pause' },
    meanwhile: async ({ runtime, run, agent }) => {
      await run.result;
      await runtime.approvals.decide(await requestOf(run), approve);
      await runtime.resume(agent, run.sessionId).result;
    },
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onPermissionRequested onApprovalRequested onTurnPaused
      onAgentIdle onAgentWoken onTurnResumed onApprovalResolved onPermissionGranted
      onToolPrepared onToolStarted onToolSettled onCallsSettled onStepBoundary ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a cancel while a tool runs',
    script: () => [reply().call('work', { id: 'wait' })],
    meanwhile: async ({ run }) => {
      await eventSeen(run, 'tool.dispatched');
      run.cancel();
    },
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolPrepared onToolStarted onTurnClosing
      onToolAborting onToolCancelled ${CANCELLED}`,
  },
  {
    what: 'a cancel while a person is asked',
    script: () => [reply().call('gated', { id: 'a' })],
    meanwhile: async ({ run }) => {
      await requestOf(run);
      run.cancel();
    },
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onPermissionRequested onApprovalRequested onTurnClosing
      onToolCancelled ${CANCELLED}`,
  },
  {
    what: 'a cancel while the model answers',
    script: (gate) => [reply().text('Hel').wait(gate).text('lo.')],
    meanwhile: async ({ run, gate }) => {
      await gate.reached;
      run.cancel();
    },
    hooks: `${START} ${STEP} onFirstPart onTurnClosing onStreamEnded onStepAborted ${CANCELLED}`,
  },
  {
    what: 'an attempt that fails and one that answers',
    script: () => [failure({ kind: 'overloaded' }), reply().text('Hello.')],
    meanwhile: async ({ run, clock }) => {
      await eventSeen(run, 'attempt.retry-scheduled');
      await clock.whenPending();
      await clock.advance(60_000);
    },
    hooks: `${START} ${STEP} onRetryScheduled onAttemptStarted onRequestCaptured ${ANSWER} ${LAST}`,
  },
  {
    what: 'a request the provider turns away',
    script: () => [failure({ kind: 'auth' })],
    hooks: `${START} ${STEP} onStepFailed onTurnClosing ${FAILED}`,
  },
  {
    what: 'a request that is too large',
    script: () => [failure({ kind: 'context-overflow' })],
    hooks: `${START} ${STEP} onStepFailed onOverflowRecovery onTurnClosing ${FAILED}`,
  },
  {
    what: 'the step limit',
    script: () => [reply().call('work', { id: 'a' })],
    runtime: { limits: { steps: 1 } },
    hooks: `${START} ${STEP} ${ANSWER} ${RAN.replace(' onStepBoundary', '')} onTurnClosing ${FAILED}`,
  },
  {
    what: 'a step budget that is used up',
    script: () => [reply().call('work', { id: 'a' })],
    run: { budget: { steps: 1 } },
    hooks: `${START} ${STEP} ${ANSWER} ${RAN} onTurnClosing ${FAILED}`,
  },
  {
    what: 'no step at all',
    script: () => [],
    runtime: { limits: { steps: 0 } },
    hooks: `onAgentStarted onAgentWoken onTurnOpening onTurnClosing ${FAILED}`,
  },
  {
    what: 'steering, and an input behind the turn',
    script: (gate) => [reply().wait(gate).text('One.'), reply().text('Two.'), reply().text('Three.')],
    meanwhile: async ({ runtime, run, agent, gate }) => {
      await gate.reached;
      const steered = run.steer('And this.');
      await eventSeen(run, 'steering.accepted');
      const next = runtime.run(agent, 'Next.', { sessionId: run.sessionId });
      await eventSeen(run, 'attempt.started');
      gate.open();
      await steered;
      await next.result;
    },
    hooks: `${START} ${STEP} onSteeringQueued onMessageQueued ${ANSWER} onStepBoundary ${STEP} ${ANSWER}
      onTurnCompleted onTurnOpening onTurnOpened ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'abandoning a turn under way',
    script: (gate) => [reply().text('Hel').wait(gate)],
    meanwhile: async ({ runtime, run, gate }) => {
      await gate.reached;
      await runtime.abandon(run.sessionId, 'enough');
    },
    hooks: `${START} ${STEP} onFirstPart onTurnClosing onStreamEnded onStepAborted onTurnInterrupted onAgentIdle
      onAgentStopped`,
  },
  {
    what: 'T1 that cannot be written',
    script: () => [reply().call('work', { id: 'a' })],
    faults: [{ at: 'append', record: 'tool.dispatched', action: { type: 'fail' } }],
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolFailed onTurnClosing onAgentFaulted onAgentStopped`,
  },
  {
    what: 'T2 that cannot be written',
    script: () => [reply().call('work', { id: 'a' })],
    faults: [{ at: 'append', record: 'tool.settled', action: { type: 'fail' } }],
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolPrepared onToolStarted onToolIndeterminate
      onTurnClosing onAgentFaulted onAgentStopped`,
  },
  {
    what: 'an answer that cannot be written',
    script: () => [reply().text('Hello.')],
    faults: [{ at: 'append', record: 'assistant.message', action: { type: 'fail' } }],
    hooks: `${START} ${STEP} onFirstPart onStreamEnded onStepFailed onTurnClosing onAgentFaulted onAgentStopped`,
  },
  {
    what: 'a turn that cannot be opened',
    script: () => [],
    faults: [{ at: 'append', record: 'turn.opened', action: { type: 'reject', reason: 'conflict' } }],
    hooks: `onAgentStarted onAgentWoken onTurnOpening onTurnClosing onAgentFaulted onAgentStopped`,
  },
];
