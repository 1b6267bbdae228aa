import type { Binding, BoundTool } from './binding.ts';
import type { DiscoveryPolicy } from './discovery-policy.ts';
import { byCodeUnit, inventoryText } from './inventory.ts';
import { createSearchIndex, type ToolSearchIndex } from './search-index.ts';
import type { ToolScope } from './tool.ts';

/** The tools of one turn by how they become visible: decided once, when the turn opens. */
export interface Catalogue {
  readonly policy: DiscoveryPolicy;
  /** In every request, by name. */
  readonly direct: readonly BoundTool[];
  /** Found by search, by name. Empty = nothing to find, and no search tool. */
  readonly deferred: readonly BoundTool[];
  /** Every bound tool, also those that do not apply to this turn. */
  readonly known: readonly BoundTool[];
  /** Text about the deferred tools at the end of the system text; may be empty. */
  readonly inventory: string;
  /** Whether the tool is part of the turn. */
  has(name: string): boolean;
  isDeferred(name: string): boolean;
  /** The index over the deferred tools: built at the first search and shared by turns of the same binding. */
  index(): ToolSearchIndex;
}

export interface CatalogueOptions {
  readonly binding: Binding;
  readonly policy: DiscoveryPolicy;
  readonly scope: ToolScope;
  /** Tokens of the model's window; unknown counts as 32,000. */
  readonly contextWindow: number | undefined;
  /** What the turn had before: a tool that was in it stays direct or deferred, whatever came or went beside it. */
  readonly before?: Catalogue;
  /** Tokens of a text; a quarter of its characters by default. */
  readonly countTokens?: (chars: number) => number;
}

/** Fewer `auto` tools than this are never deferred. */
const AUTO_MIN_TOOLS = 5;
/** `auto` tools that cost no more than this are never deferred. */
const AUTO_MIN_TOKENS = 500;
/** Share of the window that `auto` tools may take before they are deferred. */
const AUTO_WINDOW_SHARE = 0.1;
const UNKNOWN_WINDOW = 32_000;

export function createCatalogue(options: CatalogueOptions): Catalogue {
  const { binding, policy, before } = options;
  const settled = new Map(before?.known.map((bound) => [bound, before.has(bound.name)]));
  const applicable = binding.tools.filter((bound) => settled.get(bound) ?? appliesTo(bound, options.scope));
  const decided = deferredOf(applicable, options);
  const deferredNames = new Set(
    applicable.flatMap(({ name }) => {
      const isDeferred = before?.has(name) === true ? before.isDeferred(name) : decided.has(name);
      return isDeferred ? [name] : [];
    }),
  );
  const names = new Set(applicable.map(({ name }) => name));
  const sorted = [...applicable].sort((a, b) => byCodeUnit(a.name, b.name));
  const deferred = sorted.filter((bound) => deferredNames.has(bound.name));
  return {
    policy,
    direct: sorted.filter((bound) => !deferredNames.has(bound.name)),
    deferred,
    known: binding.tools,
    inventory: inventoryText(deferred, policy),
    has: (name) => names.has(name),
    isDeferred: (name) => deferredNames.has(name),
    index: () => sharedIndex(binding, deferred),
  };
}

/** A predicate that throws takes its own tool out and no other. */
function appliesTo(bound: BoundTool, scope: ToolScope): boolean {
  try {
    return bound.tool.applies?.(scope) ?? true;
  } catch {
    return false;
  }
}

function deferredOf(tools: readonly BoundTool[], options: CatalogueOptions): ReadonlySet<string> {
  const { policy } = options;
  // Without a tool to reach them, deferred tools would be lost.
  if (policy.ownTools.length === 0) return new Set();
  const deferrable = policy.gatedTools === 'inline' ? tools.filter((bound) => !isGated(bound)) : tools;
  const { direct } = policy;
  if (direct !== undefined) {
    const baseline = new Set(direct);
    return new Set(deferrable.flatMap((bound) => (baseline.has(bound.name) ? [] : [bound.name])));
  }
  const always = deferrable.filter((bound) => bound.defer === 'always');
  const auto = deferrable.filter((bound) => bound.defer === 'auto');
  // What comes later follows what was decided: tools in the request would grow by whatever a source adds.
  const wasDeferred = auto.some(({ name }) => options.before?.isDeferred(name) === true);
  const deferred = wasDeferred || autoPays(auto, options) ? [...always, ...auto] : always;
  return new Set(deferred.map((bound) => bound.name));
}

/** Whether a person may be asked before the tool runs, or in its place. */
export function isGated({ tool }: BoundTool): boolean {
  return tool.needsApproval !== false || tool.parks !== undefined;
}

/** Whether the `auto` tools are deferred: all of them or none. */
function autoPays(auto: readonly BoundTool[], options: CatalogueOptions): boolean {
  if (auto.length < AUTO_MIN_TOOLS) return false;
  const { contextWindow, countTokens = (chars) => Math.floor(chars / 4) } = options;
  const window = contextWindow !== undefined && contextWindow > 0 ? contextWindow : UNKNOWN_WINDOW;
  const cost = countTokens(auto.reduce((sum, bound) => sum + bound.schemaChars, 0));
  return cost > Math.floor(window * AUTO_WINDOW_SHARE) && cost > AUTO_MIN_TOKENS;
}

/** One index a binding and deferred set; both are immutable, so turns share it. */
const INDEXES = new WeakMap<Binding, Map<string, ToolSearchIndex>>();
/** Deferred sets of one binding: more than a few only where `applies` depends on the run. */
const MAX_INDEXES = 8;

function sharedIndex(binding: Binding, deferred: readonly BoundTool[]): ToolSearchIndex {
  const key = deferred.map((bound) => bound.schemaHash).join('\n');
  const known = INDEXES.get(binding) ?? new Map<string, ToolSearchIndex>();
  INDEXES.set(binding, known);
  const found = known.get(key);
  if (found !== undefined) return found;
  const index = createSearchIndex(deferred.map(searchable));
  if (known.size >= MAX_INDEXES) known.clear();
  known.set(key, index);
  return index;
}

/** A tool as rankers see it. */
export function searchable(bound: BoundTool) {
  const { tool, name, definition, group } = bound;
  return {
    name,
    ...(group === undefined ? {} : { group }),
    aliases: tool.aliases,
    description: definition.description,
    inputSchema: definition.inputSchema,
  };
}
