import { forkedPair } from './compare-view.ts';
import { el } from './dom.ts';
import type { Store, ViewName } from './store.ts';
import type { View } from './view.ts';

/** The views beside the tree, as their tabs are called. */
export const VIEW_NAMES: readonly (readonly [ViewName, string])[] = [
  ['chart', 'Chart'],
  ['sequence', 'Sequence'],
  ['tools', 'Tools'],
  ['events', 'Events'],
  ['compare', 'Compare'],
];

/** Tabs, of which one is drawn. */
export function createTabs(store: Store, views: Readonly<Record<ViewName, View>>): View {
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
      // Two sessions to compare are there only after a fork.
      const isForked = forkedPair(store) !== undefined;
      VIEW_NAMES.forEach(([name], index) => {
        const isShown = name === store.view;
        tabs[index]?.setAttribute('aria-selected', String(isShown));
        tabs[index]?.setAttribute('tabindex', isShown ? '0' : '-1');
        const tab = tabs[index];
        if (tab !== undefined && name === 'compare') tab.hidden = !isForked && !isShown;
        const panel = panels[index];
        if (panel !== undefined) panel.hidden = !isShown;
      });
      views[store.view].render();
    },
  };
}
