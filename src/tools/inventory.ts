import type { BoundTool } from './binding.ts';
import { safeName } from './safe-text.ts';

/** Group of deferred tools that name none. */
export const UNGROUPED = 'other';

/**
 * The list of deferred tools for the system text: one block a group, canonical names only, no descriptions. Depends
 * on the deferred set alone, so its bytes stay the same during a turn. Over `maxChars` the rest is counted.
 */
export function inventoryText(
  deferred: readonly BoundTool[],
  searchToolName: string,
  maxChars: number,
): string {
  if (deferred.length === 0) return '';
  const head = `Further tools can be found with ${searchToolName}. Their names, as data:`;
  const lines: string[] = [head];
  let chars = head.length;
  let listed = 0;
  for (const [group, names] of grouped(deferred)) {
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

/** Groups by id, names within by code unit; both neutralised. */
function grouped(deferred: readonly BoundTool[]): readonly (readonly [string, readonly string[]])[] {
  const groups = new Map<string, string[]>();
  for (const bound of deferred) {
    const group = bound.tool.group ?? UNGROUPED;
    const names = groups.get(group) ?? [];
    names.push(bound.name);
    groups.set(group, names);
  }
  return [...groups]
    .sort(([a], [b]) => byCodeUnit(a, b))
    .map(([group, names]) => [safeName(group), names.sort(byCodeUnit).map((name) => safeName(name))]);
}

export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
