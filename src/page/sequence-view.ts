import { el, fill, svg } from './dom.ts';
import { count, formatTime } from './format.ts';
import { type Arrow, type Lifeline, OUTSIDE, sequenceOf } from './sequence.ts';
import type { Store } from './store.ts';
import type { View } from './view.ts';

const MAX_COLUMN = 168;
const MIN_COLUMN = 112;
const ROW = 30;
const HEAD = 46;
const LEFT = 96;

/** Who spoke to whom in the run, from above to below. */
export function createSequenceView(store: Store): View {
  const canvas = el('div', {
    class: 'sequence-canvas',
    tabindex: '0',
    role: 'region',
    'aria-label': 'Sequence',
  });
  const note = el('p', { class: 'muted' });
  let painted = '';
  return {
    element: el(
      'div',
      { class: 'view sequence-view' },
      el('div', { class: 'view-head' }, el('h2', { class: 'view-title' }, 'Sequence'), note),
      canvas,
    ),
    render() {
      const cursor = store.past?.cursor ?? Number.POSITIVE_INFINITY;
      const events = store.runEvents().filter((event) => (event.cursor ?? 0) <= cursor);
      const focus = store.selectedNode?.session;
      const key = `${events.length} ${events.at(-1)?.id} ${focus} ${canvas.clientWidth}`;
      if (key === painted) return;
      painted = key;
      const { lifelines, arrows, leftOut } = sequenceOf(events, focus);
      const left = leftOut > 0 ? `; ${count(leftOut, 'agent')} further away left out` : '';
      fill(
        note,
        arrows.length === 0 ? 'Nobody has spoken yet.' : `${count(arrows.length, 'message')}${left}`,
      );
      fill(canvas, arrows.length > 0 && draw(lifelines, arrows, { store, room: canvas.clientWidth }));
    },
  };
}

function draw(
  lifelines: readonly Lifeline[],
  arrows: readonly Arrow[],
  { store, room }: { store: Store; room: number },
): SVGElement {
  const space = (room - LEFT - 24) / Math.max(1, lifelines.length);
  const column = Math.max(MIN_COLUMN, Math.min(MAX_COLUMN, space));
  const width = LEFT + lifelines.length * column;
  const height = HEAD + (arrows.length + 1) * ROW;
  const place = new Map(lifelines.map(({ id }, index) => [id, LEFT + (index + 0.5) * column]));
  const focus = store.selectedNode?.session;
  return svg(
    'svg',
    {
      class: 'sequence',
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-label': 'Messages between agents, oldest first',
    },
    svg('defs', {}, ...['ask', 'bad'].map(arrowHead)),
    ...lifelines.map((lifeline) =>
      drawLifeline(lifeline, {
        x: place.get(lifeline.id) ?? 0,
        height,
        column,
        isFocus: lifeline.id === focus,
        store,
      }),
    ),
    ...arrows.map((arrow, index) => drawArrow(arrow, { place, y: HEAD + (index + 1) * ROW, store })),
  );
}

function arrowHead(kind: string): SVGElement {
  return svg(
    'marker',
    {
      id: `seq-${kind}`,
      class: `seq-head is-${kind}`,
      viewBox: '0 0 10 10',
      markerWidth: 7,
      markerHeight: 7,
      refX: 9,
      refY: 5,
      orient: 'auto',
      markerUnits: 'userSpaceOnUse',
    },
    svg('path', { d: 'M0 1 9 5 0 9Z' }),
  );
}

function drawLifeline(
  { id, name }: Lifeline,
  {
    x,
    height,
    column,
    isFocus,
    store,
  }: { x: number; height: number; column: number; isFocus: boolean; store: Store },
): SVGElement {
  const most = Math.floor((column - 20) / 7);
  const short = name.length > most ? `${name.slice(0, most - 1)}…` : name;
  const group = svg(
    'g',
    { class: `lifeline${isFocus ? ' is-focus' : ''}${id === OUTSIDE ? ' is-outside' : ''}`, 'data-id': id },
    svg('title', {}, name),
    svg('line', { x1: x, x2: x, y1: HEAD - 8, y2: height - 6 }),
    svg('rect', { x: x - column / 2 + 6, y: 6, width: column - 12, height: 30, rx: 7 }),
    svg('text', { x, y: 25, 'text-anchor': 'middle' }, short),
  );
  if (id !== OUTSIDE) group.addEventListener('click', () => store.select(id));
  return group;
}

function drawArrow(
  { from, to, label, kind, isBad, event }: Arrow,
  { place, y, store }: { place: ReadonlyMap<string, number>; y: number; store: Store },
): SVGElement {
  const start = place.get(from) ?? 0;
  const end = place.get(to) ?? 0;
  const isSelf = from === to;
  const tip = end > start ? end - 3 : end + 3;
  const path = isSelf ? `M${start} ${y - 6}h34v12h-30` : `M${start} ${y}H${tip}`;
  const middle = isSelf ? start + 42 : (start + end) / 2;
  const group = svg(
    'g',
    { class: `arrow is-${kind}${isBad ? ' is-bad' : ''}`, 'data-type': event.type },
    svg('title', {}, `${event.type} ${formatTime(Date.parse(event.ts))}`),
    svg('text', { class: 'arrow-time', x: 8, y: y + 4 }, formatTime(Date.parse(event.ts))),
    svg('path', { d: path, 'marker-end': `url(#seq-${isBad ? 'bad' : 'ask'})` }),
    svg(
      'text',
      { x: middle, y: y - 5, 'text-anchor': isSelf ? 'start' : 'middle' },
      label.length > 40 ? `${label.slice(0, 39)}…` : label,
    ),
  );
  group.addEventListener('click', () => store.goTo(event.cursor));
  return group;
}
