import { withFacts } from './fact-line.ts';
import { fitLine, indentLine, type Line, span } from './line.ts';
import type { RunTree } from './run-tree.ts';
import { viewOfTree } from './tree-nodes.ts';
import type { Detail, TreeView, ViewNode } from './view-node.ts';

/** Lines that show the whole tree, none wider than `columns`. */
export function treeLines(tree: RunTree, columns: number, view: Omit<TreeView, 'detail'>): readonly Line[] {
  return rowsOf(tree, { ...view, detail: 'all' }).map((row) => lineOf(row, columns));
}

/** As {@link treeLines} in at most `rows` lines: first what is done is told in fewer, then the oldest is left out. */
export function treeLinesWithin(
  tree: RunTree,
  size: { readonly columns: number; readonly rows: number },
  view: Omit<TreeView, 'detail'>,
): readonly Line[] {
  const details: readonly Detail[] = ['all', 'steps', 'open'];
  let all: readonly Row[] = [];
  for (const detail of details) {
    all = rowsOf(tree, { ...view, detail });
    if (all.length <= size.rows) return all.map((row) => lineOf(row, size.columns));
  }
  return keepLast(all, size);
}

/** A node with the branches that lead to it. */
interface Row {
  readonly node: ViewNode;
  readonly prefix: string;
}

/** The first row and the newest ones, with the number of those between that are left out. */
function keepLast(
  all: readonly Row[],
  { columns, rows }: { readonly columns: number; readonly rows: number },
): readonly Line[] {
  const [first] = all;
  if (first === undefined || rows <= 0) return [];
  const head = lineOf(first, columns);
  if (rows === 1) return [head];
  const newest = all.slice(all.length - (rows - 2));
  const left = all.length - 1 - newest.length;
  return [head, [span(`… ${left} lines`, 'dim')], ...newest.map((row) => lineOf(row, columns))];
}

function rowsOf(tree: RunTree, view: TreeView): readonly Row[] {
  const root = viewOfTree(tree, view);
  if (root === undefined) return [];
  const { glyphs } = view;
  const rows: Row[] = [{ node: root, prefix: '' }];
  const descend = (node: ViewNode, prefix: string) => {
    for (const [index, child] of node.children.entries()) {
      const isLast = index === node.children.length - 1;
      rows.push({ node: child, prefix: prefix + (isLast ? glyphs.lastBranch : glyphs.branch) });
      descend(child, prefix + (isLast ? glyphs.gap : glyphs.trunk));
    }
  };
  descend(root, '');
  return rows;
}

function lineOf({ node, prefix }: Row, columns: number): Line {
  // A deep tree in a narrow window keeps half of the window for what it says.
  const shown = prefix.slice(-2 * Math.max(1, Math.floor(columns / 4)));
  const head = shown === '' ? node.head() : indentLine(node.head(), shown);
  return withFacts(fitLine(head, columns), node.facts(), columns);
}
