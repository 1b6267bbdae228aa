import { z } from 'zod';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { BoundTool, Forwarded } from './binding.ts';
import { isGated } from './catalogue.ts';
import type { DiscoveryScope } from './discovery-scope.ts';
import { once, ownTool } from './own-tool.ts';
import { RuntimeToolResult, runtimeTool } from './runtime-tool.ts';
import { safeName } from './safe-text.ts';
import type { ToolContext } from './tool.ts';
import { toolCalled } from './tool-names.ts';
import { signatureText } from './tool-signature.ts';

const inspectDefinition = once(() =>
  ownTool({
    name: 'tool_inspect',
    description: 'Shows the parameters of a tool that tool_search found.',
    inputSchema: z.object({ name: z.string().describe('The name of the tool.') }),
  }),
);

const invokeDefinition = once(() =>
  ownTool({
    name: 'tool_invoke',
    description:
      'Calls a tool that tool_search found. Look at its parameters with tool_inspect first: a call before that only shows them.',
    inputSchema: z.object({
      name: z.string().describe('The name of the tool.'),
      params: z.record(z.string(), z.unknown()).optional().describe('Its arguments.'),
    }),
  }),
);

/** `tool_inspect` for one turn: shows a signature, after which the tool may be called from the next step on. */
export function inspectTool(scope: DiscoveryScope): BoundTool {
  return runtimeTool(inspectDefinition(), (input, ctx) =>
    // Arguments were validated against the schema above.
    inspect(scope, (input as { readonly name: string }).name, ctx),
  );
}

/**
 * `tool_invoke` for one turn. A call of it is a call of the tool it names: settled under that tool's name, permission
 * and outcome. Only what it cannot pass on is settled as its own, which says why.
 */
export function invokeTool(scope: DiscoveryScope): BoundTool {
  return {
    ...runtimeTool(invokeDefinition(), (input) => failed(complaintOf(scope, nameIn(input)) ?? NOT_PASSED_ON)),
    forward: (args) => forward(scope, args),
  };
}

const NOT_PASSED_ON = 'The call could not be passed on, and nothing ran. Send it again.';

function nameIn(input: unknown): string {
  // Arguments were validated against the schema above.
  return (input as { readonly name: string }).name;
}

function forward(scope: DiscoveryScope, args: JsonObject): Forwarded | undefined {
  const { name, params } = args;
  if (typeof name !== 'string' || complaintOf(scope, name) !== undefined) return undefined;
  const bound = meant(scope, name);
  return bound === undefined ? undefined : { bound, requestedName: name, args: params ?? {} };
}

function meant(scope: DiscoveryScope, name: string): BoundTool | undefined {
  const bound = toolCalled(name, scope.catalogue.deferred);
  return bound === undefined ? undefined : scope.live(bound.name);
}

/** Why a tool cannot be reached through another, or undefined where it can. */
function complaintOf(scope: DiscoveryScope, name: string): string | undefined {
  const { catalogue } = scope;
  const shown = safeName(name);
  const known = toolCalled(name, catalogue.known);
  if (known === undefined) {
    return `There is no tool named ${shown}, and nothing ran. Find names with ${catalogue.policy.searchToolName}.`;
  }
  const live = meant(scope, name);
  if ((live ?? known).tool.parks !== undefined) {
    return `${shown} is not executed by a program, and nothing ran: call it by its own name.`;
  }
  // Asked anew: a tool may have come to need an approval since the turn opened.
  if (isGated(live ?? known)) return `${shown} needs an approval, and nothing ran: call it by its own name.`;
  if (live !== undefined) return undefined;
  return catalogue.direct.includes(known)
    ? `${shown} is among your tools, and nothing ran: call it by its own name.`
    : `${shown} is not available in this turn, and nothing ran.`;
}

async function inspect(scope: DiscoveryScope, name: string, ctx: ToolContext): Promise<RuntimeToolResult> {
  const complaint = complaintOf(scope, name);
  const bound = complaint === undefined ? meant(scope, name) : undefined;
  if (bound === undefined) return failed(complaint ?? NOT_PASSED_ON);
  const { callId, stepId, signal } = ctx;
  const names = scope.callable().has(bound.name) ? [] : [bound.name];
  const activation = await scope.activations.prepare({ callId, stepId, names, signal });
  signal.throwIfAborted();
  if (activation.names.length < names.length) return failed(`${safeName(name)} may not be used.`);
  const note = activation.takeNote();
  const signature = signatureText(bound, scope.maxSignatureChars) ?? '';
  const text = note === undefined ? signature : `${signature}\n${note}`;
  return new RuntimeToolResult({ type: 'text', text }, activation.facts, activation.settled);
}

function failed(text: string): RuntimeToolResult {
  return new RuntimeToolResult({ type: 'error', text }, [], () => undefined);
}

/** Arguments of a tool as a call of `tool_invoke` carries them: how the call stands in the history. */
export function invocationOf(toolName: string, args: JsonObject): JsonObject {
  return { name: toolName, params: args satisfies JsonValue };
}
