import { type CallFacts, callStatus } from '../ledger/turn-facts.ts';
import type { Binding, BoundTool } from './binding.ts';
import type { LoopGate } from './loop-gate.ts';
import { safeName } from './safe-text.ts';
import type { StepAdmission } from './step-admission.ts';
import { unknownToolText } from './tool-names.ts';

/** Why a call does not run, with the text the model gets as its result. */
export interface Refusal {
  readonly code:
    | 'exclusive-step'
    | 'cut-off'
    | 'invalid-arguments'
    | 'loop-gate'
    | 'not-active'
    | 'unknown-tool'
    | 'tool-choice-none'
    | 'tool-call-budget'
    | 'gate-refused'
    | 'denied'
    | 'expired'
    | 'skipped'
    | 'turn-ended';
  readonly text: string;
}

/** What the refusals of a step are judged by; all of it frozen or synchronous. */
export interface RefusalScope {
  readonly binding: Binding;
  /** Tools visible when the step started. */
  readonly visible: readonly BoundTool[];
  readonly admission: StepAdmission;
  readonly loopGate: LoopGate;
  /** The answer was cut at its length limit: none of its calls may run. */
  readonly cutOff: boolean;
  /** The request forbade calls. */
  readonly toolsForbidden: boolean;
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
  const isVisible = scope.visible.some((one) => one.name === toolName);
  const name = safeName(toolName);

  const conflict = bound !== undefined && isVisible ? scope.admission.admit(call.callId, bound) : undefined;
  if (conflict !== undefined) return { code: 'exclusive-step', text: conflict };
  if (scope.cutOff) return { code: 'cut-off', text: cutOffText(name) };
  if (invalid !== undefined && isVisible) return { code: 'invalid-arguments', text: invalid };
  if (scope.loopGate.isBlocked(toolName, args)) return { code: 'loop-gate', text: loopText(name) };
  if (bound === undefined) {
    return {
      code: 'unknown-tool',
      text: unknownToolText(call.called.data.requestedName ?? toolName, scope.visible),
    };
  }
  if (!isVisible) return { code: 'not-active', text: notActiveText(name) };
  if (scope.toolsForbidden) return { code: 'tool-choice-none', text: forbiddenText(name) };
  const budget = scope.reserveCall();
  if (budget !== undefined) return { code: 'tool-call-budget', text: budgetText(name, budget) };
  return undefined;
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

function notActiveText(name: string): string {
  return `${name} did not run: it is available but was not loaded when this step started. Find it with tool_search, then call it in a later step.`;
}

function forbiddenText(name: string): string {
  return `${name} did not run: no further tool calls are possible. Answer with what is known.`;
}

function budgetText(name: string, budget: string): string {
  return `${name} did not run: the ${budget} budget of this run is used up.`;
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
