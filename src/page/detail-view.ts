import { fetchSaid, type Said } from './api.ts';
import { el, fill } from './dom.ts';
import { failureWords } from './failure-words.ts';
import { count, formatCount, formatElapsed, formatTime, formatUsd } from './format.ts';
import type { ActorNode } from './nodes.ts';
import { refusalWords } from './refusal-words.ts';
import type { Store } from './store.ts';
import type { View } from './view.ts';

const KIND_WORDS: Readonly<Record<ActorNode['kind'], string>> = {
  session: 'Agent',
  turn: 'Turn',
  step: 'Step',
  call: 'Tool call',
  node: 'Graph node',
};

/** What is known about the selected row. */
export function createDetailView(store: Store): View {
  const element = el('section', { class: 'details', 'aria-label': 'Details' });
  const said = createSaid(store);
  let painted = '';
  return {
    element,
    render() {
      const node = store.selectedNode;
      const isGoing = node !== undefined && (node.tone === 'busy' || node.tone === 'waiting');
      const clock = isGoing && store.past === undefined ? Math.floor(store.now() / 1_000) : 0;
      const words = said(node);
      const key = `${node?.id} ${node?.state} ${words === undefined} ${store.past?.cursor} ${store.model.events} ${store.machineState(node?.id ?? '')} ${clock}`;
      if (key === painted) return;
      painted = key;
      if (node === undefined) fill(element, el('p', { class: 'muted' }, 'Nothing is selected.'));
      else fill(element, ...draw(node, store), ...saidBlocks(words));
    },
  };
}

/** Knows what was said in the selected step, as soon as the server has answered. */
function createSaid(store: Store): (node: ActorNode | undefined) => Said | undefined {
  let asked: string | undefined;
  let answer: Said | undefined;
  return (node) => {
    // What is being said has no end yet.
    const isOver = node?.kind === 'step' && node.tone !== 'busy';
    const step = isOver ? node.id : undefined;
    if (step === asked) return answer;
    asked = step;
    answer = undefined;
    if (step === undefined) return undefined;
    fetchSaid(step).then(
      (said) => {
        if (asked !== step) return;
        answer = said;
        store.changed();
      },
      () => undefined,
    );
    return undefined;
  };
}

function saidBlocks(said: Said | undefined): readonly (HTMLElement | false)[] {
  const { text = '', reasoning = '' } = said ?? {};
  return [text !== '' && block('Answer', text), reasoning !== '' && block('Thinking', reasoning)];
}

function draw(node: ActorNode, store: Store): readonly (HTMLElement | false)[] {
  return [
    el(
      'header',
      { class: 'detail-head' },
      el('p', { class: 'eyebrow' }, KIND_WORDS[node.kind]),
      el('h2', {}, node.name),
      el('p', { class: `badge tone-${node.tone}`, 'data-state': node.state }, node.state),
    ),
    el(
      'dl',
      { class: 'facts' },
      ...factsOf(node, store).flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
    ),
    node.facts.refusal !== undefined && refusalBlock(node, node.facts.refusal),
    node.facts.refusal === undefined && node.reason !== undefined && whyBlock(node, node.reason),
    (node.facts.notes ?? []).length > 0 &&
      el(
        'div',
        { class: 'block' },
        el('h3', {}, 'Notes'),
        el('ul', {}, ...(node.facts.notes ?? []).map((words) => el('li', {}, words))),
      ),
    node.facts.input !== undefined && block('Input', inputText(node.facts.input)),
    node.facts.args !== undefined && block('Arguments', JSON.stringify(node.facts.args, undefined, 2)),
    node.facts.result !== undefined && block('Result', resultText(node.facts.result)),
    node.kind === 'call' &&
      node.facts.args === undefined &&
      store.hello?.content === false &&
      el('p', { class: 'hint' }, 'Arguments and results are left out: the page was started without content.'),
  ];
}

type Fact = readonly [name: string, value: string | HTMLElement];

function factsOf(node: ActorNode, store: Store): readonly Fact[] {
  const { facts, spent, startedAt, endedAt } = node;
  const machine = store.machineState(node.id);
  const end = endedAt ?? (node.tone === 'busy' || node.tone === 'waiting' ? store.now() : undefined);
  const tokens = spent.inputTokens + spent.outputTokens;
  const some: readonly (Fact | false)[] = [
    ['Id', el('code', {}, node.id)],
    machine !== undefined && (['Machine is in', machine] as const),
    ['Began', formatTime(startedAt)],
    end !== undefined && (['Took', formatElapsed(Math.max(0, end - startedAt))] as const),
    node.kind === 'session' && (['Agents', String(node.agents)] as const),
    tokens > 0 &&
      (['Tokens', `${formatCount(spent.inputTokens)} in, ${formatCount(spent.outputTokens)} out`] as const),
    spent.costUsd > 0 && (['Cost', formatUsd(spent.costUsd)] as const),
    facts.finish !== undefined && (['Finish', facts.finish] as const),
    facts.attempt !== undefined && facts.attempt > 1 && (['Attempt', String(facts.attempt)] as const),
    facts.visible !== undefined &&
      ([
        'Tools',
        `${count(facts.visible.length, 'tool')}, ${formatCount(facts.schemaChars ?? 0)} characters`,
      ] as const),
    facts.requestedName !== undefined &&
      facts.requestedName !== node.name &&
      (['Model wrote', facts.requestedName] as const),
    facts.origin !== undefined && (['Forked from', originLink(facts.origin, store)] as const),
  ];
  return some.filter((fact) => fact !== false);
}

function originLink(
  { session, seq }: { readonly session: string; readonly seq: number },
  store: Store,
): HTMLElement {
  return el('button', { class: 'link', onclick: () => store.select(session) }, `${session}, fact ${seq}`);
}

function whyBlock(node: ActorNode, reason: string): HTMLElement {
  const words = node.facts.failure === undefined ? undefined : failureWords(node.facts.failure);
  return el(
    'div',
    { class: `block${node.tone === 'bad' ? ' is-bad' : ''}` },
    el('h3', {}, 'Why'),
    words !== undefined && el('p', {}, words),
    el('pre', { tabindex: '0' }, reason),
  );
}

function refusalBlock(node: ActorNode, code: string): HTMLElement {
  return el(
    'div',
    { class: 'block is-bad', 'data-code': code },
    el('h3', {}, 'Why it was refused'),
    el('p', {}, el('code', {}, code)),
    el('p', {}, refusalWords(code)),
    node.reason !== undefined && node.reason !== code && el('pre', { tabindex: '0' }, node.reason),
  );
}

function block(title: string, text: string): HTMLElement {
  return el('div', { class: 'block' }, el('h3', {}, title), el('pre', { tabindex: '0' }, text));
}

/** What a person gave a turn: its texts, and what else there was by its kind. */
function inputText(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  return parts.map(({ type, text }) => text ?? `[${type}]`).join('\n');
}

/** What the model was given, as text where it is text. */
function resultText(output: unknown): string {
  if (typeof output === 'object' && output !== null && 'text' in output && typeof output.text === 'string') {
    return output.text;
  }
  return JSON.stringify(output, undefined, 2);
}
