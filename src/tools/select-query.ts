import type { BoundTool } from './binding.ts';
import type { Catalogue } from './catalogue.ts';
import { toolCalled } from './tool-names.ts';

/** Tools that a query names instead of describing them. */
export interface Selection {
  /** Canonical names, each once, in the order asked for. */
  readonly names: readonly string[];
  /** What was asked for and is no name. */
  readonly missing: readonly string[];
}

const SELECT = /^select\s*:/i;
/** Names one selection may hold; what comes after them is not looked at. */
const MAX_SELECTED = 256;

/**
 * The selection that `text` is: `select:A,B` by exact names or aliases, or one bare name in any case. Undefined where
 * it is a text to search by.
 */
export function readSelection(catalogue: Catalogue, text: string): Selection | undefined {
  const tools = [...catalogue.direct, ...catalogue.deferred];
  const prefix = SELECT.exec(text);
  if (prefix !== null) return select(tools, text.slice(prefix[0].length));
  const bare = bareName(tools, text);
  return bare === undefined ? undefined : { names: [bare.name], missing: [] };
}

function select(tools: readonly BoundTool[], list: string): Selection {
  const asked = list.split(',', MAX_SELECTED).map((name) => name.trim());
  const names = new Set<string>();
  const missing = new Set<string>();
  for (const name of asked) {
    if (name === '') continue;
    const bound = toolCalled(name, tools);
    if (bound === undefined) missing.add(name);
    else names.add(bound.name);
  }
  return { names: [...names], missing: [...missing] };
}

/** A name before an alias, and neither where it is not clear which tool is meant. */
function bareName(tools: readonly BoundTool[], text: string): BoundTool | undefined {
  const exact = toolCalled(text, tools);
  if (exact !== undefined) return exact;
  const wanted = text.toLowerCase();
  const named = tools.filter((bound) => bound.name.toLowerCase() === wanted);
  const found =
    named.length > 0
      ? named
      : tools.filter((bound) => bound.tool.aliases.some((alias) => alias.toLowerCase() === wanted));
  return found.length === 1 ? found[0] : undefined;
}
