import { el, fill } from './dom.ts';
import { count, formatCount } from './format.ts';
import { ancestry, shortName } from './node-tree.ts';
import type { ActorNode, SearchFacts } from './nodes.ts';
import { refusalWords } from './refusal-words.ts';
import type { Store } from './store.ts';
import type { View } from './view.ts';

/** What the steps of a turn could see, what was searched for and found, and which calls were refused. */
export function createToolsView(store: Store): View {
  const body = el('div', {
    class: 'tools-body',
    tabindex: '0',
    role: 'region',
    'aria-label': 'Tools of each step',
  });
  const note = el('p', { class: 'muted' });
  let painted = '';
  return {
    element: el(
      'div',
      { class: 'view tools-view' },
      el('div', { class: 'view-head' }, el('h2', { class: 'view-title' }, 'Tools'), note),
      body,
    ),
    render() {
      const steps = stepsOf(store);
      const chosen = stepOf(store)?.id;
      const key = `${store.selected} ${store.past?.cursor} ${steps.length} ${store.model.events}`;
      if (key === painted) return;
      painted = key;
      const most = Math.max(1, ...steps.map(({ facts }) => facts.schemaChars ?? 0));
      fill(
        note,
        steps.length === 0
          ? 'No step has begun yet.'
          : 'What each request offered to the model, and its size in characters of schema. Filled: the model called it.',
      );
      fill(body, ...steps.map((step) => drawStep(step, { store, most, isChosen: step.id === chosen })));
      body.querySelector('.is-chosen')?.scrollIntoView({ block: 'nearest' });
    },
  };
}

function stepOf(store: Store): ActorNode | undefined {
  return [...ancestry(store.model, store.selected)].find(({ kind }) => kind === 'step');
}

/** Steps of the turn that the selection is part of, or of the last turn of the session. */
function stepsOf(store: Store): readonly ActorNode[] {
  const { model } = store;
  const above = [...ancestry(model, store.selected)];
  const session = above.find(({ kind }) => kind === 'session');
  const turns = session?.children.map((id) => model.nodes.get(id)).filter((node) => node?.kind === 'turn');
  const turn =
    above.find(({ kind }) => kind === 'turn' || kind === 'session')?.kind === 'turn'
      ? above.find(({ kind }) => kind === 'turn')
      : turns?.at(-1);
  return childrenOf(store, turn, 'step');
}

function childrenOf(
  store: Store,
  node: ActorNode | undefined,
  kind: ActorNode['kind'],
): readonly ActorNode[] {
  return (node?.children ?? []).flatMap((id) => {
    const child = store.model.nodes.get(id);
    return child?.kind === kind ? [child] : [];
  });
}

interface StepDrawing {
  readonly store: Store;
  readonly most: number;
  readonly isChosen: boolean;
}

function drawStep(step: ActorNode, { store, most, isChosen }: StepDrawing): HTMLElement {
  const { visible = [], active = [], schemaChars = 0, searches = [], toolsChange } = step.facts;
  const called = new Set(childrenOf(store, step, 'call').map(({ name }) => name));
  const refused = childrenOf(store, step, 'call').filter(({ facts }) => facts.refusal !== undefined);
  const bar = el('span', { class: 'bar' });
  bar.style.width = `${Math.max(1, Math.round((schemaChars / most) * 100))}%`;
  return el(
    'section',
    { class: `tool-step${isChosen ? ' is-chosen' : ''}`, 'data-step': step.facts.index },
    el(
      'header',
      {},
      el('button', { class: 'link', onclick: () => store.select(step.id) }, step.name),
      el(
        'span',
        { class: 'muted' },
        `${count(visible.length, 'tool')}, ${formatCount(schemaChars)} characters`,
      ),
      el('span', { class: 'bar-space', title: `${schemaChars} characters of schema` }, bar),
    ),
    toolsChange !== undefined && el('p', { class: 'hint' }, changeWords(toolsChange)),
    el(
      'ul',
      { class: 'tool-names', 'aria-label': `Visible in ${step.name}` },
      ...visible.map((name) =>
        toolName(name, { isFound: active.includes(name), isCalled: called.has(name) }),
      ),
    ),
    ...searches.map(drawSearch),
    ...refused.map((call) => drawRefusal(call, visible, store)),
  );
}

function changeWords(change: string): string {
  return change === 'activation_cleared'
    ? 'A new turn began: the tools found before are hidden again.'
    : 'The tools are not those of the request before: some were found or changed.';
}

function toolName(name: string, { isFound, isCalled }: { isFound: boolean; isCalled: boolean }): HTMLElement {
  const words = [isFound && 'found in this turn', isCalled && 'called'].filter((word) => word !== false);
  return el(
    'li',
    {
      class: `tool${isFound ? ' is-found' : ''}${isCalled ? ' is-called' : ''}`,
      title: words.join(', ') || undefined,
    },
    shortName(name),
    isFound && el('span', { class: 'tool-mark' }, 'found'),
  );
}

function drawSearch(search: SearchFacts): HTMLElement {
  const { query, ranked, activated, alreadyActive, omitted, schemaChars } = search;
  return el(
    'div',
    { class: 'search-facts' },
    el('h3', {}, 'Search', query !== undefined && el('q', {}, query)),
    ranked.length === 0
      ? el('p', { class: 'hint' }, 'Nothing matched.')
      : el(
          'ol',
          {},
          ...ranked
            .slice(0, 20)
            .map((name) =>
              el(
                'li',
                {},
                el('span', { class: 'tool-ranked' }, shortName(name)),
                el('span', { class: 'muted' }, becameOf(name, activated, alreadyActive)),
              ),
            ),
        ),
    el('p', { class: 'muted' }, `${formatCount(schemaChars)} characters shown, ${omitted} left out`),
  );
}

function becameOf(name: string, activated: readonly string[], alreadyActive: readonly string[]): string {
  if (activated.includes(name)) return 'became visible';
  return alreadyActive.includes(name) ? 'was visible' : 'left out';
}

function drawRefusal(call: ActorNode, visible: readonly string[], store: Store): HTMLElement {
  const { refusal = '', requestedName } = call.facts;
  const wasVisible = visible.includes(call.name);
  return el(
    'div',
    { class: 'refusal', 'data-code': refusal },
    el(
      'h3',
      {},
      'Refused: ',
      el('button', { class: 'link', onclick: () => store.select(call.id) }, call.name),
      el('code', {}, refusal),
    ),
    el('p', {}, refusalWords(refusal)),
    el(
      'p',
      { class: 'muted' },
      wasVisible ? 'It was visible in this step.' : 'It was not visible in this step.',
      requestedName !== undefined && requestedName !== call.name && ` The model wrote ${requestedName}.`,
    ),
    call.reason !== undefined && call.reason !== refusal && el('pre', { tabindex: '0' }, call.reason),
  );
}
