import { fetchPath } from './api.ts';
import type { ChartLayout, ChartMove, ChartState } from './chart-layout.ts';
import { el, fill, svg } from './dom.ts';
import { formatTime } from './format.ts';
import type { ActorNode } from './nodes.ts';
import type { Store } from './store.ts';
import type { Move } from './stream-client.ts';
import type { View } from './view.ts';

const CHART_OF: Readonly<Record<string, string>> = {
  session: 'agent',
  turn: 'turn',
  step: 'step',
  call: 'tool-call',
};

/** What a path says of a machine. */
interface Path {
  readonly moves: readonly Move[];
  readonly state: string | undefined;
}

/** The statechart of what is selected: the active state lit, and the way it took marked. */
export function createChartView(store: Store): View {
  const canvas = el('div', {
    class: 'chart-canvas',
    tabindex: '0',
    role: 'region',
    'aria-label': 'Statechart',
  });
  const steps = el('ol', { class: 'path', tabindex: '0', 'aria-label': 'Path' });
  const pathPane = el('div', { class: 'path-pane' }, el('h3', {}, 'Path'), steps);
  const title = el('h2', { class: 'view-title' });
  const about = el('p', { class: 'muted chart-about' });
  const paths = createPaths(store);
  let drawn: SVGSVGElement | undefined;
  let drawnKind: string | undefined;
  let painted = '';

  return {
    element: el(
      'div',
      { class: 'view chart-view' },
      el('div', { class: 'view-head' }, title, about),
      el('div', { class: 'chart-body' }, canvas, pathPane),
    ),
    render() {
      const node = store.selectedNode;
      const machine = machineOf(store, node);
      const layout = machine?.layout;
      pathPane.hidden = layout === undefined;
      if (node === undefined || machine === undefined || layout === undefined) {
        fill(title, node === undefined ? 'Nothing selected' : node.name);
        fill(about, node === undefined ? 'Choose an agent, turn, step or call in the tree.' : '');
        fill(canvas);
        fill(steps);
        drawnKind = undefined;
        painted = '';
        return;
      }
      if (drawnKind !== layout.id) {
        drawn = drawChart(layout);
        fill(canvas, drawn);
        drawnKind = layout.id;
        painted = '';
      }
      const path = paths.of(node, machine.instance);
      const key = `${machine.instance} ${node.name} ${path.state} ${path.moves.length} ${store.past?.cursor}`;
      if (key === painted || drawn === undefined) return;
      painted = key;
      canvas.dataset['instance'] = machine.instance;
      fill(title, node.name, ' ', el('span', { class: 'muted' }, layout.id));
      fill(about, layout.states.find(({ name }) => name === path.state)?.description ?? layout.description);
      paint(drawn, path);
      fill(steps, ...path.moves.map((move, index) => stepLine(move, index === path.moves.length - 1)));
      steps.lastElementChild?.scrollIntoView({ block: 'nearest' });
    },
  };
}

/** The machine that a row is about. */
interface ShownMachine {
  readonly instance: string;
  readonly layout: ChartLayout;
}

/** A work of a graph has no machine of its own: it is one that looks after all of them. */
function machineOf(store: Store, node: ActorNode | undefined): ShownMachine | undefined {
  if (node === undefined) return undefined;
  const isGraph = store.model.nodes.get(node.session)?.facts.isGraph === true;
  const ofGraph = node.kind === 'node' || (isGraph && node.kind === 'turn');
  const kind = ofGraph ? 'graph-supervisor' : CHART_OF[node.kind];
  const layout = store.charts.find(({ id }) => id === kind);
  if (layout === undefined) return undefined;
  if (node.kind !== 'node') return { instance: node.id, layout };
  const turn = node.events.at(-1)?.turn ?? `${node.session}.1`;
  return { instance: isGraph ? turn : `${node.session}.graph`, layout };
}

/** Paths as they were seen live, else as the server finds them in the ledger. */
function createPaths(store: Store): { of(node: ActorNode, id: string): Path } {
  let asked = '';
  let answer: readonly Move[] = [];
  return {
    of(node, id) {
      const live = store.movesOf(id);
      const isWhole = store.past === undefined && live[0]?.from === '(start)';
      if (isWhole) return pathOf(live, store.machineState(id));
      const seq = store.past === undefined ? undefined : lastSeq(store, node.session);
      // A machine that lives here has moved on since it was asked for; facts say when the others did.
      const key = `${id} ${seq ?? `live ${node.state} ${node.events.length} ${live.length}`}`;
      if (key !== asked) {
        const isOther = !asked.startsWith(`${id} `);
        asked = key;
        if (isOther) answer = [];
        fetchPath(id, seq).then(
          (moves) => {
            if (asked !== key) return;
            answer = moves;
            store.changed();
          },
          () => undefined,
        );
      }
      return pathOf(answer, store.machineState(id));
    },
  };
}

/** A forged or half-known path still has an end; what is known to be live says more. */
function pathOf(moves: readonly Move[], live: string | undefined): Path {
  return { moves: moves.filter(({ illegal }) => illegal !== true), state: live ?? moves.at(-1)?.to };
}

/** Sequence of the last event of a session that had happened. */
function lastSeq(store: Store, session: string): number {
  const cursor = store.past?.cursor ?? 0;
  const last = store.events.findLast((event) => event.session === session && (event.cursor ?? 0) <= cursor);
  return last?.seq ?? 0;
}

function drawChart(layout: ChartLayout): SVGSVGElement {
  const { width, height } = layout;
  const chart = svg(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      class: 'chart',
      role: 'img',
      'aria-label': `Statechart of a ${layout.id}`,
    },
    svg('defs', {}, arrowHead('arrow', 'arrow-head'), arrowHead('arrow-taken', 'arrow-head is-taken')),
    svg('g', { class: 'moves' }, ...layout.moves.filter(({ points }) => points.length > 0).map(drawMove)),
    svg('g', { class: 'states' }, ...layout.states.map(drawState)),
    // On top of all, so that no state covers what led to it.
    svg('g', { class: 'labels' }, ...layout.moves.filter(({ points }) => points.length > 0).map(drawLabel)),
  );
  for (const state of chart.querySelectorAll<SVGGElement>('.chart-state')) {
    state.addEventListener('pointerenter', () => showWaysFrom(chart, state.dataset['state']));
    state.addEventListener('pointerleave', () => showWaysFrom(chart, undefined));
  }
  return chart;
}

/** Points out every way that leaves a state, those off the usual one too. */
function showWaysFrom(chart: SVGSVGElement, state: string | undefined): void {
  for (const move of chart.querySelectorAll<SVGGElement>('.move')) {
    move.classList.toggle('is-shown', move.dataset['from'] === state);
  }
}

function arrowHead(id: string, className: string): SVGElement {
  const size = { markerWidth: 7, markerHeight: 7, refX: 8.5, refY: 5 };
  return svg(
    'marker',
    {
      id,
      class: className,
      viewBox: '0 0 10 10',
      ...size,
      orient: 'auto-start-reverse',
      markerUnits: 'userSpaceOnUse',
    },
    svg('path', { d: 'M0 1 9 5 0 9Z' }),
  );
}

function drawMove({ from, to, events, points, isSide }: ChartMove): SVGElement {
  return svg(
    'g',
    { class: `move${isSide ? ' is-side' : ''}`, 'data-from': from, 'data-to': to },
    svg('title', {}, `${from} to ${to}: ${events.join(', ')}`),
    svg('path', { d: curve(points), 'marker-end': 'url(#arrow)' }),
  );
}

/** Where the event of a move stands when it was taken. */
function drawLabel({ from, to, label: [x, y] }: ChartMove): SVGElement {
  return svg('text', { class: 'move-label', 'data-move': `${from} ${to}`, x, y, 'text-anchor': 'middle' });
}

/** A line through all points that bends softly. */
function curve(points: ChartMove['points']): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  let d = `M${first[0]} ${first[1]}`;
  rest.forEach(([x, y], index) => {
    const next = rest[index + 1];
    if (next === undefined) d += `L${x} ${y}`;
    else d += `Q${x} ${y} ${(x + next[0]) / 2} ${(y + next[1]) / 2}`;
  });
  return d;
}

function drawState(state: ChartState): SVGElement {
  const { name, x, y, width, height, isFinal, isInitial, tags, timers, description } = state;
  const timer = timers.map(({ from, sends }) => `timer ${from}, then ${sends}`).join('; ');
  const kind = `${isFinal ? ' is-final' : ''}${tags.includes('waiting') ? ' is-waiting' : ''}`;
  return svg(
    'g',
    { class: `chart-state${kind}`, 'data-state': name },
    svg('title', {}, [name, description, timer].filter((words) => words !== '').join('\n')),
    svg('rect', { x, y, width, height, rx: isFinal ? height / 2 : 7 }),
    isInitial && svg('circle', { class: 'initial', cx: x - 7, cy: y + height / 2, r: 3.5 }),
    svg('text', { x: x + width / 2, y: y + height / 2 + 4, 'text-anchor': 'middle' }, name),
    timers.length > 0 && svg('path', { class: 'timer', d: timerSign(x + width - 11, y + 9) }),
  );
}

/** A small clock: a state that a timer leaves. */
function timerSign(x: number, y: number): string {
  return `M${x - 4} ${y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0M${x} ${y - 2.2}V${y}L${x + 1.8} ${y + 1}`;
}

function paint(chart: SVGSVGElement, { moves, state }: Path): void {
  const visited = new Set(moves.map(({ to }) => to));
  for (const group of chart.querySelectorAll<SVGGElement>('.chart-state')) {
    const name = group.dataset['state'];
    group.classList.toggle('is-active', name === state);
    group.classList.toggle('is-visited', name !== undefined && visited.has(name));
  }
  const taken = new Map<string, string[]>();
  for (const { from, to, event } of moves) {
    if (from !== to) taken.set(`${from} ${to}`, [...(taken.get(`${from} ${to}`) ?? []), event]);
  }
  for (const group of chart.querySelectorAll<SVGGElement>('.move')) {
    const events = taken.get(`${group.dataset['from']} ${group.dataset['to']}`);
    group.classList.toggle('is-taken', events !== undefined);
    group
      .querySelector('path')
      ?.setAttribute('marker-end', `url(#arrow${events === undefined ? '' : '-taken'})`);
    // Lines that were taken lie above those that were not.
    if (events !== undefined) group.parentElement?.append(group);
  }
  for (const label of chart.querySelectorAll<SVGTextElement>('.move-label')) {
    const events = taken.get(label.dataset['move'] ?? '');
    fill(label, events === undefined ? '' : takenLabel(events));
  }
}

function takenLabel(events: readonly string[]): string {
  const [event = ''] = events;
  return events.length > 1 ? `${event} ×${events.length}` : event;
}

function stepLine({ at, event, from, to, fault }: Move, isLast: boolean): HTMLElement {
  return el(
    'li',
    { class: isLast ? 'is-last' : undefined, 'data-to': to },
    el('span', { class: 'path-event' }, event),
    el('span', { class: 'path-to' }, from === to ? 'stays' : `→ ${to}`, fault === true && ' (fault)'),
    el('span', { class: 'path-time' }, formatTime(at)),
  );
}
