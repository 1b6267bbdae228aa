import { type CallId, requestIdOf } from '../ids.ts';
import type { JsonObject } from '../ledger/content.ts';
import { type CallFacts, callStatus, requestedArgs } from '../ledger/turn-facts.ts';
import type { ApprovalOutcome, ApprovalRequest, AskedApproval } from './approvals.ts';
import { hashArguments } from './argument-snapshot.ts';
import type { BoundTool } from './binding.ts';
import { decidePermission, type PermissionDecision, scopeKeyOf } from './permission.ts';
import { deniedText, expiredText, type Refusal, turnEndedText } from './refusals.ts';
import { orBreak } from './refuse-call.ts';
import { checkEdit } from './replaced-arguments.ts';
import type { SettlementScope, SettlingCall } from './settlement.ts';

/** What may be dispatched: the arguments that run, and the answer to a question. */
export interface ClearedCall {
  readonly args: JsonObject;
  /** Set when they are not those the model sent. */
  readonly edited: 'gate' | 'person' | undefined;
  readonly answer: string | undefined;
  /** Text that goes with the result, whatever it is. */
  readonly note?: string | undefined;
}

/** What permission came to. */
export type Clearance =
  | ({ readonly type: 'cleared' } & ClearedCall)
  | { readonly type: 'refuse'; readonly refusal: Refusal }
  /** The turn was stopped while the policies were asked. */
  | { readonly type: 'stopped' }
  | { readonly type: 'detached' };

/** A request an earlier process left open, handed in again. Synchronous, so that it can be decided at once. */
export function handInRequest(call: SettlingCall, bound: BoundTool): AskedApproval {
  const request = approvalRequest(call, bound, requestedArgs(call.facts));
  return call.scope.approvals.ask(request, true);
}

/**
 * Asks policies and, where they say so, a person. `asked` is the request of a restored call that waits already.
 * @throws SwarmError when a fact could not be made durable
 */
export async function clearPermission(
  call: SettlingCall,
  bound: BoundTool,
  args: JsonObject,
  asked: AskedApproval | undefined,
): Promise<Clearance> {
  const { scope, facts } = call;
  if (asked !== undefined) return awaitPerson(call, bound, args, asked);
  if (callStatus(facts) === 'decided') return followOutcome(call, bound, args, recordedOutcome(facts));
  const request = approvalRequest(call, bound, args);
  const verdict = await verdictOn(call, bound, request);
  if (scope.signal.aborted) return { type: 'stopped' };
  if (verdict.type === 'deny') return denied(bound, verdict.reason);
  if (verdict.type === 'allow') {
    call.machine.send({ type: 'CLEARED' });
    return cleared(call, args, undefined);
  }
  if (scope.approvals.openCount >= scope.limits.approvals.maxOpen) {
    return denied(bound, 'too many requests for approval are open');
  }
  return awaitPerson(call, bound, args, scope.approvals.ask(request, false));
}

async function verdictOn(
  call: SettlingCall,
  bound: BoundTool,
  request: ApprovalRequest,
): Promise<PermissionDecision> {
  const { approvals } = call.scope;
  if (request.kind === 'question') {
    // A policy may forbid asking; nothing but a person can answer.
    const verdict = await judge(call, bound, request, undefined);
    return verdict.type === 'deny' ? verdict : { type: 'ask' };
  }
  const remembered = approvals.remembered(request.scopeKey);
  const verdict = await judge(call, bound, request, remembered);
  // A decision made while the policies thought covers this call as much as one made before.
  const since = approvals.remembered(request.scopeKey);
  if (verdict.type !== 'ask' || since === remembered) return verdict;
  return judge(call, bound, request, since);
}

type Remembered = ReturnType<SettlementScope['approvals']['remembered']>;

function judge(
  call: SettlingCall,
  bound: BoundTool,
  request: ApprovalRequest,
  remembered: Remembered,
): Promise<PermissionDecision> {
  return decidePermission(bound, request, { ...permissionOptions(call), remembered });
}

function permissionOptions({ scope }: SettlingCall) {
  const { clock, limits, signal, agentPath, sessionId, context } = scope;
  return {
    policies: scope.permission,
    scope: { agent: agentPath.at(-1) ?? '', agentPath, sessionId, context },
    limits,
    deadline: { clock, timeoutMs: limits.timeouts.gateMs, signal },
  };
}

function denied(bound: BoundTool, reason: string | undefined): Clearance {
  return { type: 'refuse', refusal: { code: 'denied', text: deniedText(bound.name, reason) } };
}

function cleared(call: SettlingCall, args: JsonObject, answer: string | undefined): Clearance {
  const edited = args === call.facts.args ? undefined : 'gate';
  return { type: 'cleared', args, edited, answer };
}

async function awaitPerson(
  call: SettlingCall,
  bound: BoundTool,
  args: JsonObject,
  asked: AskedApproval,
): Promise<Clearance> {
  const { scope, facts, machine } = call;
  await orBreak(call, asked.durable);
  const expiresAt = expiryOf(call);
  if (machine.state === 'admitted') {
    machine.send({
      type: 'NEEDS_PERMISSION',
      request: requestIdOf(facts.callId as CallId),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
  }
  scope.onParked(facts.callId, callStatus(facts) === 'parked');
  return followOutcome(call, bound, args, await asked.outcome);
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
      return denied(bound, outcome.reason);
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

/** The expiry of a request is that of its first process: a restart does not give a person more time. */
function expiryOf({ facts, scope }: SettlingCall): number | undefined {
  if (facts.requested !== undefined) return facts.requested.data.expiresAt;
  const { expiryMs } = scope.limits.approvals;
  return expiryMs > 0 && Number.isFinite(expiryMs) ? scope.clock.now() + expiryMs : undefined;
}

function approvalRequest(call: SettlingCall, bound: BoundTool, args: JsonObject): ApprovalRequest {
  const { scope, facts } = call;
  const expiresAt = expiryOf(call);
  const isQuestion = bound.tool.parks === 'question';
  const request: ApprovalRequest = {
    id: requestIdOf(facts.callId as CallId),
    kind: isQuestion ? 'question' : 'permission',
    toolName: bound.name,
    input: args,
    isReplaced: args !== facts.args,
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
    checkEdit: (input) => checkEdit(bound, { ...request, input }, permissionOptions(call)),
  };
  return request;
}
