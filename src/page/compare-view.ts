import type { RunEvent } from '../events/event-schemas.ts';
import { type Comparison, compareSessions } from './compare.ts';
import { el, fill } from './dom.ts';
import { eventWords } from './event-words.ts';
import { count } from './format.ts';
import type { ActorNode } from './nodes.ts';
import type { Store } from './store.ts';
import type { View } from './view.ts';

/** Most events of one side that are drawn. */
const MAX_SHOWN = 300;

/** A session and its fork, side by side from where they differ. */
export function createCompareView(store: Store): View {
  const note = el('p', { class: 'muted' });
  const body = el('div', {
    class: 'compare-body',
    tabindex: '0',
    role: 'region',
    'aria-label': 'Comparison',
  });
  let painted = '';
  return {
    element: el(
      'div',
      { class: 'view compare-view' },
      el('div', { class: 'view-head' }, el('h2', { class: 'view-title' }, 'Compare'), note),
      body,
    ),
    render() {
      const pair = forkedPair(store);
      const key = `${pair?.map(({ id }) => id).join(' ')} ${store.model.events} ${store.past?.cursor}`;
      if (key === painted) return;
      painted = key;
      if (pair === undefined) {
        fill(note, 'Nothing was forked from this session, nor was it from another.');
        fill(body);
        return;
      }
      const [origin, fork] = pair;
      const found = compareSessions(eventsOf(store, origin.id), eventsOf(store, fork.id));
      fill(note, noteOf(found));
      fill(body, column(origin, 'Origin', found.left, store), column(fork, 'Fork', found.right, store));
    },
  };
}

/** The selected session and the one it was forked from, or the last that was forked from it. */
export function forkedPair(store: Store): readonly [origin: ActorNode, fork: ActorNode] | undefined {
  const { nodes, roots } = store.model;
  const session = nodes.get(store.selectedNode?.session ?? '');
  if (session === undefined) return undefined;
  const from = session.facts.origin === undefined ? undefined : nodes.get(session.facts.origin.session);
  if (from !== undefined) return [from, session];
  const fork = roots.findLast((id) => nodes.get(id)?.facts.origin?.session === session.id);
  const found = fork === undefined ? undefined : nodes.get(fork);
  return found === undefined ? undefined : [session, found];
}

function eventsOf(store: Store, session: string): readonly RunEvent[] {
  const cursor = store.past?.cursor ?? Number.POSITIVE_INFINITY;
  return store.events.filter((event) => event.session === session && (event.cursor ?? 0) <= cursor);
}

function noteOf({ same, left, right }: Comparison): string {
  const begin = `${count(same.length, 'event')} at the beginning are the same`;
  return left.length === 0 && right.length === 0
    ? `${begin}, and nothing differs.`
    : `${begin}; then they differ.`;
}

function column(node: ActorNode, words: string, events: readonly RunEvent[], store: Store): HTMLElement {
  return el(
    'section',
    { class: 'compare-side', 'data-side': words.toLowerCase() },
    el(
      'header',
      {},
      el('span', { class: 'eyebrow' }, words),
      el('button', { class: 'link', onclick: () => store.select(node.id) }, node.name),
      el('code', {}, node.id),
    ),
    events.length === 0
      ? el('p', { class: 'hint' }, 'Nothing more happened.')
      : el('ol', {}, ...events.slice(0, MAX_SHOWN).map(line)),
    events.length > MAX_SHOWN && el('p', { class: 'hint' }, `and ${events.length - MAX_SHOWN} more`),
  );
}

function line(event: RunEvent): HTMLElement {
  return el(
    'li',
    { 'data-type': event.type },
    el('span', { class: 'log-type' }, event.type),
    el('span', { class: 'compare-words' }, eventWords(event)),
  );
}
