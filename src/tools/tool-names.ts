import { createHash } from 'node:crypto';
import type { Binding, BoundTool } from './binding.ts';
import { safeName } from './safe-text.ts';

const WIRE_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_WIRE_CHARS = 64;
const HASH_CHARS = 8;
/** Names longer than any tool may have are not compared. */
const MAX_WRITTEN_CHARS = 256;
/** Characters that the list of an unknown-tool text may take. */
const MAX_LIST_CHARS = 3_000;

/** What a name written by a model means in this step. */
export type ToolNameResolution =
  | { readonly type: 'exact'; readonly bound: BoundTool }
  /** Not as written, but one visible tool only can be meant. */
  | { readonly type: 'repaired'; readonly bound: BoundTool }
  /** Bound but not visible in this step. */
  | { readonly type: 'hidden'; readonly bound: BoundTool }
  | { readonly type: 'unknown' };

/**
 * Resolves `written` against the tools visible in the step. An alias means its tool wherever no tool has it as a name.
 * Repairs case, then hyphen against underscore, then a `_tool` suffix, then a missing server prefix (`read` for
 * `files__read`); each only if exactly one visible tool matches. Nothing is guessed by distance, and a hidden tool is
 * found by its exact name or alias only.
 */
export function resolveToolName(
  written: string,
  visible: readonly BoundTool[],
  binding: Binding,
): ToolNameResolution {
  if (written.length > MAX_WRITTEN_CHARS) return { type: 'unknown' };
  const exact = visible.find((bound) => bound.name === written || bound.definition.name === written);
  if (exact !== undefined) return { type: 'exact', bound: exact };
  const hidden = binding.byName(written) ?? binding.byWireName(written);
  if (hidden !== undefined) return { type: 'hidden', bound: hidden };
  const aliased = toolCalled(written, binding.tools);
  if (aliased !== undefined) {
    const isVisible = visible.some((bound) => bound.name === aliased.name);
    return { type: isVisible ? 'repaired' : 'hidden', bound: aliased };
  }
  for (const matches of REPAIRS) {
    const found = visible.filter((bound) => namesOf(bound).some((name) => matches(written, name)));
    const [only] = found;
    if (only !== undefined)
      return found.length === 1 ? { type: 'repaired', bound: only } : { type: 'unknown' };
  }
  return { type: 'unknown' };
}

/**
 * The tool that `name` denotes exactly: by its name, by its name in requests, or by an alias that is its own. Names
 * come before aliases, and an alias that several tools claim denotes none.
 */
export function toolCalled(name: string, tools: readonly BoundTool[]): BoundTool | undefined {
  const named = tools.find((bound) => bound.name === name || bound.definition.name === name);
  if (named !== undefined) return named;
  const aliased = tools.filter((bound) => bound.tool.aliases.includes(name));
  return aliased.length === 1 ? aliased[0] : undefined;
}

/** What a model is told of a call whose name means no tool of the step. Bounded; names only. */
export function unknownToolText(name: string, visible: readonly BoundTool[]): string {
  const head = `Unknown tool "${safeName(name)}": nothing was run.`;
  if (visible.length === 0) return `${head} No tool is available in this step.`;
  return `${head} Available tools: ${listNames(visible.map((bound) => bound.definition.name))}.`;
}

/**
 * `name` as it may stand in a request: itself where it matches `[a-zA-Z0-9_-]{1,64}`, else an alias that depends on
 * `name` alone: its readable part and a hash of all of it.
 */
export function replayName(name: string): string {
  if (WIRE_NAME.test(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS);
  const readable = name.slice(0, MAX_WIRE_CHARS - HASH_CHARS - 1).replace(/[^a-zA-Z0-9_-]/g, '_');
  return `${readable === '' ? 'tool' : readable}_${hash}`;
}

type Match = (written: string, name: string) => boolean;

const lower = (name: string) => name.toLowerCase();
const flat = (name: string) => lower(name).replaceAll('-', '_');
const bare = (name: string) => flat(name).replace(/(?<=.)_tool$/, '');

/** From the least to the most that is forgiven; each forgives what the ones before it do. */
const REPAIRS: readonly Match[] = [
  (written, name) => lower(written) === lower(name),
  (written, name) => flat(written) === flat(name),
  (written, name) => bare(written) === bare(name),
  (written, name) => written !== '' && withoutPrefixes(bare(name)).includes(bare(written)),
];

function namesOf(bound: BoundTool): readonly string[] {
  return bound.name === bound.definition.name ? [bound.name] : [bound.name, bound.definition.name];
}

/** What is left of `name` after one, two, … of its prefixes: `mcp__files__read` gives `files__read` and `read`. */
function withoutPrefixes(name: string): readonly string[] {
  return [...name.matchAll(/__|[.:]/g)].map((separator) => name.slice(separator.index + separator[0].length));
}

function listNames(names: readonly string[]): string {
  let chars = 0;
  const shown = names.filter((name) => {
    chars += name.length + 2;
    return chars <= MAX_LIST_CHARS;
  });
  const more = names.length - shown.length;
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`;
}
