import type { JsonObject } from '../ledger/content.ts';
import { type CallFacts, callStatus } from '../ledger/turn-facts.ts';
import type { Binding, BoundTool } from './binding.ts';
import type { DiscoveryPolicy } from './discovery-policy.ts';
import { UNGROUPED } from './inventory.ts';
import type { LoopGate } from './loop-gate.ts';
import { safeName } from './safe-text.ts';
import type { ShapeGate } from './shape-gate.ts';
import type { StepAdmission } from './step-admission.ts';
import type { Availability } from './step-view.ts';
import { unknownToolText } from './tool-names.ts';

/** Why a call does not run, with the text the model gets as its result. */
export interface Refusal {
  readonly code:
    | 'exclusive-step'
    | 'cut-off'
    | 'invalid-arguments'
    | 'loop-gate'
    | 'needs-schema'
    | 'not-active'
    | 'withdrawn'
    | 'tool-changed'
    | 'unknown-tool'
    | 'tool-choice-none'
    | 'tool-call-budget'
    | 'handoff-not-taken'
    | 'gate-refused'
    | 'denied'
    | 'expired'
    | 'skipped'
    | 'turn-ended';
  readonly text: string;
  /** For programs: stable codes of what the text says. */
  readonly details?: JsonObject;
  /** Deferred tools whose parameters the text shows: they become active with it. */
  readonly teaches?: readonly string[];
}

/** What the refusals of a step are judged by; all of it frozen or synchronous. */
export interface RefusalScope {
  readonly binding: Binding;
  /** Tools visible when the step started. */
  readonly visible: readonly BoundTool[];
  /** How the tool that a call means stood when the step started. */
  availability(call: CallFacts): Availability;
  /** Whether a tool that is not bound was bound earlier in the session and taken back by its source. */
  isWithdrawn(toolName: string): boolean;
  readonly shapeGate: ShapeGate;
  readonly discovery: DiscoveryPolicy;
  readonly admission: StepAdmission;
  readonly loopGate: LoopGate;
  /** The answer was cut at its length limit: none of its calls may run. */
  readonly cutOff: boolean;
  /** The request forbade calls. */
  readonly toolsForbidden: boolean;
  /** The agent that took over in this turn already, if one did. */
  takenBy(call: CallFacts): string | undefined;
  /** Takes one call from the budget of the run, or says which budget is used up. */
  reserveCall(): string | undefined;
}

/**
 * The first reason why a call may not run, in the order of the contract: exclusive step, arguments, loop gate,
 * availability, budget. Synchronous, so that calls settling at the same time cannot race for a place.
 */
export function refusalOf(call: CallFacts, scope: RefusalScope): Refusal | undefined {
  const { args } = call;
  const { toolName, invalid } = call.called.data;
  const bound = scope.binding.byName(toolName);
  const availability = bound === undefined ? 'hidden' : scope.availability(call);
  const inStep = availability === 'callable' || availability === 'untaught' ? bound : undefined;
  const name = safeName(toolName);

  const conflict = inStep === undefined ? undefined : scope.admission.admit(call.callId, inStep);
  if (conflict !== undefined) return { code: 'exclusive-step', text: conflict };
  if (scope.cutOff) return { code: 'cut-off', text: cutOffText(name) };
  const judged = inStep === undefined ? undefined : scope.shapeGate.judge(call, inStep, availability);
  if (judged !== undefined) return judged;
  if (invalid !== undefined && inStep !== undefined) return { code: 'invalid-arguments', text: invalid };
  if (scope.loopGate.isBlocked(toolName, args)) return { code: 'loop-gate', text: loopText(name) };
  if (bound === undefined) return unboundRefusal(call, scope);
  if (availability === 'withdrawn') return { code: 'withdrawn', text: withdrawnText(toolName) };
  if (availability === 'hidden') return { code: 'not-active', text: notActiveText(bound, scope.discovery) };
  if (scope.toolsForbidden) return { code: 'tool-choice-none', text: forbiddenText(name) };
  const taker = bound.handsOver === true ? scope.takenBy(call) : undefined;
  if (taker !== undefined) return { code: 'handoff-not-taken', text: notTakenText(name, taker) };
  const budget = scope.reserveCall();
  if (budget !== undefined) return { code: 'tool-call-budget', text: budgetText(name, budget) };
  return undefined;
}

function unboundRefusal(call: CallFacts, scope: RefusalScope): Refusal {
  const { toolName, requestedName } = call.called.data;
  if (scope.isWithdrawn(toolName)) return { code: 'withdrawn', text: withdrawnText(toolName) };
  return { code: 'unknown-tool', text: unknownToolText(requestedName ?? toolName, scope.visible) };
}

/** Codes of refusals that come after the call took its place in the budget. */
const AFTER_ADMISSION: ReadonlySet<string> = new Set<Refusal['code']>([
  'gate-refused',
  'denied',
  'expired',
  'skipped',
  'turn-ended',
]);

/** Whether a recorded call has taken its place in the budget of its run. */
export function wasAdmitted(call: CallFacts): boolean {
  if (call.refused !== undefined) return AFTER_ADMISSION.has(call.refused.data.code);
  return callStatus(call) !== 'called';
}

function cutOffText(name: string): string {
  return `${name} did not run: the answer was cut off at its length limit before the call was certainly complete. Send the call again.`;
}

function loopText(name: string): string {
  return `${name} did not run: the same call failed several times in a row. Change the arguments or take another way.`;
}

/** Text for a call to a deferred tool that was not active. */
export function notActiveText(bound: BoundTool, policy: DiscoveryPolicy): string {
  const name = safeName(bound.name);
  const [search, , invoke] = policy.ownTools;
  if (policy.exposition === 'invoke') {
    return `${name} did not run: it is not called by its own name. Call it through ${invoke}.`;
  }
  const group = safeName(bound.group ?? UNGROUPED);
  const how =
    policy.activation === 'group' ? `Load its group "${group}" with ${search}` : `Find it with ${search}`;
  return `${name} did not run: it is available but was not loaded when this step started. ${how}, then call it in a later step.`;
}

/** Text for a call to a tool that its source took back. */
export function withdrawnText(toolName: string): string {
  return `${safeName(toolName)} did not run: its source has withdrawn it, and it is not available any more.`;
}

function forbiddenText(name: string): string {
  return `${name} did not run: no further tool calls are possible. Answer with what is known.`;
}

function notTakenText(name: string, taker: string): string {
  return `${name} was not taken: the conversation was handed over to ${safeName(taker)} before it.`;
}

function budgetText(name: string, budget: string): string {
  return `${name} did not run: the ${budget} budget of this run is used up.`;
}

/** Text for a call that a person was asked about before its tool became another. */
export function changedText(toolName: string): string {
  return `${safeName(toolName)} did not run: its source has changed it since approval of this call was asked for. Look at it again, and send the call again if it is still wanted.`;
}

/** Text for a call that a person or policy denied; the reason is theirs, word for word. */
export function deniedText(toolName: string, reason: string | undefined): string {
  const name = safeName(toolName);
  return reason === undefined
    ? `${name} was denied and did not run.`
    : `${name} was denied and did not run: ${reason}`;
}

/** Text for a call nobody decided on in time. */
export function expiredText(toolName: string): string {
  return `${safeName(toolName)} did not run: the request for approval expired.`;
}

/** Text for a call that was not started because the user spoke meanwhile. */
export function skippedText(toolName: string): string {
  return `${safeName(toolName)} was skipped: the user sent a message before it started.`;
}

/** Text for a call that was not started because its turn ended. */
export function turnEndedText(toolName: string, reason: string): string {
  return `${safeName(toolName)} did not run: ${reason}.`;
}
