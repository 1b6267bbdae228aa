import { safeName } from '../tools/safe-text.ts';
import { type GraphNode, INPUT_NODE, targetKind } from './graph-node.ts';

/** Characters of a label; names are shorter, those of foreign targets may not be. */
const MAX_LABEL_CHARS = 80;

/** A graph as Mermaid text. Names stand as quoted, neutralised labels; identifiers are made here. */
export function chartOf(nodes: readonly GraphNode[], output: string): string {
  const idOf = new Map([[INPUT_NODE, 'n0'], ...nodes.map(({ name }, at) => [name, `n${at + 1}`] as const)]);
  const id = (name: string) => idOf.get(name) ?? 'n0';
  const lines = ['flowchart TD', `  n0(["${INPUT_NODE}"])`];
  for (const node of nodes) lines.push(`  ${id(node.name)}${shapeOf(node)}`);
  for (const node of nodes) {
    for (const from of node.from) lines.push(`  ${id(from)} ${edgeOf(node)} ${id(node.name)}`);
    if (node.loop !== undefined) {
      lines.push(`  ${id(node.name)} -. "at most ${node.loop.max}" .-> ${id(node.loop.back)}`);
    }
  }
  lines.push('  done((("output")))', `  ${id(output)} --> done`);
  return `${lines.join('\n')}\n`;
}

function shapeOf(node: GraphNode): string {
  const label = labelOf(node);
  switch (node.type) {
    case 'map':
      return `[["${label}"]]`;
    case 'join':
      return `{{"${label}"}}`;
    case 'loop':
      return `{"${label}"}`;
    case 'node':
      return targetKind(node) === 'function' ? `["${label}"]` : `(["${label}"])`;
  }
}

function labelOf(node: GraphNode): string {
  const { name, target, need, onError, type } = node;
  const words = [name];
  if (target !== undefined && typeof target !== 'function' && target.name !== name) words.push(target.name);
  if (type === 'map') words.push('each item');
  if (type === 'join')
    words.push(`${need === undefined ? 'all' : `${need} of ${node.from.length}`}, ${onError}`);
  return words.map(neutral).join('<br/>');
}

function edgeOf({ when }: GraphNode): string {
  return when === undefined ? '-->' : '-- "when" -->';
}

/** Mermaid reads markup and entities inside quotes too. */
function neutral(text: string): string {
  const safe = safeName(text).slice(0, MAX_LABEL_CHARS).toWellFormed();
  return safe.replaceAll(/[^A-Za-z0-9_.,:\- ]/gu, (char) => `#${char.codePointAt(0) ?? 63};`);
}
