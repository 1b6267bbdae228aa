import { keepToken } from './api.ts';
import { el, fill, shownText } from './dom.ts';
import { count, formatCount, formatUsd } from './format.ts';
import type { Store } from './store.ts';
import { nextTheme } from './theme.ts';
import type { View } from './view.ts';

/** What the bar above can set off. */
export interface TopbarActions {
  /** Connects anew, with another token or from the beginning. */
  reconnect(from?: number): void;
  goToApproval(): void;
  help(): void;
}

/** Name, connection, sums, what waits, and the switches of the page. */
export function createTopbarView(store: Store, actions: TopbarActions): View {
  const status = el('span', { class: 'status', role: 'status' });
  const sums = el('p', { class: 'sums' });
  const waiting = el('button', {
    class: 'waiting-badge',
    onclick: () => actions.goToApproval(),
    title: 'Go to what waits  a',
  });
  const notice = el('p', { class: 'notice', role: 'status' });
  const older = el('button', { class: 'chip', onclick: () => actions.reconnect(0) }, 'Load older runs');
  const unlock = createUnlock(actions);
  return {
    element: el(
      'header',
      { class: 'topbar' },
      el('h1', {}, 'Swarmwright'),
      status,
      sums,
      waiting,
      notice,
      el(
        'div',
        { class: 'topbar-end' },
        older,
        unlock.element,
        el('button', { class: 'icon', 'aria-label': 'Theme', title: 'Theme  t', onclick: nextTheme }, '◐'),
        el(
          'button',
          { class: 'icon', 'aria-label': 'Keys', title: 'Keys  ?', onclick: () => actions.help() },
          '?',
        ),
      ),
    ),
    render() {
      const [state, kind] = statusOf(store);
      status.className = `status is-${kind}`;
      fill(status, state);
      fill(sums, sumsOf(store));
      waiting.hidden = store.pending.length === 0;
      fill(waiting, `${store.pending.length} waiting`);
      notice.className = `notice${store.message?.isError === true ? ' is-bad' : ''}`;
      const words = store.message?.text ?? lossOf(store);
      notice.hidden = words === '';
      fill(notice, words);
      older.hidden = (store.hello?.start ?? 0) === 0;
      unlock.render(store);
      const badge = store.pending.length === 0 ? '' : `(${store.pending.length}) `;
      const name = shownText(store.selectedNode?.name ?? '', 40);
      document.title = `${badge}${name === '' ? '' : `${name} · `}Swarmwright`;
    },
  };
}

function statusOf({ connection, isReady, past, trouble }: Store): readonly [string, string] {
  if (past !== undefined) return ['Earlier moment', 'past'];
  switch (connection) {
    case 'connecting':
      return ['Connecting', 'lost'];
    case 'live':
      if (trouble !== undefined) return [trouble, 'lost'];
      return isReady ? ['Live', 'live'] : ['Loading', 'lost'];
    case 'lost':
      return ['Not connected; trying again', 'lost'];
    case 'refused':
      return ['A token is needed', 'lost'];
  }
}

function sumsOf({ model }: Store): string {
  const roots = model.roots.flatMap((id) => model.nodes.get(id) ?? []);
  if (roots.length === 0) return '';
  const tokens = roots.reduce((sum, { spent }) => sum + spent.inputTokens + spent.outputTokens, 0);
  const cost = roots.reduce((sum, { spent }) => sum + spent.costUsd, 0);
  const agents = roots.reduce((sum, node) => sum + node.agents, 0);
  return [
    count(roots.length, 'run'),
    count(agents, 'agent'),
    `${formatCount(tokens)} tokens`,
    formatUsd(cost),
  ]
    .filter((word) => word !== '')
    .join(' · ');
}

function lossOf({ droppedMoves, missedFacts, overflow }: Store): string {
  const losses = [
    droppedMoves > 0 && `${count(droppedMoves, 'transition')} dropped: they came faster than this page reads`,
    missedFacts > 0 && `${count(missedFacts, 'event')} dropped: only the newest are kept`,
    overflow > 0 && `${count(overflow, 'event')} left out: there are too many for one page`,
  ];
  return losses.filter((words) => words !== false).join('; ');
}

function createUnlock(actions: TopbarActions) {
  const field = el('input', {
    type: 'password',
    autocomplete: 'off',
    'aria-label': 'Token',
    placeholder: 'Token',
  });
  const form = el(
    'form',
    { class: 'unlock' },
    field,
    el('button', { class: 'chip', type: 'submit' }, 'Unlock'),
  );
  const label = el('span', { class: 'mode' });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    keepToken(field.value.trim() === '' ? undefined : field.value.trim());
    field.value = '';
    actions.reconnect();
  });
  return {
    element: el('div', { class: 'unlock-space' }, label, form),
    render({ hello, connection }: Store) {
      const isRefused = connection === 'refused';
      form.hidden = !isRefused && (hello === undefined || hello.controls || !hello.hasToken);
      label.hidden = hello === undefined || hello.controls || isRefused;
      fill(label, 'read-only');
    },
  };
}
