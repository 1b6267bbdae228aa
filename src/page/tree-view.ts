import { el, fill, svg } from './dom.ts';
import { count, formatCount, formatElapsed, formatUsd } from './format.ts';
import type { ActorNode, NodeKind, Tone } from './nodes.ts';
import type { Store } from './store.ts';
import { firstSought, moveInTree, type TreeChoice, type TreeRow, treeRows } from './tree-rows.ts';
import type { View } from './view.ts';
import { createVirtualList, type VirtualList } from './virtual-list.ts';

const ROW_HEIGHT = 28;

const FILTERS: readonly (readonly [string, readonly Tone[]])[] = [
  ['Running', ['busy']],
  ['Waiting', ['waiting']],
  ['Failed', ['bad']],
];

/** Words for what a row is, for those who do not see its sign. */
const KIND_WORDS: Readonly<Record<NodeKind, string>> = {
  session: 'agent',
  turn: 'turn',
  step: 'step',
  call: 'call',
  node: 'node',
};

/** The tree of agents, turns, steps and calls, with its search. */
export class TreeView implements View {
  readonly element: HTMLElement;
  readonly #store: Store;
  readonly #toggled = new Map<string, boolean>();
  readonly #tones = new Set<Tone>();
  readonly #search: HTMLInputElement;
  readonly #empty = el('p', { class: 'tree-empty' });
  readonly #summary = el('p', { class: 'tree-summary' });
  readonly #list: VirtualList;
  #rows: readonly TreeRow[] = [];
  #shownSelection: string | undefined;

  constructor(store: Store) {
    this.#store = store;
    this.#search = el('input', {
      class: 'search',
      type: 'search',
      placeholder: 'Find agent, tool, state',
      'aria-label': 'Find in the tree',
      oninput: () => store.changed(),
      onkeydown: (event: KeyboardEvent) => this.#leaveSearch(event),
    });
    this.#list = createVirtualList({
      rowHeight: ROW_HEIGHT,
      attributes: { role: 'tree', tabindex: '0', 'aria-label': 'Agents, turns, steps and calls' },
      keyOf: (index) => keyOf(this.#rows[index], store),
      draw: (row, index) => drawRow(row, { item: this.#rows[index], index, store }),
    });
    this.#listen();
    const filters = FILTERS.map(([name, tones]) => this.#filter(name, tones));
    const chips = el('div', { class: 'chips', role: 'group', 'aria-label': 'Only' }, ...filters);
    this.element = el(
      'section',
      { class: 'pane tree-pane', 'aria-label': 'Tree' },
      el('div', { class: 'tree-tools' }, this.#search, chips),
      treeHead(),
      el('div', { class: 'tree-list' }, this.#list.element, this.#empty),
      this.#summary,
    );
  }

  focusSearch(): void {
    this.#search.focus();
  }

  /** Does what a key of the tree does. False for a key that is none. */
  press(key: string): boolean {
    // Keys are faster than pictures: what is drawn may be of before the last one.
    const rows = treeRows(this.#store.model, this.#choice());
    const at = rows.findIndex(({ node }) => node.id === this.#store.selected);
    const move = moveInTree(rows, at, key);
    const row = rows[at];
    if (move?.toggle !== undefined && row !== undefined) this.#toggle(row);
    const target = move?.to === undefined ? undefined : rows[move.to];
    if (target !== undefined) this.#store.select(target.node.id);
    return move !== undefined;
  }

  render(): void {
    openWayTo(this.#store, this.#toggled, this.#shownSelection);
    this.#rows = treeRows(this.#store.model, this.#choice());
    const at = this.#rows.findIndex(({ node }) => node.id === this.#store.selected);
    this.#list.render(this.#rows.length);
    if (this.#shownSelection !== this.#store.selected && at >= 0) this.#list.reveal(at);
    this.#shownSelection = this.#store.selected;
    const { element } = this.#list;
    if (at >= 0) element.setAttribute('aria-activedescendant', `row-${at}`);
    else element.removeAttribute('aria-activedescendant');
    this.#empty.hidden = this.#rows.length > 0;
    fill(this.#empty, emptyWords(this.#store));
    fill(this.#summary, summaryOf(this.#store, this.#rows.length));
  }

  #choice(): TreeChoice {
    return { toggled: this.#toggled, search: this.#search.value, tones: this.#tones };
  }

  /** On to what was found, by the keys with which one leaves a search elsewhere. */
  #leaveSearch(event: KeyboardEvent): void {
    if (event.key !== 'Enter' && event.key !== 'ArrowDown') return;
    event.preventDefault();
    const rows = treeRows(this.#store.model, this.#choice());
    const found = firstSought(rows, this.#choice());
    if (found !== undefined) this.#store.select(found.node.id);
    this.#list.element.focus();
  }

  #filter(name: string, tones: readonly Tone[]): HTMLButtonElement {
    const button = el('button', { class: 'chip', 'aria-pressed': 'false' }, name);
    button.addEventListener('click', () => {
      const isOn = tones.every((tone) => this.#tones.has(tone));
      for (const tone of tones) isOn ? this.#tones.delete(tone) : this.#tones.add(tone);
      button.setAttribute('aria-pressed', String(!isOn));
      this.#store.changed();
    });
    return button;
  }

  #listen(): void {
    const { element } = this.#list;
    element.addEventListener('keydown', (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (this.press(event.key)) event.preventDefault();
    });
    element.addEventListener('click', ({ target }) => {
      const row = this.#rowAt(target);
      if (row === undefined) return;
      // What is clicked in the document is an element.
      if ((target as Element).closest('.twisty') !== null && row.hasChildren) this.#toggle(row);
      this.#store.select(row.node.id);
    });
    element.addEventListener('dblclick', ({ target }) => {
      const row = this.#rowAt(target);
      if (row?.hasChildren === true) this.#toggle(row);
    });
  }

  #rowAt(target: EventTarget | null): TreeRow | undefined {
    const id = target instanceof Element ? target.closest<HTMLElement>('.row')?.dataset['id'] : undefined;
    return this.#rows.find(({ node }) => node.id === id);
  }

  #toggle({ node, isOpen }: TreeRow): void {
    this.#toggled.set(node.id, !isOpen);
    this.#store.changed();
  }
}

/** Why the tree has no row. */
function emptyWords({ model, isReady, connection }: Store): string {
  if (model.nodes.size > 0) return 'Nothing here matches.';
  if (connection === 'refused') return 'This page is open to those who have its token.';
  return isReady ? 'No run yet. One appears here as soon as it starts.' : '';
}

function treeHead(): HTMLElement {
  return el(
    'div',
    { class: 'tree-head', 'aria-hidden': 'true' },
    el('span', { class: 'name' }, 'Name'),
    el('span', { class: 'state' }, 'State'),
    el('span', { class: 'amount elapsed' }, 'Time'),
    el('span', { class: 'amount tokens' }, 'Tokens'),
    el('span', { class: 'amount cost' }, 'Cost'),
  );
}

/** A row that is selected from elsewhere has to be there. */
function openWayTo(store: Store, toggled: Map<string, boolean>, before: string | undefined): void {
  if (store.selected === undefined || store.selected === before) return;
  for (let at = store.selectedNode?.parent; at !== undefined; at = store.model.nodes.get(at)?.parent) {
    toggled.set(at, true);
  }
}

function summaryOf(store: Store, shown: number): string {
  if (store.model.nodes.size === 0) return '';
  const agents = store.model.roots.reduce((sum, id) => sum + (store.model.nodes.get(id)?.agents ?? 0), 0);
  return `${count(agents, 'agent')} in ${count(store.model.roots.length, 'run')}, ${count(shown, 'row')} shown`;
}

interface Drawn {
  readonly item: TreeRow | undefined;
  readonly index: number;
  readonly store: Store;
}

/** All that a row shows. */
function keyOf(item: TreeRow | undefined, store: Store): string {
  if (item === undefined) return '';
  const { node, depth, isOpen, hasChildren, position, siblings } = item;
  const isSelected = node.id === store.selected;
  const { elapsed, tokens, cost } = amountsOf(node, store);
  return [
    ...[node.id, node.name, node.state, node.tone, isSelected, depth, isOpen, hasChildren],
    ...[position, siblings, elapsed, tokens, cost],
  ].join('\n');
}

function drawRow(row: HTMLElement, { item, index, store }: Drawn): void {
  if (item === undefined) return;
  const { node, depth, isOpen, hasChildren, position, siblings } = item;
  const isSelected = node.id === store.selected;
  row.dataset['id'] = node.id;
  row.dataset['kind'] = node.kind;
  row.dataset['state'] = node.state;
  row.className = `row tree-row tone-${node.tone}${isSelected ? ' is-selected' : ''}`;
  row.id = `row-${index}`;
  setAria(row, {
    role: 'treeitem',
    'aria-level': depth + 1,
    'aria-selected': isSelected,
    'aria-setsize': siblings,
    'aria-posinset': position,
  });
  if (hasChildren) row.setAttribute('aria-expanded', String(isOpen));
  else row.removeAttribute('aria-expanded');
  const indent = el('span', { class: 'indent' });
  indent.style.width = `${Math.min(depth, 12) * 12}px`;
  fill(
    row,
    indent,
    el(
      'span',
      { class: `twisty${hasChildren ? '' : ' is-leaf'}${isOpen ? ' is-open' : ''}`, 'aria-hidden': 'true' },
      hasChildren && chevron(),
    ),
    el('span', { class: `sign sign-${node.kind}`, 'aria-hidden': 'true' }),
    el('span', { class: 'unseen' }, `${KIND_WORDS[node.kind]} `),
    el('span', { class: 'name', title: node.name }, node.name),
    node.facts.origin !== undefined && el('span', { class: 'tool-mark' }, 'fork'),
    el('span', { class: 'state' }, node.state),
    ...drawAmounts(node, store),
  );
}

function setAria(element: Element, attributes: Readonly<Record<string, string | number | boolean>>): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/** What a node took and cost, as it is written. */
function amountsOf(node: ActorNode, store: Store) {
  const isOpen = node.tone === 'busy' || node.tone === 'waiting';
  const end = node.endedAt ?? (isOpen ? store.now() : undefined);
  const { inputTokens, outputTokens, costUsd } = node.spent;
  const tokens = inputTokens + outputTokens;
  return {
    elapsed: end === undefined ? '' : formatElapsed(Math.max(0, end - node.startedAt)),
    tokens: tokens === 0 ? '' : formatCount(tokens),
    cost: formatUsd(costUsd),
  };
}

function drawAmounts(node: ActorNode, store: Store): readonly HTMLElement[] {
  const { elapsed, tokens, cost } = amountsOf(node, store);
  const { inputTokens, outputTokens } = node.spent;
  const title = `${inputTokens} in, ${outputTokens} out`;
  return [
    el('span', { class: 'amount elapsed' }, elapsed),
    el('span', { class: 'amount tokens', title }, tokens),
    el('span', { class: 'amount cost' }, cost),
  ];
}

function chevron(): SVGElement {
  return svg('svg', { viewBox: '0 0 10 10', width: 10, height: 10 }, svg('path', { d: 'M3 1.5 7 5 3 8.5' }));
}
