import { cancel, steer } from './api.ts';
import { el, fill } from './dom.ts';
import { ancestry } from './node-tree.ts';
import type { ActorNode } from './nodes.ts';
import type { Store } from './store.ts';
import type { View } from './view.ts';

/** Steering and stopping the turn under way of the selected agent. */
export function createControlView(store: Store): View {
  const text = el('textarea', {
    rows: 2,
    'aria-label': 'Steering text',
    placeholder: 'Tell the model something',
  });
  const target = el('h3', {});
  const send = el('button', { class: 'primary', type: 'submit' }, 'Steer');
  let armed = false;
  const stop = el('button', { class: 'danger', type: 'button' }, 'Cancel turn');
  const session = () => openSession(store)?.id;

  const run = async (act: (id: string) => Promise<void>, done: string) => {
    const id = session();
    if (id === undefined) return;
    try {
      await act(id);
      store.say(done);
    } catch (error) {
      store.say(error instanceof Error ? error.message : String(error), true);
    }
  };
  const form = el(
    'form',
    { class: 'control' },
    target,
    text,
    el('div', { class: 'control-buttons' }, send, stop),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const words = text.value.trim();
    if (words === '') return;
    text.value = '';
    void run((id) => steer(id, words), 'Accepted: it is in the next request of the model');
  });
  text.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  // Asked twice: it cannot be taken back.
  stop.addEventListener('click', () => {
    if (armed) void run(cancel, 'Cancelled');
    armed = !armed;
    stop.textContent = armed ? 'Really cancel' : 'Cancel turn';
  });
  stop.addEventListener('blur', () => {
    armed = false;
    stop.textContent = 'Cancel turn';
  });

  return {
    element: form,
    render() {
      const open = openSession(store);
      form.hidden =
        store.hello?.controls !== true ||
        store.past !== undefined ||
        open === undefined ||
        store.connection !== 'live';
      fill(target, open === undefined ? '' : `Speak to ${open.name}`);
    },
  };
}

/** The session of the selection, while a turn of it is open. */
function openSession(store: Store): ActorNode | undefined {
  const session = [...ancestry(store.model, store.selected)].find(({ kind }) => kind === 'session');
  return session !== undefined && (session.tone === 'busy' || session.tone === 'waiting')
    ? session
    : undefined;
}
