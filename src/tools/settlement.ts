import type { ToolCallEvent } from '../../machines/tool-call.ts';
import type { Clock } from '../clock.ts';
import { type CallId, requestIdOf } from '../ids.ts';
import type { JsonObject } from '../ledger/content.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerRecord, NewRecord } from '../ledger/records.ts';
import { type CallFacts, callStatus, requestedArgs } from '../ledger/turn-facts.ts';
import type { GateResult, GateSubjects } from '../lifecycle/hooks.ts';
import type { Lifecycle, LifecycleHost } from '../lifecycle/lifecycle.ts';
import type { Limits } from '../limits.ts';
import type { Activations } from './activations.ts';
import type { ApprovalDesk, AskedApproval } from './approvals.ts';
import type { BoundTool } from './binding.ts';
import { clearPermission, handInRequest } from './clear-permission.ts';
import { dispatchCall } from './dispatch.ts';
import type { PermissionPolicy } from './permission.ts';
import {
  changedText,
  deniedText,
  type Refusal,
  type RefusalScope,
  refusalOf,
  skippedText,
  turnEndedText,
  withdrawnText,
} from './refusals.ts';
import { refuse, stopBeforeT1, teach } from './refuse-call.ts';
import { checkReplacement } from './replaced-arguments.ts';

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
  readonly activations: Activations;
  /** @throws SwarmError when the batch is not certainly durable */
  commit(batch: readonly NewRecord[]): Promise<readonly LedgerRecord[]>;
  gate<G extends 'beforeToolCall' | 'beforeToolExecute'>(
    name: G,
    subject: GateSubjects[G],
  ): Promise<GateResult<GateSubjects[G]>>;
  /** A place among the calls that may run at once, or that the call is not to start any more. */
  enterSlot(callId: string): Promise<CallSlot>;
  /** A call waits for a person from now on; `again`: as it did in an earlier process. */
  onParked(callId: string, again: boolean): void;
  /** Sessions below a call wait for a person from now on, or do not any more. */
  onSuspended(callId: string, isSuspended: boolean): void;
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
  /** Still open in the ledger: the turn leaves this process while a person is asked, here or in a session below,
   * or while other workers have its sessions.
   */
  | { readonly type: 'detached'; readonly waitsFor?: 'children' }
  /** Its outcome, or one in a session below, is unknown: it stays open until somebody decides. */
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
  const isFresh = callStatus(facts) === 'called';
  const refusal = isFresh ? refusalOf(facts, scope) : undefined;
  if (refusal !== undefined) return settleRefused(call, refusal);
  if (isFresh) call.machine.send({ type: 'ADMITTED' });
  return settleAdmitted(call);
}

function settleRefused(call: SettlingCall, refusal: Refusal): Promise<Settlement> {
  const bound = call.scope.binding.byName(call.facts.called.data.toolName);
  if (refusal.teaches === undefined || bound === undefined) return refuse(call, refusal);
  return teach(call, bound, refusal);
}

/** A call that asked a person in an earlier process begins where it waited: nobody is told of that again. */
function startMachine(facts: CallFacts, scope: SettlementScope): Lifecycle<'tool-call'> {
  const { toolName, requestedName } = facts.called.data;
  const isMended = requestedName !== undefined || (facts.called.data.repaired?.length ?? 0) > 0;
  const repaired: readonly ToolCallEvent[] = isMended ? [{ type: 'REPAIRED', toolName }] : [];
  const isFresh = callStatus(facts) === 'called';
  const request = requestIdOf(facts.callId as CallId);
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
    ...(isFresh
      ? {}
      : { replay: [...repaired, { type: 'ADMITTED' }, { type: 'NEEDS_PERMISSION', request }] as const }),
  });
  if (isFresh) for (const event of repaired) machine.send(event);
  return machine;
}

async function settleAdmitted(call: SettlingCall): Promise<Settlement> {
  const { scope, facts } = call;
  const { toolName } = facts.called.data;
  const bound = scope.binding.byName(toolName);
  if (bound === undefined) {
    // A restored call whose tool left the binding; a fresh one was refused before.
    return refuse(
      call,
      scope.isWithdrawn(toolName)
        ? { code: 'withdrawn', text: withdrawnText(toolName) }
        : { code: 'unknown-tool', text: turnEndedText(toolName, 'it is no longer available') },
    );
  }
  if (hasChanged(facts, bound)) return refuse(call, { code: 'tool-changed', text: changedText(toolName) });
  const asked = callStatus(facts) === 'parked' ? handInRequest(call, bound) : undefined;
  const slot = await scope.enterSlot(facts.callId);
  if (slot.type === 'detached') return slot;
  const { aborted } = scope.signal;
  if (slot.type === 'skip' && !aborted) {
    return refuse(call, { code: 'skipped', text: skippedText(toolName) });
  }
  try {
    return await settlePlaced(call, bound, asked);
  } finally {
    if (slot.type === 'place') slot.leave();
  }
}

/** What a person was asked about is not what a live source offers under that name now. */
function hasChanged({ requested }: CallFacts, { source, schemaHash }: BoundTool): boolean {
  return source !== undefined && requested !== undefined && requested.data.schemaHash !== schemaHash;
}

async function settlePlaced(
  call: SettlingCall,
  bound: BoundTool,
  asked: AskedApproval | undefined,
): Promise<Settlement> {
  const { signal } = call.scope;
  // A call that waits for a person hears of the end of its turn as the end of its request.
  if (signal.aborted && asked === undefined) return stopBeforeT1(call);
  const admitted = await passGate(call, bound);
  if (signal.aborted && asked === undefined) return stopBeforeT1(call);
  if (admitted.type === 'refuse') return refuse(call, admitted.refusal);
  const cleared = await clearPermission(call, bound, admitted.args, asked);
  if (cleared.type === 'detached') return cleared;
  if (cleared.type === 'stopped') return stopBeforeT1(call);
  if (cleared.type === 'refuse') return refuse(call, cleared.refusal);
  return dispatchCall(call, bound, cleared);
}

type Admitted =
  | { readonly type: 'admitted'; readonly args: JsonObject }
  | { readonly type: 'refuse'; readonly refusal: Refusal };

async function passGate(call: SettlingCall, bound: BoundTool): Promise<Admitted> {
  const { scope, facts } = call;
  // A gate was passed before the request or decision that is on record, and so is what it put in place.
  if (callStatus(facts) !== 'called') return { type: 'admitted', args: requestedArgs(facts) };
  const { args } = facts;
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
