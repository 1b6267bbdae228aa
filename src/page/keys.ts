import { el } from './dom.ts';

/** A key and what it does. */
export interface KeyAction {
  readonly key: string;
  readonly does: string;
  run(): void;
}

/** Keys that work wherever nothing is being written. */
export function listenToKeys(actions: readonly KeyAction[]): void {
  document.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    // What has the focus is an element.
    const target = event.target as Element;
    if (target.closest('input:not([type=range]), textarea, select, dialog') !== null) return;
    const action = actions.find(({ key }) => key === event.key);
    if (action === undefined) return;
    event.preventDefault();
    action.run();
  });
}

/** The list of keys, as a dialog. */
export function createKeysDialog(actions: readonly KeyAction[]): HTMLDialogElement {
  const rows = [
    ['↑ ↓ ← →', 'move in the tree, open and close'] as const,
    ...actions.map(({ key, does }) => [key, does] as const),
  ];
  const dialog = el(
    'dialog',
    { class: 'keys', 'aria-label': 'Keys' },
    el('h2', {}, 'Keys'),
    el('dl', {}, ...rows.flatMap(([key, does]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, does)])),
    el('form', { method: 'dialog' }, el('button', { class: 'chip' }, 'Close')),
  );
  return dialog;
}
