import { z } from 'zod';
import type { JsonObject } from '../ledger/content.ts';
import type { NewRecord } from '../ledger/records.ts';
import type { BoundTool } from './binding.ts';
import type { DiscoveryScope } from './discovery-scope.ts';
import { findTools } from './find-tools.ts';
import { groupOf } from './load-groups.ts';
import { once, ownTool } from './own-tool.ts';
import { hintOf } from './placeholder-tools.ts';
import { RuntimeToolResult, runtimeTool } from './runtime-tool.ts';
import { safeName } from './safe-text.ts';
import type { ToolContext } from './tool.ts';

const inputSchema = z.object({
  query: z.string().optional().describe('What the tool should do, or its name. Without it, all are listed.'),
  namespace: z.string().optional().describe('Only tools of this namespace.'),
  verbose: z.boolean().optional().describe('Shows the parameters too, so that the tools can be called.'),
});

type Input = z.output<typeof inputSchema>;

const definition = once(() => ({
  ...ownTool({
    name: 'tool_search',
    description:
      'Finds tools that are available but not among yours, by what they do or by name. Look at the parameters of one with tool_inspect, and call it with tool_invoke.',
    inputSchema,
  }),
  exactArguments: true as const,
}));

/** The search of tools that are called through another, for one turn. Shows names and hints; verbose, parameters. */
export function searchInvocable(scope: DiscoveryScope): BoundTool {
  // Arguments were validated against the schema above before settlement enters the tool.
  return runtimeTool(definition(), (input, ctx) => search(scope, input as Input, ctx));
}

/** Tools to be shown, and how the search came to them. */
interface Matches {
  readonly shown: readonly BoundTool[];
  readonly ranked: readonly string[];
  readonly omitted: number;
  readonly limit: number;
}

async function search(scope: DiscoveryScope, input: Input, ctx: ToolContext): Promise<RuntimeToolResult> {
  const startedMs = scope.clock.monotonicMs();
  const { verbose = false } = input;
  const matches = await match(scope, input, ctx);
  const callable = scope.callable();
  const names = matches.shown.map((bound) => bound.name);
  const untaught = verbose ? names.filter((name) => !callable.has(name)) : [];
  const { callId, stepId, signal } = ctx;
  const activation = await scope.activations.prepare({ callId, stepId, names: untaught, signal });
  signal.throwIfAborted();
  // What the gate held back keeps its parameters to itself.
  const showsParameters = (name: string) =>
    verbose && (callable.has(name) || activation.names.includes(name));
  const note = activation.takeNote();
  const lines = [
    JSON.stringify({ tools: grouped(matches.shown, showsParameters) }),
    ...hints(scope, input, matches),
    ...(note === undefined ? [] : [note]),
  ];
  const data = {
    query: (input.query ?? '').slice(0, 1_600),
    limit: matches.limit,
    ranked: matches.ranked.slice(0, 50),
    activated: [...activation.names],
    alreadyActive: names.filter((name) => callable.has(name)),
    omittedByLimit: matches.omitted,
    omittedByBytes: 0,
    schemaChars: matches.shown
      .filter((bound) => activation.names.includes(bound.name))
      .reduce((sum, bound) => sum + bound.schemaChars, 0),
    durationMs: scope.clock.monotonicMs() - startedMs,
  };
  const facts: readonly NewRecord[] = [
    { type: 'tools.searched', turn: scope.turnId, step: stepId, call: callId, data },
    ...activation.facts,
  ];
  return new RuntimeToolResult({ type: 'text', text: lines.join('\n') }, facts, activation.settled);
}

async function match(scope: DiscoveryScope, input: Input, ctx: ToolContext): Promise<Matches> {
  const { catalogue, clock } = scope;
  const { policy } = catalogue;
  const { query = '', namespace, verbose = false } = input;
  const isMeant = (bound: BoundTool) => namespace === undefined || groupOf(bound) === namespace;
  const live = (name: string) => {
    const bound = scope.live(name);
    return bound !== undefined && isMeant(bound) ? bound : undefined;
  };
  // Hints are as short as names; only parameters weigh.
  const cost = (bound: BoundTool) =>
    verbose ? bound.schemaChars : hintOf(bound.definition.description).length + bound.name.length;
  const maxChars = verbose ? policy.maxSchemaChars : policy.maxInventoryChars;
  if (query.trim() === '') {
    const all = catalogue.deferred.filter((bound) => live(bound.name) !== undefined);
    const shown = prefixWithin(all, cost, maxChars);
    return {
      shown,
      ranked: all.map(({ name }) => name),
      omitted: all.length - shown.length,
      limit: all.length,
    };
  }
  const limit = policy.maxResults;
  const found = await findTools(
    // Nothing counts as callable: what was inspected before is wanted in the list as well.
    { catalogue, callable: new Set(), live },
    { query, limit, maxSchemaChars: Number.POSITIVE_INFINITY, signal: ctx.signal, clock },
  );
  const shown = prefixWithin(found.found, cost, maxChars);
  const omitted = found.omittedByLimit + found.found.length - shown.length;
  return { shown, ranked: found.ranked, omitted, limit };
}

/** The first is always in it, or a large tool could never be reached. */
function prefixWithin(
  tools: readonly BoundTool[],
  cost: (bound: BoundTool) => number,
  maxChars: number,
): readonly BoundTool[] {
  let chars = 0;
  const end = tools.findIndex((bound, at) => {
    chars += cost(bound);
    return at > 0 && chars > maxChars;
  });
  return end < 0 ? tools : tools.slice(0, end);
}

function grouped(tools: readonly BoundTool[], showsParameters: (name: string) => boolean): JsonObject {
  const groups = new Map<string, JsonObject[]>();
  for (const bound of tools) {
    const group = safeName(groupOf(bound));
    const entries = groups.get(group) ?? [];
    groups.set(group, entries);
    const { description, inputSchema } = bound.definition;
    entries.push({
      name: safeName(bound.name),
      description: hintOf(description),
      ...(showsParameters(bound.name) ? { parameters: inputSchema } : {}),
    });
  }
  return Object.fromEntries(groups);
}

function hints(scope: DiscoveryScope, { namespace }: Input, matches: Matches): readonly string[] {
  const { deferred } = scope.catalogue;
  if (namespace !== undefined && !deferred.some((bound) => groupOf(bound) === namespace)) {
    return [`There is no namespace ${safeName(namespace)}.`];
  }
  if (matches.shown.length === 0) return ['No tools matched. Try other words for what the tool should do.'];
  return matches.omitted > 0 ? [`(${matches.omitted} more: search with other words to see them)`] : [];
}
