import type { RunEvent } from '../events/event-schemas.ts';
import { el, fill } from './dom.ts';
import { eventWords } from './event-words.ts';
import { count, formatTime } from './format.ts';
import type { Store } from './store.ts';
import type { View } from './view.ts';
import { createVirtualList, type VirtualList } from './virtual-list.ts';

const ROW_HEIGHT = 26;

const SCOPES: readonly (readonly [string, string])[] = [
  ['run', 'of this run'],
  ['selected', 'of what is selected'],
  ['all', 'of all runs'],
];

/** Every event, with a filter and a search; one of them opened. */
export class LogView implements View {
  readonly element: HTMLElement;
  readonly #store: Store;
  readonly #search: HTMLInputElement;
  readonly #kind: HTMLSelectElement;
  readonly #scope: HTMLSelectElement;
  readonly #note = el('span', { class: 'muted', role: 'status' });
  readonly #detail = el('pre', { class: 'event-detail', tabindex: '0', 'aria-label': 'The event' });
  readonly #list: VirtualList;
  #shown: readonly RunEvent[] = [];
  #opened: string | undefined;
  #kinds = '';

  constructor(store: Store) {
    this.#store = store;
    const change = () => store.changed();
    this.#search = el('input', {
      class: 'search',
      type: 'search',
      placeholder: 'Find in events',
      'aria-label': 'Find in events',
      oninput: change,
    });
    this.#kind = el('select', { 'aria-label': 'Kind of event', onchange: change });
    this.#scope = el('select', { 'aria-label': 'Whose events', onchange: change }, ...SCOPES.map(option));
    this.#list = createVirtualList({
      rowHeight: ROW_HEIGHT,
      attributes: { tabindex: '0', role: 'listbox', 'aria-label': 'Events' },
      keyOf: (index) => `${this.#shown[index]?.id} ${this.#shown[index]?.id === this.#opened}`,
      draw: (row, index) => drawRow(row, this.#shown[index], { index, opened: this.#opened }),
    });
    this.#detail.hidden = true;
    this.#listen();
    const title = el('h2', { class: 'view-title' }, 'Events');
    const tools = [title, this.#search, this.#kind, this.#scope, this.#note];
    const head = el('div', { class: 'view-head log-tools' }, ...tools);
    this.element = el('div', { class: 'view log-view' }, head, this.#list.element, this.#detail);
  }

  focusSearch(): void {
    this.#search.focus();
  }

  render(): void {
    const { isAtEnd } = this.#list;
    this.#kinds = listKinds(this.#kind, this.#store, this.#kinds);
    const choice = { words: this.#search.value, kind: this.#kind.value, scope: this.#scope.value };
    this.#shown = chosenEvents(this.#store, choice);
    fill(this.#note, count(this.#shown.length, 'event'));
    this.#list.render(this.#shown.length);
    if (isAtEnd && this.#store.past === undefined) this.#list.scrollToEnd();
  }

  #open(event: RunEvent | undefined): void {
    this.#opened = event?.id;
    this.#detail.hidden = event === undefined;
    fill(this.#detail, event === undefined ? '' : JSON.stringify(event, undefined, 2));
    this.#list.render(this.#shown.length);
  }

  #listen(): void {
    const { element } = this.#list;
    element.addEventListener('click', ({ target }) => {
      const id = target instanceof Element ? target.closest<HTMLElement>('.row')?.dataset['id'] : undefined;
      const event = this.#shown.find((one) => one.id === id);
      this.#open(event?.id === this.#opened ? undefined : event);
    });
    element.addEventListener('keydown', (event) => {
      const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      if (by === 0) return;
      event.preventDefault();
      const from = this.#shown.findIndex(({ id }) => id === this.#opened);
      const at = Math.min(this.#shown.length - 1, Math.max(0, from + by));
      this.#open(this.#shown[at]);
      this.#list.reveal(at);
    });
  }
}

function option([value, words]: readonly [string, string]): HTMLOptionElement {
  return el('option', { value }, words);
}

interface Choice {
  readonly words: string;
  readonly kind: string;
  readonly scope: string;
}

function chosenEvents(store: Store, { words, kind, scope }: Choice): readonly RunEvent[] {
  const cursor = store.past?.cursor ?? Number.POSITIVE_INFINITY;
  const sought = words.trim().toLowerCase();
  const id = store.selected;
  const inScope = scope === 'run' ? store.runEvents() : store.events;
  return inScope.filter((event) => {
    if ((event.cursor ?? 0) > cursor) return false;
    if (kind !== '' && event.kind !== kind) return false;
    if (scope === 'selected' && id !== undefined && !isOf(event, id)) return false;
    return sought === '' || textOf(event).includes(sought);
  });
}

function isOf(event: RunEvent, id: string): boolean {
  return event.session === id || event.turn === id || event.step === id || event.call === id;
}

const texts = new WeakMap<RunEvent, string>();

/** What is searched of an event, made once. */
function textOf(event: RunEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const text = `${event.type} ${event.agent} ${event.call ?? event.step ?? event.turn ?? event.session} ${JSON.stringify(event.data)}`;
  texts.set(event, text.toLowerCase());
  return text.toLowerCase();
}

function listKinds(select: HTMLSelectElement, store: Store, before: string): string {
  const found = [...new Set(store.events.map(({ kind }) => kind))].sort();
  const key = found.join(' ');
  if (key === before) return before;
  const chosen = select.value;
  fill(
    select,
    el('option', { value: '' }, 'every kind'),
    ...found.map((name) => el('option', { value: name }, name)),
  );
  select.value = found.some((name) => name === chosen) ? chosen : '';
  return key;
}

function drawRow(
  row: HTMLElement,
  event: RunEvent | undefined,
  { index, opened }: { index: number; opened: string | undefined },
): void {
  if (event === undefined) return;
  row.id = `event-${index}`;
  row.dataset['id'] = event.id;
  row.className = `row log-row${event.id === opened ? ' is-selected' : ''} kind-${event.kind}`;
  row.setAttribute('role', 'option');
  row.setAttribute('aria-selected', String(event.id === opened));
  fill(
    row,
    el('span', { class: 'log-time' }, formatTime(Date.parse(event.ts))),
    el('span', { class: 'log-agent' }, event.agent),
    el('span', { class: `log-type${isBad(event) ? ' is-bad' : ''}` }, event.type),
    el('span', { class: 'log-words' }, eventWords(event)),
  );
}

function isBad(event: RunEvent): boolean {
  if (event.type === 'turn.closed' || event.type === 'node.finished') return event.data.status === 'failed';
  if (event.type === 'tool.settled') return event.data.status !== 'success';
  return [
    'step.failed',
    'attempt.failed',
    'tool.refused',
    'budget.exceeded',
    'child.lost',
    'tool.indeterminate',
  ].includes(event.type);
}
