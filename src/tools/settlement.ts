import type { Clock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { type CallId, requestIdOf } from '../ids.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerRecord, NewRecord } from '../ledger/records.ts';
import { type CallFacts, callStatus } from '../ledger/turn-facts.ts';
import type { GateResult, GateSubjects } from '../lifecycle/hooks.ts';
import type { Lifecycle, LifecycleHost } from '../lifecycle/lifecycle.ts';
import type { Limits } from '../limits.ts';
import type { ApprovalDesk, ApprovalOutcome, ApprovalRequest } from './approvals.ts';
import { hashArguments, snapshotArguments } from './argument-snapshot.ts';
import type { BoundTool } from './binding.ts';
import { dispatchCall } from './dispatch.ts';
import { decidePermission, type PermissionPolicy, scopeKeyOf } from './permission.ts';
import {
  deniedText,
  expiredText,
  type Refusal,
  type RefusalScope,
  refusalOf,
  skippedText,
  turnEndedText,
} from './refusals.ts';

/** Everything the settlement of one step's calls works with. Lives as long as the step. */
export interface SettlementScope extends RefusalScope {
  readonly sessionId: string;
  readonly rootId: string;
  readonly turnId: string;
  readonly agentPath: readonly string[];
  readonly epoch: number;
  /** What the caller gave the run. */
  readonly context: unknown;
  readonly limits: Limits;
  readonly clock: Clock;
  /** Ends executions: cancel, lost session, close. */
  readonly signal: AbortSignal;
  /** The turn only leaves this process: what was not dispatched stays open in the ledger for the next one. */
  readonly leaves: boolean;
  readonly artifacts: Pick<Ledger, 'putArtifact' | 'getArtifact'>;
  readonly lifecycle: LifecycleHost;
  readonly approvals: ApprovalDesk;
  readonly permission: readonly PermissionPolicy[];
  /** @throws SwarmError when the batch is not certainly durable */
  commit(batch: readonly NewRecord[]): Promise<readonly LedgerRecord[]>;
  gate<G extends 'beforeToolCall' | 'beforeToolExecute'>(
    name: G,
    subject: GateSubjects[G],
  ): Promise<GateResult<GateSubjects[G]>>;
  /** A place among the calls that may run at once, or that the call is not to start any more. */
  enterSlot(): Promise<CallSlot>;
  /** A call waits for a person from now on. */
  onParked(callId: string): void;
  /** An abandoned implementation came back; its result is dropped. */
  onLate(record: NewRecord): void;
}

/** What a call that wants to start is told. */
export type CallSlot =
  | { readonly type: 'place'; leave(): void }
  /** The user spoke while it waited: it is not what is wanted any more. */
  | { readonly type: 'skip' }
  /** The turn leaves this process. */
  | { readonly type: 'detached' };

/** How a call ended as far as its turn is concerned. */
export type Settlement =
  | { readonly type: 'settled'; readonly endsTurn: boolean }
  | { readonly type: 'refused' }
  /** Still open in the ledger: the turn leaves this process while a person is asked. */
  | { readonly type: 'detached' }
  /** An earlier process entered it and its outcome is unknown: it stays open until somebody decides. */
  | { readonly type: 'indeterminate' };

/** A call under settlement. */
export interface SettlingCall {
  readonly facts: CallFacts;
  readonly scope: SettlementScope;
  readonly machine: Lifecycle<'tool-call'>;
}

/**
 * Takes one call to its outcome on the one path every call takes: admission, refusals, gates, permission,
 * intent (T1), execution, outcome (T2). Everything that decides a place among the calls of the step happens
 * before the first await, so call it for all of them in order. `facts` of a restored call carry what was
 * recorded before; a call with T1 is not for this function.
 *
 * @throws SwarmError only when a fact could not be made durable: the turn must then fail
 */
export function settleCall(facts: CallFacts, scope: SettlementScope): Promise<Settlement> {
  const call: SettlingCall = { facts, scope, machine: startMachine(facts, scope) };
  const refusal = callStatus(facts) === 'called' ? refusalOf(facts, scope) : undefined;
  if (refusal !== undefined) return refuse(call, refusal);
  call.machine.send({ type: 'ADMITTED' });
  return settleAdmitted(call);
}

function startMachine(facts: CallFacts, scope: SettlementScope): Lifecycle<'tool-call'> {
  const { toolName, requestedName } = facts.called.data;
  const machine = scope.lifecycle.start('tool-call', {
    id: facts.callId,
    parentId: scope.turnId,
    rootId: scope.rootId,
    session: scope.sessionId,
    input: {
      callId: facts.callId,
      stepId: facts.stepId,
      toolName: requestedName ?? toolName,
      origin: 'model',
      recovery: scope.binding.byName(toolName)?.tool.recovery ?? 'never_auto_retry',
    },
  });
  const repaired = requestedName !== undefined || (facts.called.data.repaired?.length ?? 0) > 0;
  if (repaired) machine.send({ type: 'REPAIRED', toolName });
  return machine;
}

async function settleAdmitted(call: SettlingCall): Promise<Settlement> {
  const { scope, facts } = call;
  const { toolName } = facts.called.data;
  const bound = scope.binding.byName(toolName);
  if (bound === undefined) {
    // A restored call whose tool left the binding; a fresh one was refused before.
    return refuse(call, { code: 'unknown-tool', text: turnEndedText(toolName, 'it is no longer available') });
  }
  const slot = await scope.enterSlot();
  if (slot.type === 'detached') return slot;
  if (slot.type === 'skip') {
    const skipped: Refusal = { code: 'skipped', text: skippedText(toolName) };
    return scope.signal.aborted ? stopBeforeDispatch(call) : refuse(call, skipped);
  }
  try {
    if (scope.signal.aborted) return await stopBeforeDispatch(call);
    const admitted = await passGate(call, bound);
    if (scope.signal.aborted) return await stopBeforeDispatch(call);
    if (admitted.type === 'refuse') return await refuse(call, admitted.refusal);
    const cleared = await clearPermission(call, bound, admitted.args);
    if (cleared.type === 'detached') return cleared;
    if (cleared.type === 'stopped') return await stopBeforeDispatch(call);
    if (cleared.type === 'refuse') return await refuse(call, cleared.refusal);
    return await dispatchCall(call, bound, cleared);
  } finally {
    slot.leave();
  }
}

type Admitted =
  | { readonly type: 'admitted'; readonly args: JsonObject }
  | { readonly type: 'refuse'; readonly refusal: Refusal };

async function passGate(call: SettlingCall, bound: BoundTool): Promise<Admitted> {
  const { scope, facts } = call;
  const args = facts.args;
  // A gate was passed before the request or decision that is on record.
  if (callStatus(facts) !== 'called') return { type: 'admitted', args };
  const subject = {
    toolName: bound.name,
    input: args,
    callId: facts.callId,
    sessionId: scope.sessionId,
    turnId: scope.turnId,
    stepId: facts.stepId,
    agentPath: scope.agentPath,
  };
  const result = await scope.gate('beforeToolCall', subject);
  if (result.type === 'refuse') {
    return { type: 'refuse', refusal: { code: 'gate-refused', text: deniedText(bound.name, result.reason) } };
  }
  if (result.subject.input === args) return { type: 'admitted', args };
  const replaced = await checkReplacement(bound, result.subject.input, scope.limits);
  if (replaced.type === 'ok') return { type: 'admitted', args: replaced.args };
  const text = `${bound.name} did not run: a gate replaced its arguments with unusable ones (${replaced.complaint}).`;
  return { type: 'refuse', refusal: { code: 'gate-refused', text } };
}

/** Arguments a gate or a person put in place of the model's: as plain, bounded and valid as any. */
export async function checkReplacement(
  bound: BoundTool,
  input: unknown,
  limits: Limits,
): Promise<{ type: 'ok'; args: JsonObject } | { type: 'invalid'; complaint: string }> {
  const snapshot = snapshotArguments(input, limits.arguments);
  if (snapshot.type === 'rejected') return { type: 'invalid', complaint: snapshot.reason };
  const bytes = Buffer.byteLength(JSON.stringify(snapshot.args));
  if (bytes > limits.ledger.maxInlineBytes) {
    return { type: 'invalid', complaint: `more than ${limits.ledger.maxInlineBytes} bytes` };
  }
  const validation = await bound.validate(snapshot.args);
  if (validation.type === 'invalid') return { type: 'invalid', complaint: validation.message };
  return { type: 'ok', args: snapshot.args };
}

/** What may be dispatched: the arguments that run, and the answer to a question. */
export interface ClearedCall {
  readonly args: JsonObject;
  /** Set when they are not those the model sent. */
  readonly edited: 'gate' | 'person' | undefined;
  readonly answer: string | undefined;
}

type Clearance =
  | ({ readonly type: 'cleared' } & ClearedCall)
  | { readonly type: 'refuse'; readonly refusal: Refusal }
  /** The turn was stopped while the policies were asked. */
  | { readonly type: 'stopped' }
  | { readonly type: 'detached' };

async function clearPermission(call: SettlingCall, bound: BoundTool, args: JsonObject): Promise<Clearance> {
  const { scope, facts } = call;
  const status = callStatus(facts);
  if (status === 'decided') return followOutcome(call, bound, args, recordedOutcome(facts));
  const request = await approvalRequest(call, bound, args);
  if (status === 'parked') return askPerson(call, bound, args, request);

  const verdict =
    bound.tool.parks === 'question'
      ? ({ type: 'ask' } as const)
      : await decidePermission(bound, request, {
          policies: scope.permission,
          scope: { agent: scope.agentPath.at(-1) ?? '', ...scope },
          remembered: scope.approvals.remembered(request.scopeKey),
        });
  if (scope.signal.aborted) return { type: 'stopped' };
  if (verdict.type === 'deny') {
    return { type: 'refuse', refusal: { code: 'denied', text: deniedText(bound.name, verdict.reason) } };
  }
  if (verdict.type === 'allow') {
    call.machine.send({ type: 'CLEARED' });
    return cleared(call, args, undefined);
  }
  if (scope.approvals.openCount >= scope.limits.approvals.maxOpen) {
    return {
      type: 'refuse',
      refusal: { code: 'denied', text: deniedText(bound.name, 'too many requests for approval are open') },
    };
  }
  await commitFact(call, [scope.approvals.requestedRecord(request)]);
  return askPerson(call, bound, args, request);
}

function cleared(call: SettlingCall, args: JsonObject, answer: string | undefined): Clearance {
  const edited = args === call.facts.args ? undefined : 'gate';
  return { type: 'cleared', args, edited, answer };
}

async function askPerson(
  call: SettlingCall,
  bound: BoundTool,
  args: JsonObject,
  request: ApprovalRequest,
): Promise<Clearance> {
  const { scope, facts, machine } = call;
  machine.send({
    type: 'NEEDS_PERMISSION',
    request: request.id,
    ...(request.expiresAt === undefined ? {} : { expiresAt: request.expiresAt }),
  });
  const decision = scope.approvals.park(request);
  scope.onParked(facts.callId);
  return followOutcome(call, bound, args, await decision);
}

async function followOutcome(
  call: SettlingCall,
  bound: BoundTool,
  args: JsonObject,
  outcome: ApprovalOutcome,
): Promise<Clearance> {
  const { machine, facts } = call;
  const request = requestIdOf(facts.callId as CallId);
  if (machine.state === 'admitted') machine.send({ type: 'NEEDS_PERMISSION', request });
  switch (outcome.type) {
    case 'detached':
      return { type: 'detached' };
    case 'denied':
      return { type: 'refuse', refusal: { code: 'denied', text: deniedText(bound.name, outcome.reason) } };
    case 'expired':
      return { type: 'refuse', refusal: { code: 'expired', text: expiredText(bound.name) } };
    case 'cancelled':
      return {
        type: 'refuse',
        refusal: { code: 'turn-ended', text: turnEndedText(bound.name, outcome.reason) },
      };
    case 'approved': {
      const edited = outcome.editedInput;
      machine.send({ type: 'GRANTED', request, ...(edited === undefined ? {} : { edited: true }) });
      if (edited === undefined) return cleared(call, args, outcome.answer);
      return { type: 'cleared', args: edited, edited: 'person', answer: outcome.answer };
    }
  }
}

function recordedOutcome(facts: CallFacts): ApprovalOutcome {
  const decided = facts.decided?.data;
  if (decided === undefined) return { type: 'expired' };
  const { reason, editedInput, answer } = decided;
  if (decided.decision === 'deny') return { type: 'denied', ...(reason === undefined ? {} : { reason }) };
  return {
    type: 'approved',
    ...(editedInput === undefined ? {} : { editedInput }),
    ...(answer === undefined ? {} : { answer }),
  };
}

async function approvalRequest(
  call: SettlingCall,
  bound: BoundTool,
  args: JsonObject,
): Promise<ApprovalRequest> {
  const { scope, facts } = call;
  const recorded = facts.requested?.data;
  const { expiryMs } = scope.limits.approvals;
  const expiresAt =
    recorded === undefined ? (expiryMs > 0 ? scope.clock.now() + expiryMs : undefined) : recorded.expiresAt;
  const isQuestion = bound.tool.parks === 'question';
  return {
    id: requestIdOf(facts.callId as CallId),
    kind: isQuestion ? 'question' : 'permission',
    toolName: bound.name,
    input: args,
    callId: facts.callId,
    stepId: facts.stepId,
    sessionId: scope.sessionId,
    agentPath: scope.agentPath,
    argsHash: hashArguments(args),
    schemaHash: bound.schemaHash,
    scopeKey: scopeKeyOf(bound, args),
    rememberable: bound.tool.rememberable && !isQuestion,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(isQuestion && typeof args['question'] === 'string' ? { question: args['question'] } : {}),
    async checkEdit(input) {
      const checked = await checkReplacement(bound, input, scope.limits);
      return checked.type === 'ok' ? undefined : checked.complaint;
    },
  };
}

/** The turn was stopped and nothing ran: the call ends with it, or waits for the process that resumes it. */
async function stopBeforeDispatch(call: SettlingCall): Promise<Settlement> {
  const { facts, scope } = call;
  if (scope.leaves) return { type: 'detached' };
  if (callStatus(facts) === 'parked' && facts.requested !== undefined) {
    // Asked by an earlier process, and nobody waits for the answer any more.
    const data = { request: facts.requested.data.request, reason: 'the turn was stopped' };
    const at = { turn: scope.turnId, step: facts.stepId, call: facts.callId };
    await commitFact(call, [{ type: 'permission.cancelled', ...at, data }]);
  }
  const text = turnEndedText(facts.called.data.toolName, 'the turn was stopped');
  return refuse(call, { code: 'turn-ended', text });
}

/** Writes the refusal as the second half of the pair, then tells the machine. */
async function refuse(call: SettlingCall, refusal: Refusal): Promise<Settlement> {
  const { scope, facts, machine } = call;
  const { args } = facts;
  const { toolName } = facts.called.data;
  await commitFact(call, [
    {
      type: 'tool.refused',
      turn: scope.turnId,
      step: facts.stepId,
      call: facts.callId,
      data: { code: refusal.code, text: refusal.text, toolName },
    },
  ]);
  const request = requestIdOf(facts.callId as CallId);
  if (machine.state === 'awaitingPermission' && refusal.code === 'denied')
    machine.send({ type: 'DENIED', request });
  else if (machine.state === 'awaitingPermission' && refusal.code === 'expired')
    machine.send({ type: 'EXPIRED', request });
  else if (refusal.code === 'turn-ended') machine.send({ type: 'ABORT' });
  else machine.send({ type: 'REFUSED', code: refusal.code });
  scope.loopGate.note(toolName, args, 'failure');
  return { type: 'refused' };
}

/** Commits before T1; a failure means that nothing ran and the turn fails. */
async function commitFact(call: SettlingCall, batch: readonly NewRecord[]): Promise<void> {
  try {
    await call.scope.commit(batch);
  } catch (error) {
    call.machine.send({ type: 'COMMIT_FAILED', kind: errorCode(error) });
    throw error;
  }
}

function errorCode(error: unknown): string {
  return error instanceof SwarmError ? error.code : 'unknown';
}
