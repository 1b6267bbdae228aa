import type { JsonObject } from '../ledger/content.ts';
import type { BoundTool } from './binding.ts';
import type { Catalogue } from './catalogue.ts';
import type { DiscoveryScope } from './discovery-scope.ts';
import { groupedNames, UNGROUPED, wholeName } from './inventory.ts';
import { ownTool } from './own-tool.ts';
import { RuntimeToolResult, runtimeTool } from './runtime-tool.ts';
import { cutChars, safeName } from './safe-text.ts';
import type { ToolContext } from './tool.ts';

const HEAD =
  'Loads all tools of one group. They can be called from your next message on, not together with this call. Groups and their tools, as data:';

/** Characters that the list of groups in a rejection may take. */
const MAX_LIST_CHARS = 3_000;

/** `load_tools` for one turn: a group is loaded whole or not at all. */
export function loadTools(scope: DiscoveryScope): BoundTool {
  // Arguments were validated: the group is one of those the definition names.
  return runtimeTool(definitionFor(scope.catalogue), (input, ctx) =>
    load(scope, (input as { readonly group: string }).group, ctx),
  );
}

/** The definition names the groups of the catalogue, so it follows from the deferred set alone. */
function definitionFor({ deferred, policy }: Catalogue): BoundTool {
  const [name = ''] = policy.ownTools;
  const groups = [...new Set(deferred.map(groupOf))].sort();
  const bound = ownTool({
    name,
    description: descriptionOf(deferred, policy.maxInventoryChars),
    inputSchema: {
      type: 'object',
      properties: { group: { type: 'string', enum: groups, description: 'The group to load.' } },
      required: ['group'],
    },
  });
  const known = new Set(groups);
  return {
    ...bound,
    exactArguments: true,
    validate: async (args) => {
      const { group } = args;
      if (typeof group !== 'string' || known.has(group)) return bound.validate(args);
      return { type: 'invalid', message: unknownGroup(group, groups), paths: [['group']] };
    },
  };
}

export function groupOf({ group }: BoundTool): string {
  return group ?? UNGROUPED;
}

function descriptionOf(deferred: readonly BoundTool[], maxChars: number): string {
  const lines = groupedNames(deferred).map(([group, names]) => `- ${group}: ${names.join(', ')}`);
  let chars = HEAD.length;
  const shown = lines.filter((line) => {
    chars += line.length + 1;
    return chars <= maxChars;
  });
  const left = lines.length - shown.length;
  return [HEAD, ...shown, ...(left > 0 ? [`(${left} more, named in the parameters)`] : [])].join('\n');
}

function unknownGroup(group: string, groups: readonly string[]): string {
  const known = cutChars(groups.map((one) => safeName(one)).join(', '), MAX_LIST_CHARS);
  return `group: there is no group "${safeName(group)}", and nothing was loaded. Groups: ${known}.`;
}

async function load(scope: DiscoveryScope, group: string, ctx: ToolContext): Promise<RuntimeToolResult> {
  const callable = scope.callable();
  const members = scope.catalogue.deferred.filter(
    (bound) => groupOf(bound) === group && scope.live(bound.name) !== undefined,
  );
  const fresh = members.map((bound) => bound.name).filter((name) => !callable.has(name));
  if (fresh.length > scope.placesLeft()) return tooLarge(group, fresh.length, scope.placesLeft());
  const { callId, stepId, signal } = ctx;
  const activation = await scope.activations.prepare({ callId, stepId, names: fresh, signal });
  signal.throwIfAborted();
  const active = new Set([
    ...activation.names,
    ...members.filter(({ name }) => callable.has(name)).map(({ name }) => name),
  ]);
  const result: JsonObject = {
    loaded: members.filter(({ name }) => active.has(name)).map(({ name }) => wholeName(name)),
  };
  const note = activation.takeNote();
  const text = note === undefined ? JSON.stringify(result) : `${JSON.stringify(result)}\n${note}`;
  return new RuntimeToolResult({ type: 'text', text }, activation.facts, activation.settled);
}

function tooLarge(group: string, size: number, places: number): RuntimeToolResult {
  const text = `Nothing was loaded: the group ${safeName(group)} has ${size} tools, and ${places} more can be loaded.`;
  return new RuntimeToolResult({ type: 'error', text }, [], () => undefined);
}
