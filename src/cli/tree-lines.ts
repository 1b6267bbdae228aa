import { withFacts } from './fact-line.ts';
import type { Glyphs } from './glyphs.ts';
import { fitLine, indentLine, type Line, span } from './line.ts';
import type { RunTree } from './run-tree.ts';
import { viewOfTree } from './tree-nodes.ts';
import type { Detail, TreeView, ViewNode } from './view-node.ts';

/** Lines that show the whole tree, none wider than `columns`. */
export function treeLines(tree: RunTree, columns: number, view: Omit<TreeView, 'detail'>): readonly Line[] {
  return linesIn(tree, columns, { ...view, detail: 'all' });
}

/** As {@link treeLines} in at most `rows` lines: first what is done is told in fewer, then the oldest is left out. */
export function treeLinesWithin(
  tree: RunTree,
  size: { readonly columns: number; readonly rows: number },
  view: Omit<TreeView, 'detail'>,
): readonly Line[] {
  const details: readonly Detail[] = ['all', 'steps', 'open'];
  let lines: readonly Line[] = [];
  for (const detail of details) {
    lines = linesIn(tree, size.columns, { ...view, detail });
    if (lines.length <= size.rows) return lines;
  }
  return keepLast(lines, size.rows);
}

function linesIn(tree: RunTree, columns: number, view: TreeView): readonly Line[] {
  const root = viewOfTree(tree, view);
  return root === undefined ? [] : linesOf(root, columns, view.glyphs);
}

/** The first line and the newest ones, with the number of those between that are left out. */
function keepLast(lines: readonly Line[], rows: number): readonly Line[] {
  if (rows <= 0) return [];
  const last = Math.max(0, rows - 2);
  const left = lines.length - 1 - last;
  const head = lines.slice(0, 1);
  if (rows === 1) return head;
  return [...head, [span(`… ${left} lines`, 'dim')], ...lines.slice(lines.length - last)];
}

function linesOf(root: ViewNode, columns: number, glyphs: Glyphs): readonly Line[] {
  const below = (node: ViewNode, prefix: string): readonly Line[] =>
    node.children.flatMap((child, index) => {
      const isLast = index === node.children.length - 1;
      const own = prefix + (isLast ? glyphs.lastBranch : glyphs.branch);
      const next = prefix + (isLast ? glyphs.gap : glyphs.trunk);
      return [lineOf(child, own, columns), ...below(child, next)];
    });
  return [lineOf(root, '', columns), ...below(root, '')];
}

function lineOf(node: ViewNode, prefix: string, columns: number): Line {
  // A deep tree in a narrow window keeps half of the window for what it says.
  const shown = prefix.slice(-2 * Math.max(1, Math.floor(columns / 4)));
  const head = shown === '' ? node.head : indentLine(node.head, shown);
  return withFacts(fitLine(head, columns), node.facts, columns);
}
