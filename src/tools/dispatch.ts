import { type CallId, operationIdOf } from '../ids.ts';
import { effectiveArgs } from '../ledger/turn-facts.ts';
import { activateCalled } from './activate-called.ts';
import { hashArguments } from './argument-snapshot.ts';
import type { BoundTool } from './binding.ts';
import { type Outcome, outcomeOf } from './call-outcome.ts';
import type { ClearedCall } from './clear-permission.ts';
import { commitOutcome, factOf, sendOutcome } from './commit-outcome.ts';
import { enterTool } from './enter-tool.ts';
import type { Execution } from './execution.ts';
import { deniedText, turnEndedText } from './refusals.ts';
import { errorCode, refuse, stopBeforeT1 } from './refuse-call.ts';
import { StaysOpen } from './runtime-tool.ts';
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
  const note = activation?.prepared.takeNote();
  const entered = { cleared: { ...cleared, note }, operationId, startedMs };
  return settleExecution(call, bound, entered, execution);
}

/**
 * Enters a tool again that an earlier process entered: it finds what it began by its facts, and begins nothing twice.
 * @throws SwarmError when T2 could not be made durable
 */
export async function reattachCall(call: SettlingCall, bound: BoundTool): Promise<Settlement> {
  const { scope, facts } = call;
  const operationId = operationIdOf(facts.callId as CallId);
  const cleared: ClearedCall = { args: effectiveArgs(facts), edited: undefined, answer: undefined };
  const validation = await bound.validate(cleared.args);
  // It began when its intent was written, whoever looked on meanwhile.
  const agoMs = Math.max(0, scope.clock.now() - (facts.dispatched?.at ?? scope.clock.now()));
  const startedMs = scope.clock.monotonicMs() - agoMs;
  // They were valid when it was entered first; a newer schema that they do not fit is a result like any other.
  const value = validation.type === 'valid' ? validation.value : cleared.args;
  const execution = await enterTool(call, bound, { ...cleared, operationId, value, reattached: true });
  return settleExecution(call, bound, { cleared, operationId, startedMs }, execution);
}

interface Entered {
  readonly cleared: ClearedCall;
  readonly operationId: string;
  readonly startedMs: number;
}

async function settleExecution(
  call: SettlingCall,
  bound: BoundTool,
  { cleared, operationId, startedMs }: Entered,
  execution: Execution,
): Promise<Settlement> {
  const { scope } = call;
  if (execution.type === 'abandoned' && scope.leaves) return leaveOpen(call, bound, operationId);
  if (execution.type === 'returned' && execution.value instanceof StaysOpen) {
    const { reason } = execution.value;
    if (reason === 'children') return { type: 'detached', waitsFor: reason };
    return { type: reason === 'indeterminate' ? 'indeterminate' : 'detached' };
  }
  const outcome = outcomeOf(call, bound, cleared, execution);
  sendOutcome(call, outcome, execution);
  const durationMs = scope.clock.monotonicMs() - startedMs;
  return commitOutcome(call, bound, outcome, { operationId, durationMs });
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
