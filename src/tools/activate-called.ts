import type { PreparedActivation } from './activations.ts';
import { type Refusal, withdrawnText } from './refusals.ts';
import { safeName } from './safe-text.ts';
import type { SettlingCall } from './settlement.ts';

/** What becomes of a call's own tool, which stood in the request by name only. */
export type CalledActivation =
  | { readonly type: 'activated'; readonly prepared: PreparedActivation }
  | { readonly type: 'refuse'; readonly refusal: Refusal };

/**
 * Prepares the activation of a tool that is called before it was active, with arguments that fit. Its fact belongs in
 * the batch of the intent (T1): the tool is active if and only if the call goes on. Undefined where there is nothing
 * to activate.
 */
export async function activateCalled(call: SettlingCall): Promise<CalledActivation | undefined> {
  const { scope, facts } = call;
  const { callId, stepId } = facts;
  const { toolName } = facts.called.data;
  const availability = scope.availability(facts);
  if (availability === 'withdrawn')
    return { type: 'refuse', refusal: { code: 'withdrawn', text: withdrawnText(toolName) } };
  if (availability !== 'untaught') return undefined;
  const names = [toolName];
  const prepared = await scope.activations.prepare({ callId, stepId, names, signal: scope.signal });
  if (prepared.names.length > 0) return { type: 'activated', prepared };
  const text = `${safeName(toolName)} did not run: it may not be activated.`;
  return { type: 'refuse', refusal: { code: 'gate-refused', text } };
}
