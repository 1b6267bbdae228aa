import { describe, expect, it } from 'vitest';
import type { LifecycleHost } from '../../src/lifecycle/lifecycle.ts';
import { recordingHost, startCall, startStep, startTurn } from './instances.ts';

/** CPU time a turn may cost in machines, records and registry, in microseconds. */
const BUDGET_US = 700;
const TURNS = 200;
const ROUNDS = 8;

/** A turn of three steps, the first two with a call each. */
function runTurn(host: LifecycleHost): string {
  const turn = startTurn(host);
  turn.send({ type: 'OPENED' });
  for (const [index, calls] of [1, 1, 0].entries()) {
    const stepId = `s-1.1.${index + 1}`;
    turn.send({ type: 'PROJECTED' });
    const step = startStep(host, stepId);
    step.send({ type: 'CAPTURED' });
    step.send({ type: 'FIRST_PART' });
    step.send({ type: 'OUTPUT_EMITTED', what: 'output' });
    step.send({ type: 'STREAM_ENDED' });
    step.send({ type: 'OUTCOME_COMPLETED', calls, usageKnown: true });
    turn.send({ type: 'STEP_COMPLETED', stepId, calls });
    if (calls === 0) break;
    const callId = `${stepId}.0`;
    const call = startCall(host, callId);
    call.send({ type: 'ADMITTED' });
    call.send({ type: 'CLEARED' });
    call.send({ type: 'PREPARED', operationId: 'op-1' });
    call.send({ type: 'EXECUTE' });
    call.send({ type: 'RETURNED', outcome: 'success' });
    call.send({ type: 'COMMITTED' });
    turn.send({ type: 'CALL_SETTLED', callId });
    turn.send({ type: 'CONTINUE' });
  }
  turn.send({ type: 'FINISH', stopReason: 'end-turn' });
  return turn.state;
}

/** CPU time of one turn in this thread, which a busy machine hardly changes. */
function measureUs(host: LifecycleHost): number {
  const before = process.threadCpuUsage();
  for (let count = 0; count < TURNS; count += 1) runTurn(host);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / TURNS;
}

describe('a turn of three steps and two calls', () => {
  it('makes a record for each transition and no other', () => {
    const { host, records } = recordingHost();
    expect(runTurn(host)).toBe('completed');
    expect(records.filter((record) => record.illegal)).toEqual([]);
    // 6 instances; 12 events of the turn, 5 of each step, 6 of each call.
    expect(records).toHaveLength(6 + 12 + 3 * 5 + 2 * 6);
    expect(host.registry.size).toBe(0);
  });

  it(`costs less than ${BUDGET_US} microseconds`, () => {
    const { host } = recordingHost({ observe: () => undefined });
    const rounds = Array.from({ length: ROUNDS }, () => measureUs(host));
    expect(Math.min(...rounds)).toBeLessThan(BUDGET_US);
  });
});
