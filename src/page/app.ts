import { authHeaders, takeToken } from './api.ts';
import { createApprovalsView } from './approvals-view.ts';
import type { ChartLayout } from './chart-layout.ts';
import { createChartView } from './chart-view.ts';
import { createControlView } from './control-view.ts';
import { createDetailView } from './detail-view.ts';
import { el } from './dom.ts';
import { createKeysDialog, type KeyAction, listenToKeys } from './keys.ts';
import { LogView } from './log-view.ts';
import { createSequenceView } from './sequence-view.ts';
import { Store, type ViewName } from './store.ts';
import { openStream } from './stream-client.ts';
import { applyTheme, nextTheme } from './theme.ts';
import { TimelineView } from './timeline-view.ts';
import { createToolsView } from './tools-view.ts';
import { createTopbarView } from './topbar-view.ts';
import { TreeView } from './tree-view.ts';
import type { View } from './view.ts';

const VIEW_NAMES: readonly (readonly [ViewName, string])[] = [
  ['chart', 'Chart'],
  ['sequence', 'Sequence'],
  ['tools', 'Tools'],
  ['events', 'Events'],
];

/** Time between two pictures where only time goes by. */
const TICK_MS = 1_000;

function start(): void {
  applyTheme();
  takeToken();
  const store = new Store(() => draw());
  const views = {
    chart: createChartView(store),
    sequence: createSequenceView(store),
    tools: createToolsView(store),
    events: new LogView(store),
  };
  const tree = new TreeView(store);
  const approvals = createApprovalsView(store);
  const timeline = new TimelineView(store);
  const sides: readonly View[] = [approvals, createDetailView(store), createControlView(store)];
  const client = openStream(
    {
      hello: (hello) => store.begin(hello, store.events.length > 0),
      facts(events) {
        store.addFacts(events);
        if (events.some(({ kind }) => kind === 'approval')) approvals.refresh();
      },
      moves: (batch) => store.addMoves(batch),
      ready() {
        store.isReady = true;
        store.changed();
        document.body.dataset['ready'] = 'true';
        approvals.refresh();
      },
      state(trouble) {
        store.connection = trouble ?? 'live';
        store.changed();
      },
    },
    authHeaders,
  );
  const keys = keyActions({ store, tree, log: views.events, timeline });
  const dialog = createKeysDialog(keys);
  const topbar = createTopbarView(store, {
    reconnect(from) {
      store.forget();
      client.restart(from);
    },
    goToApproval: () => goToApproval(store),
    help: () => dialog.showModal(),
  });
  listenToKeys([...keys, { key: '?', does: 'these keys', run: () => dialog.showModal() }]);
  const tabs = createTabs(store, views);
  document.body.append(
    topbar.element,
    el(
      'main',
      {},
      tree.element,
      el('div', { class: 'pane center' }, tabs.element),
      el('aside', { class: 'pane side', 'aria-label': 'Selection' }, ...sides.map(({ element }) => element)),
    ),
    timeline.element,
    dialog,
  );
  const draw = () => {
    for (const view of [topbar, tree, tabs, ...sides, timeline]) view.render();
  };
  draw();
  setInterval(() => store.changed(), TICK_MS);
  void fetch('/charts.json')
    .then((response) => response.json())
    // The file is part of the page.
    .then((charts: unknown) => {
      store.charts = charts as readonly ChartLayout[];
      store.changed();
    });
}

function createTabs(store: Store, views: Readonly<Record<ViewName, View>>): View {
  const panels = VIEW_NAMES.map(([name]) =>
    el(
      'div',
      { class: 'panel', role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}` },
      views[name].element,
    ),
  );
  const tabs = VIEW_NAMES.map(([name, words]) =>
    el(
      'button',
      { role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}`, onclick: () => store.show(name) },
      words,
    ),
  );
  const list = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Views' }, ...tabs);
  list.addEventListener('keydown', (event) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    const at = VIEW_NAMES.findIndex(([name]) => name === store.view);
    const next = VIEW_NAMES[(at + by + VIEW_NAMES.length) % VIEW_NAMES.length];
    if (next === undefined) return;
    store.show(next[0]);
    tabs[VIEW_NAMES.indexOf(next)]?.focus();
  });
  return {
    element: el('div', { class: 'tab-space' }, list, ...panels),
    render() {
      VIEW_NAMES.forEach(([name], index) => {
        const isShown = name === store.view;
        tabs[index]?.setAttribute('aria-selected', String(isShown));
        tabs[index]?.setAttribute('tabindex', isShown ? '0' : '-1');
        const panel = panels[index];
        if (panel !== undefined) panel.hidden = !isShown;
      });
      views[store.view].render();
    },
  };
}

interface KeyParts {
  readonly store: Store;
  readonly tree: TreeView;
  readonly log: LogView;
  readonly timeline: TimelineView;
}

function keyActions({ store, tree, log, timeline }: KeyParts): readonly KeyAction[] {
  return [
    ...VIEW_NAMES.map(([name, words], index) => ({
      key: String(index + 1),
      does: words.toLowerCase(),
      run: () => store.show(name),
    })),
    { key: '/', does: 'find', run: () => (store.view === 'events' ? log.focusSearch() : tree.focusSearch()) },
    { key: 'j', does: 'next row', run: () => tree.press('ArrowDown') },
    { key: 'k', does: 'row before', run: () => tree.press('ArrowUp') },
    { key: 'a', does: 'go to what waits for a person', run: () => goToApproval(store) },
    { key: '[', does: 'one event back', run: () => timeline.step(-1) },
    { key: ']', does: 'one event on', run: () => timeline.step(1) },
    { key: 'n', does: 'now', run: () => store.goTo(undefined) },
    { key: 't', does: 'theme', run: nextTheme },
  ];
}

/** Selects the call that waits longest, and brings its buttons into sight. */
function goToApproval(store: Store): void {
  const [first] = store.pending;
  if (first === undefined) return;
  store.goTo(undefined);
  store.select(first.callId);
  const card = document.querySelector('.approval');
  card?.scrollIntoView({ block: 'nearest' });
  card?.querySelector<HTMLElement>('.primary')?.focus();
}

start();
