import type { NewRecord } from '../ledger/records.ts';
import { deniedText } from '../tools/refusals.ts';
import { RuntimeToolResult } from '../tools/runtime-tool.ts';
import { exceededRecord, type TreeRefusal } from '../turn/run-budget.ts';

/** A child that was wanted. */
interface WantedChild {
  readonly target: { readonly name: string };
  readonly agentPath: readonly string[];
  readonly ctx: { readonly turnId: string };
}

/** Why a child was not asked. */
export interface NotAsked {
  readonly code: string;
  readonly why: string;
  readonly facts?: readonly NewRecord[];
}

const BOUND_TEXTS = {
  depth: ({ limit }: TreeRefusal) => `agents may be asked ${limit} levels below the root, and no deeper`,
  agents: ({ limit }: TreeRefusal) => `the run may have ${limit} agents`,
  fanOut: ({ limit }: TreeRefusal) => `no more than ${limit} may wait or be at work`,
  handoffs: ({ limit }: TreeRefusal) => `the run may have ${limit} handoffs`,
} as const;

/** Codes of what stands in the way, as results and events say them. */
const BOUND_CODES = {
  depth: 'depth-limit',
  agents: 'agent-limit',
  fanOut: 'fan-out-limit',
  handoffs: 'handoff-limit',
} as const;

/** The result of a call that a bound of the tree stands in the way of, with the fact that says so. */
export function overBound(wanted: WantedChild, over: TreeRefusal): RuntimeToolResult {
  const facts = [exceededRecord(wanted.ctx.turnId, over)];
  return notAsked(wanted, { code: BOUND_CODES[over.budget], why: BOUND_TEXTS[over.budget](over), facts });
}

/** The result of a call whose child was not asked: for the model with the reason, for programs with code and path. */
export function notAsked(
  { target, agentPath }: WantedChild,
  { code, why, facts = [] }: NotAsked,
): RuntimeToolResult {
  const path = agentPath.join(' > ');
  const text =
    code === 'gate-refused'
      ? deniedText(`ask_${target.name}`, why)
      : `${target.name} was not asked: ${why}. [${code} at ${path}]`;
  return new RuntimeToolResult({ type: 'error', text }, facts, undefined, { code, path: [...agentPath] });
}
