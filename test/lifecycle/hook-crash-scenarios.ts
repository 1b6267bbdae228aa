import { failure, reply } from '../../src/testing/reply.ts';
import { requestOf, requestsOf } from '../support/approval-run.ts';
import { eventSeen } from '../support/run-events.ts';
import type { Scenario, World } from './hook-play.ts';

const START = 'onAgentStarted onAgentWoken onTurnOpening onTurnOpened';
const AGAIN = '| onAgentStarted onAgentWoken onTurnResumed';
const STEP = 'onRequestProjected onStepStarted onRequestCaptured';
const ANSWER = 'onFirstPart onStreamEnded onStepCompleted';
const LAST = 'onTurnCompleted onAgentIdle onAgentStopped';
const FAILED = 'onTurnFailed onAgentIdle onAgentStopped';
const NEXT = `onCallsSettled onStepBoundary ${STEP} ${ANSWER} ${LAST}`;

/** The process dies, and another one takes the turn up. */
async function takeUp({ halted, restart, agent, run }: World) {
  await halted;
  return restart().resume(agent, run.sessionId).result;
}

/** Turns that another process, or a later resume, takes up where the facts left them. */
export const CRASH_SCENARIOS: readonly Scenario[] = [
  {
    what: 'a crash before the first request',
    script: () => [reply().text('Hello.')],
    faults: [{ at: 'append', record: 'step.opened', action: { type: 'halt' } }],
    meanwhile: takeUp,
    hooks: `${START} onRequestProjected onStepStarted ${AGAIN} ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a crash while the model answers',
    script: () => [reply().text('Hello.'), reply().text('Hello.')],
    faults: [{ at: 'append', record: 'assistant.message', action: { type: 'halt' } }],
    meanwhile: takeUp,
    hooks: `${START} ${STEP} onFirstPart onStreamEnded ${AGAIN} ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a crash before the calls are dispatched',
    script: () => [reply().call('work', { id: 'a' }), reply().text('Done.')],
    faults: [{ at: 'append', record: 'tool.dispatched', action: { type: 'halt' } }],
    meanwhile: takeUp,
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived ${AGAIN} onToolCallReceived onToolPrepared
      onToolStarted onToolSettled ${NEXT}`,
  },
  {
    what: 'a crash after the last call was settled',
    script: () => [reply().call('work', { id: 'a' }), reply().text('Done.')],
    faults: [{ at: 'append', record: 'tool.settled', when: 'after', action: { type: 'halt' } }],
    meanwhile: takeUp,
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolPrepared onToolStarted ${AGAIN}
      onStepBoundary ${STEP} ${ANSWER} ${LAST}`,
  },
  {
    what: 'a crash while a person is asked',
    script: () => [reply().call('gated', { id: 'a' }), reply().text('Done.')],
    faults: [{ at: 'append', record: 'permission.decided', action: { type: 'halt' } }],
    async meanwhile({ runtime, agent, run, restart, halted }) {
      const id = await requestOf(run);
      void runtime.approvals.decide(id, { decision: 'approve' });
      await halted;
      const second = restart();
      const resumed = second.resume(agent, run.sessionId);
      await eventSeen(resumed, 'turn.resumed');
      await second.approvals.decide(id, { decision: 'approve' });
      await resumed.result;
    },
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onPermissionRequested onApprovalRequested ${AGAIN}
      onApprovalResolved onPermissionGranted onToolPrepared onToolStarted onToolSettled ${NEXT}`,
  },
  {
    what: 'a call in doubt that blocks, and is then settled',
    script: () => [reply().call('work', { id: 'a' }), reply().text('Done.')],
    faults: [{ at: 'append', record: 'tool.settled', action: { type: 'halt' } }],
    async meanwhile({ agent, run, restart, halted }) {
      await halted;
      const second = restart();
      await second.resume(agent, run.sessionId).result;
      await second.resume(agent, run.sessionId, { indeterminate: () => ({ settle: 'it worked' }) }).result;
    },
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolPrepared onToolStarted ${AGAIN}
      onToolIndeterminate onTurnPaused onAgentIdle onAgentWoken onTurnResumed
      onToolSettled ${NEXT}`,
  },
  {
    what: 'a crash between the failure of a step and the end of its turn',
    script: () => [failure({ kind: 'auth' })],
    faults: [{ at: 'append', record: 'turn.closed', action: { type: 'halt' } }],
    meanwhile: takeUp,
    hooks: `${START} ${STEP} onStepFailed onTurnClosing ${AGAIN} ${FAILED}`,
  },
  {
    what: 'two requests, decided one after the other',
    script: () => [reply().call('gated', { id: 'a' }).call('gated', { id: 'b' }), reply().text('Done.')],
    async meanwhile({ runtime, run }) {
      for (const id of await requestsOf(run, 2)) {
        await runtime.approvals.decide(id, { decision: 'deny' });
      }
    },
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolCallReceived onPermissionRequested
      onApprovalRequested onPermissionRequested onApprovalRequested onApprovalResolved onPermissionDenied
      onApprovalResolved onPermissionDenied ${NEXT}`,
  },
  {
    what: 'a gate that refuses the request',
    script: () => [],
    gates: { beforeRequest: () => ({ refuse: 'not today' }) },
    hooks: `${START} onTurnClosing ${FAILED}`,
  },
  {
    what: 'an overflow after text was shown',
    script: () => [reply().text('Hel').error({ kind: 'context-overflow' })],
    hooks: `${START} ${STEP} onFirstPart onStreamEnded onStepFailed onTurnClosing ${FAILED}`,
  },
  {
    what: 'a stream that breaks off after text was shown',
    script: () => [reply().text('Hel').error({ kind: 'overloaded' })],
    hooks: `${START} ${STEP} onFirstPart onStreamEnded onStepFailed onTurnClosing ${FAILED}`,
  },
  {
    what: 'a stream that falls silent',
    script: () => [reply().text('Hel').stall()],
    async meanwhile({ run, clock }) {
      await eventSeen(run, 'attempt.started');
      await clock.whenPending();
      await clock.advance(120_000);
    },
    hooks: `${START} ${STEP} onFirstPart onStreamEnded onStepFailed onTurnClosing ${FAILED}`,
  },
  {
    what: 'an answer that is cut twice',
    script: () => [reply().finish(null), reply().finish(null)],
    async meanwhile({ run, clock }) {
      await eventSeen(run, 'attempt.retry-scheduled');
      await clock.whenPending();
      await clock.advance(60_000);
    },
    hooks: `${START} ${STEP} onFirstPart onStreamEnded onRetryScheduled onAttemptStarted onRequestCaptured
      onFirstPart onStreamEnded onStepFailed onTurnClosing ${FAILED}`,
  },
  {
    what: 'a stop after the step, said while it waits for its next attempt',
    script: () => [failure({ kind: 'overloaded' })],
    async meanwhile({ run, clock }) {
      await eventSeen(run, 'attempt.retry-scheduled');
      await clock.whenPending();
      run.stopAfterStep();
      await clock.advance(60_000);
    },
    hooks: `${START} ${STEP} onRetryScheduled onStepFailed onTurnClosing ${FAILED}`,
  },
  {
    what: 'a cancel while a step waits for its next attempt',
    script: () => [failure({ kind: 'overloaded' })],
    async meanwhile({ run, clock }) {
      await eventSeen(run, 'attempt.retry-scheduled');
      await clock.whenPending();
      run.cancel();
    },
    hooks: `${START} ${STEP} onRetryScheduled onTurnClosing onStepAborted onTurnCancelled onAgentIdle onAgentStopped`,
  },
  {
    what: 'a request for approval that cannot be written',
    script: () => [reply().call('gated', { id: 'a' })],
    faults: [{ at: 'append', record: 'permission.requested', action: { type: 'fail' } }],
    hooks: `${START} ${STEP} ${ANSWER} onToolCallReceived onToolFailed onTurnClosing onAgentFaulted onAgentStopped`,
  },
  {
    what: 'an input behind a turn that breaks',
    script: (gate) => [reply().wait(gate).text('Hello.'), reply().text('Done.')],
    faults: [{ at: 'append', record: 'assistant.message', action: { type: 'fail' } }],
    async meanwhile({ runtime, agent, run, gate }) {
      await gate.reached;
      const next = runtime.run(agent, 'Next.', { sessionId: run.sessionId });
      await eventSeen(run, 'attempt.started');
      gate.open();
      await next.result;
    },
    // The broken turn is open in the ledger, so the next one is not opened.
    hooks: `${START} ${STEP} onMessageQueued onFirstPart onStreamEnded onStepFailed onTurnClosing onAgentFaulted
      onAgentRestarted onAgentIdle onAgentStopped`,
  },
  {
    what: 'a resume behind a turn that breaks',
    script: (gate) => [reply().wait(gate).text('Hello.'), reply().text('Done.')],
    faults: [{ at: 'append', record: 'assistant.message', action: { type: 'fail' } }],
    async meanwhile({ runtime, agent, run, gate }) {
      await gate.reached;
      const again = runtime.resume(agent, run.sessionId);
      await eventSeen(run, 'attempt.started');
      gate.open();
      await again.result;
    },
    hooks: `${START} ${STEP} onFirstPart onStreamEnded onStepFailed onTurnClosing onAgentFaulted onAgentRestarted
      onAgentWoken onTurnResumed ${STEP} ${ANSWER} ${LAST}`,
  },
];
