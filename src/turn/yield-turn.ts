import type { CallFacts, TurnFacts } from '../ledger/turn-facts.ts';

/** Name of the tool by which a supervisor gives way to its schedule. */
export const YIELD_TOOL = 'yield_agent_graph';

/** Whether the calls of a step can end its turn: a yield has its step to itself, or is none. */
export function isYield(calls: readonly CallFacts[]): boolean {
  return calls.length === 1 && calls[0]?.called.data.toolName === YIELD_TOOL;
}

/** Whether the last step of a turn that is taken up gave way. */
export function hasYielded({ steps, calls }: TurnFacts): boolean {
  const [callId = '', ...others] = steps.at(-1)?.callIds ?? [];
  const call = others.length === 0 ? calls.get(callId) : undefined;
  return call !== undefined && isYield([call]) && call.settled?.data.status === 'success';
}
