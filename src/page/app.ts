import { authHeaders, keepToken, takeToken } from './api.ts';
import { createApprovalsView } from './approvals-view.ts';
import type { ChartLayout } from './chart-layout.ts';
import { createChartView } from './chart-view.ts';
import { createCompareView } from './compare-view.ts';
import { createControlView } from './control-view.ts';
import { createDetailView } from './detail-view.ts';
import { el } from './dom.ts';
import { createKeysDialog, type KeyAction, listenToKeys } from './keys.ts';
import { LogView } from './log-view.ts';
import { createSequenceView } from './sequence-view.ts';
import { Store } from './store.ts';
import { openStream, type StreamClient } from './stream-client.ts';
import { createTabs, VIEW_NAMES } from './tabs-view.ts';
import { applyTheme, nextTheme } from './theme.ts';
import { TimelineView } from './timeline-view.ts';
import { createToolsView } from './tools-view.ts';
import { createTopbarView } from './topbar-view.ts';
import { TreeView } from './tree-view.ts';
import type { View } from './view.ts';

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
    compare: createCompareView(store),
  };
  const tree = new TreeView(store);
  const approvals = createApprovalsView(store);
  const timeline = new TimelineView(store);
  const sides: readonly View[] = [approvals, createDetailView(store), createControlView(store)];
  const client = connect(store, () => approvals.refresh());
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
  void loadCharts(store);
}

/** Follows the runtime, and comes back where the connection is cut. */
function connect(store: Store, approvalsChanged: () => void): StreamClient {
  const client = openStream(
    {
      hello: (hello) => store.begin(hello, store.events.length > 0),
      facts(events) {
        store.addFacts(events);
        if (events.some(({ kind }) => kind === 'approval')) approvalsChanged();
      },
      moves: (batch) => store.addMoves(batch),
      ready() {
        store.isReady = true;
        store.changed();
        document.body.dataset['ready'] = 'true';
        approvalsChanged();
      },
      missed(facts) {
        store.missedFacts += facts;
        store.changed();
      },
      trouble(words) {
        if (words === undefined) store.say('The connection is back');
        store.trouble = words;
        store.changed();
      },
      state(trouble) {
        if (trouble === 'refused' && 'Authorization' in authHeaders()) {
          // Of an earlier server, or mistyped: what may be seen without one still can.
          keepToken(undefined);
          store.say('The token is wrong', true);
          client.restart();
        }
        store.connection = trouble ?? 'live';
        store.changed();
      },
    },
    authHeaders,
  );
  return client;
}

async function loadCharts(store: Store): Promise<void> {
  const response = await fetch('/charts.json');
  // The file is part of the page.
  store.charts = (await response.json()) as readonly ChartLayout[];
  store.changed();
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
    { key: 'g', does: 'time', run: () => timeline.focusSlider() },
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
