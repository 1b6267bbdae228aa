import { z } from 'zod';
import type { BoundTool } from '../tools/binding.ts';
import { ownTool } from '../tools/own-tool.ts';
import { cutChars, safeText } from '../tools/safe-text.ts';
import type { AnyAgent } from './define-agent.ts';

/** A way to other agents that an agent has, as a tool its model sees. */
export interface Delegation {
  readonly type: 'ask' | 'handoff';
  /** A name is found in the registry of the runtime. */
  readonly target: AnyAgent | string;
  /** Its definition; each turn gives it an implementation. */
  readonly bound: BoundTool;
}

/** Characters of a target's description that a model is shown. */
const MAX_DESCRIPTION_CHARS = 1_000;

const askSchema = z.object({
  task: z
    .string()
    .min(1)
    .describe('What it should do, with everything it needs to know: it sees nothing else.'),
});

const handoffSchema = z.object({
  message: z
    .string()
    .min(1)
    .describe('What the other agent needs to know to go on: it sees nothing else of this conversation.'),
});

/** Ways of an agent to those it declares, in the order of declaration. */
export function delegationsOf(
  agents: readonly AnyAgent[],
  handoffs: readonly (AnyAgent | string)[],
): readonly Delegation[] {
  return Object.freeze([...agents.map(askOf), ...handoffs.map(handoffOf)]);
}

function askOf(target: AnyAgent): Delegation {
  const description = `Asks the agent ${target.name}, which works on its own and answers once.${about(target)}`;
  const definition = ownTool({ name: `ask_${target.name}`, description, inputSchema: askSchema });
  return { type: 'ask', target, bound: Object.freeze({ ...definition, waitsForSessions: true as const }) };
}

function handoffOf(target: AnyAgent | string): Delegation {
  const name = nameOfTarget(target);
  const description = `Hands the conversation over to the agent ${name}, which answers in your place: your turn ends.${typeof target === 'string' ? '' : about(target)}`;
  const definition = ownTool({ name: `transfer_to_${name}`, description, inputSchema: handoffSchema });
  return {
    type: 'handoff',
    target,
    bound: Object.freeze({ ...definition, waitsForSessions: true as const, handsOver: true as const }),
  };
}

function about({ description }: AnyAgent): string {
  return description === '' ? '' : ` ${cutChars(safeText(description), MAX_DESCRIPTION_CHARS)}`;
}

/** The name of an agent that is given, or only named. */
export function nameOfTarget(target: AnyAgent | string): string {
  return typeof target === 'string' ? target : target.name;
}

/**
 * Names of the tools by which a turn of an agent reaches others, within the ceiling of the run. `opened` are the tools
 * of a turn that is taken up: what a newer definition adds stays out of it.
 */
export function delegationNames(
  { agent, boundTools }: { readonly agent: AnyAgent; readonly boundTools?: readonly string[] | undefined },
  opened?: readonly string[],
): readonly string[] {
  return agent.delegations
    .map(({ bound }) => bound.name)
    .filter((name) => boundTools?.includes(name) !== false && opened?.includes(name) !== false);
}
