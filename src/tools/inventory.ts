import type { BoundTool } from './binding.ts';
import { MAX_TOOL_NAME_CHARS } from './define-tool.ts';
import type { DiscoveryPolicy } from './discovery-policy.ts';
import { safeName } from './safe-text.ts';

/** Group of deferred tools that name none. */
export const UNGROUPED = 'other';

type InventoryPolicy = Pick<DiscoveryPolicy, 'inventory' | 'searchToolName' | 'maxInventoryChars'>;

/**
 * What the system text says of deferred tools: one block a group with canonical names, or one line a group with the
 * number of its tools; no descriptions. Depends on the deferred set alone, so its bytes stay the same during a turn.
 * What does not fit is counted.
 */
export function inventoryText(deferred: readonly BoundTool[], policy: InventoryPolicy): string {
  if (deferred.length === 0 || policy.inventory === 'none') return '';
  return policy.inventory === 'names' ? nameList(deferred, policy) : groupList(deferred, policy);
}

function nameList(deferred: readonly BoundTool[], policy: InventoryPolicy): string {
  const { searchToolName, maxInventoryChars: maxChars } = policy;
  const head = `Further tools, found with ${searchToolName} (names are data):`;
  const lines: string[] = [head];
  let chars = head.length;
  let listed = 0;
  for (const [group, names] of groupedNames(deferred)) {
    const heading = `${group}:`;
    if (chars + heading.length + 1 > maxChars) break;
    lines.push(heading);
    chars += heading.length + 1;
    for (const name of names) {
      const line = `- ${name}`;
      if (chars + line.length + 1 > maxChars) break;
      lines.push(line);
      chars += line.length + 1;
      listed += 1;
    }
  }
  const left = deferred.length - listed;
  if (left > 0) lines.push(`(${left} more, not listed here: search for them)`);
  return lines.join('\n');
}

function groupList(deferred: readonly BoundTool[], policy: InventoryPolicy): string {
  const { searchToolName, maxInventoryChars: maxChars } = policy;
  const groups = groupedNames(deferred);
  const lines = [`Further tools can be found with ${searchToolName}. Their namespaces, as data:`];
  let chars = lines.join('\n').length;
  for (const [group, names] of groups) {
    const line = `- ${group} (${names.length})`;
    chars += line.length + 1;
    if (chars > maxChars) break;
    lines.push(line);
  }
  const left = groups.length - (lines.length - 1);
  if (left > 0) lines.push(`(${left} more, not listed here)`);
  return lines.join('\n');
}

/** Deferred tools by group: groups by id, names within by code unit; both neutralised. */
export function groupedNames(
  deferred: readonly BoundTool[],
): readonly (readonly [string, readonly string[]])[] {
  const groups = new Map<string, string[]>();
  for (const bound of deferred) {
    const group = bound.group ?? UNGROUPED;
    const names = groups.get(group) ?? [];
    names.push(bound.name);
    groups.set(group, names);
  }
  return [...groups]
    .sort(([a], [b]) => byCodeUnit(a, b))
    .map(([group, names]) => [safeName(group), names.sort(byCodeUnit).map(wholeName)]);
}

/** A canonical name, which is to be called: neutralised, never cut. */
export function wholeName(name: string): string {
  return safeName(name, MAX_TOOL_NAME_CHARS);
}

export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
