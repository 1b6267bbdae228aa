import type { Model } from './node-tree.ts';
import type { ActorNode, Tone } from './nodes.ts';

/** One visible row of the tree. */
export interface TreeRow {
  readonly node: ActorNode;
  /** From 0. */
  readonly depth: number;
  readonly isOpen: boolean;
  readonly hasChildren: boolean;
  /** Place among its siblings, from 1, and how many there are. */
  readonly position: number;
  readonly siblings: number;
}

/** What of the tree is shown. */
export interface TreeChoice {
  /** Rows a person opened or closed; the others are as they are by default. */
  readonly toggled: ReadonlyMap<string, boolean>;
  readonly search: string;
  readonly tones: ReadonlySet<Tone>;
}

/** Rows of the tree from the top. Newest run first, within a run in the order of events. */
export function treeRows(model: Model, choice: TreeChoice): readonly TreeRow[] {
  const matches = matching(model, choice);
  const rows: TreeRow[] = [];
  const newest = model.roots.at(-1);
  const visit = (id: string, depth: number, [position, siblings]: readonly [number, number]) => {
    const node = model.nodes.get(id);
    if (node === undefined) return;
    const children =
      matches === undefined ? node.children : node.children.filter((child) => matches.has(child));
    const isOpen = matches !== undefined || (choice.toggled.get(id) ?? isOpenByDefault(node, depth, newest));
    rows.push({ node, depth, isOpen, hasChildren: children.length > 0, position, siblings });
    if (!isOpen) return;
    children.forEach((child, at) => {
      visit(child, depth + 1, [at + 1, children.length]);
    });
  };
  const roots = [...model.roots].reverse().filter((id) => matches === undefined || matches.has(id));
  roots.forEach((id, at) => {
    visit(id, 0, [at + 1, roots.length]);
  });
  return rows;
}

/** What matches, with everything above it; undefined where nothing is asked for. */
function matching(model: Model, { search, tones }: TreeChoice): ReadonlySet<string> | undefined {
  const words = search.trim().toLowerCase();
  if (words === '' && tones.size === 0) return undefined;
  const found = new Set<string>();
  for (const node of model.nodes.values()) {
    if (!isSought(node, words, tones)) continue;
    for (let at: ActorNode | undefined = node; at !== undefined && !found.has(at.id); ) {
      found.add(at.id);
      at = at.parent === undefined ? undefined : model.nodes.get(at.parent);
    }
  }
  return found;
}

function isSought(node: ActorNode, words: string, tones: ReadonlySet<Tone>): boolean {
  if (tones.size > 0 && !tones.has(node.tone)) return false;
  return words === '' || `${node.name} ${node.state} ${node.id}`.toLowerCase().includes(words);
}

/** The first row that is sought, and not only above one that is. */
export function firstSought(rows: readonly TreeRow[], { search, tones }: TreeChoice): TreeRow | undefined {
  const words = search.trim().toLowerCase();
  return rows.find(({ node }) => isSought(node, words, tones));
}

/** Open are the newest run and those that go on, down to their calls; agents below them are one row each. */
function isOpenByDefault(node: ActorNode, depth: number, newest: string | undefined): boolean {
  if (node.kind === 'session') return depth === 0 && (node.id === newest || node.tone !== 'good');
  return true;
}

/** The row that a key leads to, and what becomes of the one it leaves. */
export function moveInTree(
  rows: readonly TreeRow[],
  at: number,
  key: string,
): { readonly to?: number; readonly toggle?: string } | undefined {
  const row = rows[at];
  const last = rows.length - 1;
  switch (key) {
    case 'ArrowDown':
      return { to: Math.min(last, at + 1) };
    case 'ArrowUp':
      return { to: Math.max(0, at - 1) };
    case 'PageDown':
      return { to: Math.min(last, at + 15) };
    case 'PageUp':
      return { to: Math.max(0, at - 15) };
    case 'Home':
      return { to: 0 };
    case 'End':
      return { to: last };
    case 'ArrowRight':
      if (row === undefined || !row.hasChildren) return undefined;
      return row.isOpen ? { to: at + 1 } : { toggle: row.node.id };
    case 'ArrowLeft': {
      if (row === undefined) return undefined;
      if (row.isOpen && row.hasChildren) return { toggle: row.node.id };
      const parent = rows.findLastIndex((above, index) => index < at && above.depth < row.depth);
      return parent < 0 ? undefined : { to: parent };
    }
    default:
      return undefined;
  }
}
