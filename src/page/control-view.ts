import { cancel, steer } from './api.ts';
import { el, fill } from './dom.ts';
import { ancestry } from './node-tree.ts';
import type { ActorNode } from './nodes.ts';
import type { Store } from './store.ts';
import type { View } from './view.ts';

/** Steering and stopping the turn under way of the selected agent. */
export function createControlView(store: Store): View {
  const run: Act = async (act, done) => {
    const id = openSession(store)?.id;
    if (id === undefined) return;
    try {
      await act(id);
      store.say(done);
    } catch (error) {
      store.say(error instanceof Error ? error.message : String(error), true);
    }
  };
  const target = el('h3', {});
  const form = steerForm(run, target);
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

/** Does something to the session of the selection, and says so once it is done. */
type Act = (act: (id: string) => Promise<void>, done: string) => Promise<void>;

function steerForm(run: Act, target: HTMLElement): HTMLFormElement {
  const text = el('textarea', {
    rows: 2,
    'aria-label': 'Steering text',
    placeholder: 'Tell the model something',
  });
  const send = el('button', { class: 'primary', type: 'submit' }, 'Steer');
  const buttons = el('div', { class: 'control-buttons' }, send, stopButton(run));
  const form = el('form', { class: 'control' }, target, text, buttons);
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
  return form;
}

/** Asks twice: it cannot be taken back. */
function stopButton(run: Act): HTMLElement {
  const stop = el('button', { class: 'danger', type: 'button' }, 'Cancel turn');
  let isArmed = false;
  const arm = (now: boolean) => {
    isArmed = now;
    stop.textContent = now ? 'Really cancel' : 'Cancel turn';
  };
  stop.addEventListener('click', () => {
    if (isArmed) void run(cancel, 'Told to stop');
    arm(!isArmed);
  });
  stop.addEventListener('blur', () => arm(false));
  return stop;
}

/** The session of the selection, while a turn of it is open. */
function openSession(store: Store): ActorNode | undefined {
  const session = [...ancestry(store.model, store.selected)].find(({ kind }) => kind === 'session');
  return session !== undefined && (session.tone === 'busy' || session.tone === 'waiting')
    ? session
    : undefined;
}
