import { decide, fetchPending, type PendingRequest } from './api.ts';
import { el, fill } from './dom.ts';
import { count, formatElapsed } from './format.ts';
import type { Store } from './store.ts';
import type { View } from './view.ts';

/** Least time between two questions for what waits. */
const PAUSE_MS = 250;

/** What waits for a person, and the answers to it. */
export function createApprovalsView(store: Store): View & { refresh(): void } {
  const element = el('section', {
    class: 'approvals',
    'aria-label': 'Waiting for you',
    'aria-live': 'polite',
  });
  let painted = '';
  const ask = createQuestion(store);
  return {
    element,
    refresh: () => void ask(),
    render() {
      const { pending, hello } = store;
      // Drawn anew only when there is something new: a person may be writing a reason.
      const key = `${pending.map(({ id, argsHash, doubt }) => `${id} ${argsHash} ${doubt}`).join(' ')} ${hello?.controls} ${store.connection}`;
      if (key === painted) return;
      painted = key;
      element.hidden = pending.length === 0;
      const isReadOnly = hello?.controls !== true;
      fill(
        element,
        el(
          'h2',
          {},
          pending.length === 1
            ? 'One call waits for a person'
            : `${count(pending.length, 'call')} wait for a person`,
        ),
        isReadOnly &&
          el('p', { class: 'hint' }, 'This page only looks. Enter its token (Unlock, above) to decide here.'),
        ...pending.slice(0, 20).map((request) => card(request, store, isReadOnly)),
        pending.length > 20 && el('p', { class: 'hint' }, `and ${pending.length - 20} more`),
      );
    },
  };
}

/** Asks what waits, one question at a time: the answer costs the server a look at every open session. */
function createQuestion(store: Store): () => Promise<void> {
  let isAsking = false;
  let isAskedAgain = false;
  return async () => {
    isAskedAgain = true;
    if (isAsking) return;
    isAsking = true;
    while (isAskedAgain) {
      isAskedAgain = false;
      try {
        store.pending = await fetchPending();
        store.changed();
      } catch {
        // The connection says in its own place that it is lost; with the next one it is asked again.
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    isAsking = false;
  };
}

const DOUBTS = {
  absent: 'The arguments were not published here: look at them where the agent runs.',
  masked: 'Parts of the arguments are masked here, so they could not be checked.',
  different:
    'These are not the arguments that the call waits with: somebody else wrote them. Do not approve.',
} as const;

function card(request: PendingRequest, store: Store, isReadOnly: boolean): HTMLElement {
  const { id, toolName, agentPath, input, doubt, argsHash, question, kind, expiresAt, callId } = request;
  const isQuestion = kind === 'question';
  const words = el('input', {
    type: 'text',
    class: 'reason',
    'aria-label': isQuestion ? 'Answer' : 'Reason',
    placeholder: isQuestion ? 'Your answer' : 'Reason, if you deny it',
  });
  const answer = async (decision: 'approve' | 'deny') => {
    const text = words.value.trim();
    const isAnswer = isQuestion && decision === 'approve';
    const said = text === '' ? {} : isAnswer ? { answer: text } : { reason: text };
    try {
      await decide({ id, decision, ...said, ...(argsHash === undefined ? {} : { argsHash }) });
      store.say(`${toolName}: ${decision === 'approve' ? 'approved' : 'denied'}`);
    } catch (error) {
      store.say(error instanceof Error ? error.message : String(error), true);
    }
  };
  return el(
    'article',
    { class: 'approval', 'data-request': id },
    el(
      'header',
      {},
      el('button', { class: 'link', onclick: () => store.select(callId) }, toolName),
      el('span', { class: 'muted' }, agentPath.join(' › ')),
    ),
    question !== undefined && el('p', { class: 'question' }, question),
    input !== undefined &&
      el('pre', { tabindex: '0', 'aria-label': 'Arguments' }, JSON.stringify(input, undefined, 2)),
    doubt !== undefined &&
      el('p', { class: `doubt${doubt === 'different' ? ' is-bad' : ''}` }, DOUBTS[doubt]),
    expiresAt !== undefined &&
      el('p', { class: 'muted' }, `expires in ${formatElapsed(expiresAt - store.now())}`),
    !isReadOnly &&
      el(
        'div',
        { class: 'decision' },
        words,
        el(
          'button',
          {
            class: 'primary',
            disabled: doubt === 'different',
            onclick: () => void answer('approve'),
          },
          isQuestion ? 'Answer' : 'Approve',
        ),
        el('button', { class: 'danger', onclick: () => void answer('deny') }, 'Deny'),
      ),
  );
}
