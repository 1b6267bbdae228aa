import { SwarmError } from '../errors.ts';
import { type CallId, requestIdOf } from '../ids.ts';
import type { NewRecord } from '../ledger/records.ts';
import { callStatus } from '../ledger/turn-facts.ts';
import type { PreparedActivation } from './activations.ts';
import type { BoundTool } from './binding.ts';
import { notActiveText, type Refusal, turnEndedText } from './refusals.ts';
import type { Settlement, SettlingCall } from './settlement.ts';

/**
 * The turn was stopped and nothing of the call ran: it is refused where the turn ends, and left open for the
 * process that resumes it where the turn only leaves this one.
 * @throws SwarmError when the fact could not be made durable
 */
export async function stopBeforeT1(call: SettlingCall): Promise<Settlement> {
  if (call.scope.leaves) return { type: 'detached' };
  const text = turnEndedText(call.facts.called.data.toolName, 'the turn was stopped');
  return refuse(call, { code: 'turn-ended', text });
}

/**
 * Refuses a call to a tool whose parameters the model had not seen, and shows them: the tool is active from the next
 * step on. Where the gate of activations says no, nothing is shown.
 * @throws SwarmError when the fact could not be made durable
 */
export async function teach(call: SettlingCall, bound: BoundTool, refusal: Refusal): Promise<Settlement> {
  const { scope, facts } = call;
  const { callId, stepId } = facts;
  const names = refusal.teaches ?? [];
  const activation = await scope.activations.prepare({ callId, stepId, names, signal: scope.signal });
  if (scope.signal.aborted) return stopBeforeT1(call);
  if (activation.names.length === 0) {
    return refuse(call, { code: 'not-active', text: notActiveText(bound, scope.discovery) });
  }
  const note = activation.takeNote();
  const text = note === undefined ? refusal.text : `${refusal.text}\n${note}`;
  return refuse(call, { ...refusal, text }, activation);
}

/**
 * Writes a refusal as the second half of the pair, then tells the machine. `activation` becomes durable with it.
 * @throws SwarmError when the fact could not be made durable
 */
export async function refuse(
  call: SettlingCall,
  refusal: Refusal,
  activation?: PreparedActivation,
): Promise<Settlement> {
  const { scope, facts, machine } = call;
  const { code, text, details } = refusal;
  const { toolName } = facts.called.data;
  const { stepId, callId } = facts;
  const request = requestIdOf(callId as CallId);
  if (callStatus(facts) === 'parked') {
    // An earlier process left the request open; where nothing here has settled it, it ends with its call.
    await orBreak(call, scope.approvals.cancel({ id: request, stepId, callId }, text));
  }
  const data = { code, text, toolName, ...(details === undefined ? {} : { details }) };
  await commitFact(call, [
    { type: 'tool.refused', turn: scope.turnId, step: stepId, call: callId, data },
    ...(activation?.facts ?? []),
  ]);
  activation?.settled();
  if (machine.state === 'awaitingPermission' && code === 'denied') machine.send({ type: 'DENIED', request });
  else if (machine.state === 'awaitingPermission' && code === 'expired')
    machine.send({ type: 'EXPIRED', request });
  else if (code === 'turn-ended') machine.send({ type: 'ABORT' });
  else machine.send({ type: 'REFUSED', code });
  scope.loopGate.note(toolName, facts.args, 'failure');
  return { type: 'refused' };
}

/** Commits before T1; a failure means that nothing ran and the turn fails. */
export async function commitFact(call: SettlingCall, batch: readonly NewRecord[]): Promise<void> {
  await orBreak(call, call.scope.commit(batch));
}

/** Waits for a commit before T1, telling the machine if it fails. */
export async function orBreak(call: SettlingCall, commit: Promise<unknown>): Promise<void> {
  try {
    await commit;
  } catch (error) {
    call.machine.send({ type: 'COMMIT_FAILED', kind: errorCode(error) });
    throw error;
  }
}

/** The code of a thrown fault. */
export function errorCode(error: unknown): string {
  return error instanceof SwarmError ? error.code : 'unknown';
}
