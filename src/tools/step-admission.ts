import type { BoundTool } from './binding.ts';
import { safeName } from './safe-text.ts';

/** Who of the calls of one step may run, where some want the step to themselves. */
export interface StepAdmission {
  /**
   * Admits a call, or gives the text with which it is refused. Synchronous, so that parallel settlements cannot
   * race: the first call wins, and an exclusive one shares its step with no other, in either order. Asking again
   * for the same call changes nothing.
   */
  admit(callId: string, bound: Admissible): string | undefined;
}

type Admissible = Pick<BoundTool, 'name'> & { readonly tool: Pick<BoundTool['tool'], 'exclusive'> };

/** The admission of one step. */
export function createStepAdmission(): StepAdmission {
  let first: { readonly callId: string; readonly name: string; readonly exclusive: boolean } | undefined;
  return {
    admit(callId, { name, tool }) {
      first ??= { callId, name, exclusive: tool.exclusive };
      if (first.callId === callId || !(first.exclusive || tool.exclusive)) return undefined;
      return conflictText(name, tool.exclusive ? undefined : first.name);
    },
  };
}

function conflictText(name: string, exclusiveName: string | undefined): string {
  const why =
    exclusiveName === undefined
      ? 'it must be the only call of its step, and another call came before it'
      : `${safeName(exclusiveName)}, which came before it, must be the only call of its step`;
  return `${safeName(name)} did not run: ${why}. If it is still needed, send it again in a later step.`;
}
