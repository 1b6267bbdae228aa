import { type CallId, operationIdOf } from '../ids.ts';
import { activateCalled } from './activate-called.ts';
import { hashArguments } from './argument-snapshot.ts';
import type { BoundTool } from './binding.ts';
import { type Outcome, outcomeOf } from './call-outcome.ts';
import type { ClearedCall } from './clear-permission.ts';
import { commitOutcome, factOf, sendOutcome } from './commit-outcome.ts';
import { enterTool } from './enter-tool.ts';
import { deniedText, turnEndedText } from './refusals.ts';
import { errorCode, refuse, stopBeforeT1 } from './refuse-call.ts';
import type { Settlement, SettlingCall } from './settlement.ts';

/**
 * T1, execution, T2. The intent is durable before the implementation is entered, the outcome before anything
 * learns of it. This is the only place where an implementation is entered.
 *
 * @throws SwarmError when T1 (nothing ran) or T2 (outcome unknown to the ledger) could not be made durable
 */
export async function dispatchCall(
  call: SettlingCall,
  bound: BoundTool,
  cleared: ClearedCall,
  generation = 0,
): Promise<Settlement> {
  const { scope, facts, machine } = call;
  const refusal = await passExecuteGate(call, bound, cleared);
  if (refusal !== undefined) return refusal;
  const validation = await bound.validate(cleared.args);
  if (scope.signal.aborted) return stopLate(call, generation);
  if (validation.type === 'invalid')
    return refuse(call, { code: 'invalid-arguments', text: validation.message });
  const activation = generation > 0 ? undefined : await activateCalled(call);
  if (scope.signal.aborted) return stopLate(call, generation);
  if (activation?.type === 'refuse') return refuse(call, activation.refusal);
  const operationId = operationIdOf(facts.callId as CallId);
  try {
    await scope.commit([
      factOf(call, 'tool.dispatched', {
        operationId,
        toolName: bound.name,
        recovery: bound.tool.recovery,
        argsHash: hashArguments(cleared.args),
        generation,
        ...(cleared.edited === undefined ? {} : { editedArgs: cleared.args }),
        ...(bound.runtimeOwned === true ? { own: true as const } : {}),
      }),
      ...(activation?.prepared.facts ?? []),
    ]);
  } catch (error) {
    machine.send({ type: 'PREPARE_FAILED', kind: errorCode(error) });
    throw error;
  }
  machine.send({ type: 'PREPARED', operationId });
  activation?.prepared.settled();
  if (scope.signal.aborted) return settleUnentered(call, bound, operationId);
  const startedMs = scope.clock.monotonicMs();
  const execution = await enterTool(call, bound, { ...cleared, operationId, value: validation.value });
  if (execution.type === 'abandoned' && scope.leaves) return leaveOpen(call, bound, operationId);
  const note = activation?.prepared.takeNote();
  const outcome = outcomeOf(call, bound, { ...cleared, note }, execution);
  sendOutcome(call, outcome, execution);
  return commitOutcome(call, bound, outcome, {
    operationId,
    durationMs: scope.clock.monotonicMs() - startedMs,
  });
}

async function passExecuteGate(
  call: SettlingCall,
  bound: BoundTool,
  cleared: ClearedCall,
): Promise<Settlement | undefined> {
  const { scope, facts } = call;
  const result = await scope.gate('beforeToolExecute', {
    toolName: bound.name,
    input: cleared.args,
    callId: facts.callId,
    sessionId: scope.sessionId,
    turnId: scope.turnId,
    stepId: facts.stepId,
    agentPath: scope.agentPath,
  });
  if (result.type === 'allow' || scope.signal.aborted) return undefined;
  return refuse(call, { code: 'gate-refused', text: deniedText(bound.name, result.reason) });
}

/** A stop before T1. A retry has a T1 of an earlier process behind it, whose outcome is as unknown as before. */
async function stopLate(call: SettlingCall, generation: number): Promise<Settlement> {
  return generation > 0 ? { type: 'indeterminate' } : stopBeforeT1(call);
}

/** A stop between T1 and the implementation: the outcome is certain, so it is written. */
function settleUnentered(call: SettlingCall, bound: BoundTool, operationId: string): Promise<Settlement> {
  call.machine.send({ type: 'ABORT' });
  const text = turnEndedText(bound.name, 'the turn was stopped');
  const outcome: Outcome = { status: 'aborted', output: { type: 'error', text }, endsTurn: false };
  return commitOutcome(call, bound, outcome, { operationId, durationMs: 0 });
}

/** The process goes and the implementation has not come back: nobody will know, so somebody must decide. */
async function leaveOpen(call: SettlingCall, bound: BoundTool, operationId: string): Promise<Settlement> {
  const reason = 'the process was closed while it ran';
  await call.scope.commit([
    factOf(call, 'tool.indeterminate', { operationId, toolName: bound.name, reason }),
  ]);
  call.machine.send({ type: 'OUTCOME_LOST', reason });
  return { type: 'indeterminate' };
}
