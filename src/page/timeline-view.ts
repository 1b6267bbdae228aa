import type { RunEvent } from '../events/event-schemas.ts';
import { fork } from './api.ts';
import { el, fill, shownText } from './dom.ts';
import { formatTime } from './format.ts';
import type { Store } from './store.ts';
import type { View } from './view.ts';

/** The slider over all events of a run: any earlier state, and a run from there. */
export class TimelineView implements View {
  readonly element: HTMLElement;
  readonly #store: Store;
  readonly #slider = el('input', {
    type: 'range',
    min: 0,
    max: 0,
    step: 1,
    class: 'slider',
    'aria-label': 'Moment of the run',
  });
  readonly #label = el('output', { class: 'moment' });
  readonly #now: HTMLButtonElement;
  readonly #fromHere: HTMLButtonElement;
  #events: readonly RunEvent[] = [];

  constructor(store: Store) {
    this.#store = store;
    this.#now = el('button', { class: 'chip', onclick: () => store.goTo(undefined) }, 'Now');
    this.#fromHere = el(
      'button',
      { class: 'chip from-here', onclick: () => void runFromHere(store) },
      'Run from here',
    );
    this.#slider.addEventListener('input', () => this.#goTo(Number(this.#slider.value)));
    const stepButton = (by: number, sign: string, words: string) =>
      el('button', { class: 'icon', 'aria-label': words, title: words, onclick: () => this.step(by) }, sign);
    this.element = el(
      'footer',
      { class: 'timeline', 'aria-label': 'Time' },
      el('span', { class: 'timeline-name', 'aria-hidden': 'true' }, 'Time'),
      stepButton(-1, '‹', 'One event back'),
      this.#slider,
      stepButton(1, '›', 'One event on'),
      this.#label,
      this.#now,
      this.#fromHere,
    );
  }

  step(by: number): void {
    this.#goTo(Math.max(0, Math.min(this.#events.length - 1, Number(this.#slider.value) + by)));
  }

  focusSlider(): void {
    this.#slider.focus();
  }

  render(): void {
    const { past } = this.#store;
    this.#events = this.#store.runEvents();
    const total = this.#events.length;
    const index = past === undefined ? total - 1 : lastBefore(this.#events, past.cursor);
    this.#slider.max = String(Math.max(0, total - 1));
    this.#slider.value = String(Math.max(0, index));
    this.#slider.disabled = total < 2;
    this.#now.setAttribute('aria-pressed', String(past === undefined));
    document.body.classList.toggle('is-past', past !== undefined);
    const event = this.#events[index];
    const words =
      event === undefined ? 'nothing yet' : `${event.agent}: ${event.type}, event ${index + 1} of ${total}`;
    this.#slider.setAttribute('aria-valuetext', shownText(words, 200));
    const moment =
      event === undefined
        ? ''
        : `${index + 1} / ${total}  ${formatTime(Date.parse(event.ts))}  ${event.agent}: ${event.type}`;
    fill(this.#label, moment);
    this.#renderFork();
  }

  #renderFork(): void {
    const isPossible = this.#store.hello?.canFork === true && forkPoint(this.#store) !== undefined;
    this.#fromHere.disabled = !isPossible;
    this.#fromHere.title = isPossible
      ? 'A new session from this point: recorded answers and results are used again'
      : whyNot(this.#store);
  }

  #goTo(index: number): void {
    const isLast = index >= this.#events.length - 1;
    this.#store.goTo(isLast ? undefined : this.#events[index]?.cursor);
  }
}

async function runFromHere(store: Store): Promise<void> {
  const point = forkPoint(store);
  if (point === undefined) return;
  try {
    const { session } = await fork(point.session, point.seq);
    store.say('A new run goes on from that moment; Compare shows where the two differ');
    store.goTo(undefined);
    store.select(session);
  } catch (error) {
    store.say(error instanceof Error ? error.message : String(error), true);
  }
}

function lastBefore(events: readonly RunEvent[], cursor: number): number {
  return events.findLastIndex((event) => (event.cursor ?? 0) <= cursor);
}

/** The last fact that had happened of the session the run hangs from: those below it are part of its run. */
function forkPoint(store: Store): { readonly session: string; readonly seq: number } | undefined {
  const cursor = store.past?.cursor ?? Number.POSITIVE_INFINITY;
  const event = store
    .runEvents()
    .findLast(({ session, root, cursor: at = 0 }) => session === root && at <= cursor);
  return event === undefined ? undefined : { session: event.session, seq: event.seq };
}

function whyNot(store: Store): string {
  if (store.hello?.controls !== true) return 'This page only looks: running needs its token';
  return store.hello.canFork
    ? 'Nothing has happened in this run yet'
    : 'The runtime of this page cannot run from an earlier point';
}
