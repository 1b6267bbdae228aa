import { writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import dagre from '@dagrejs/dagre';
import type { AnyStateMachine } from 'xstate';
import { allMachines } from '../machines/index.ts';
import type { ChartLayout, ChartMove, ChartState } from '../src/page/chart-layout.ts';

// Lays the machines out once, here, so that the page ships coordinates and no layout library. A test compares what
// this makes with the file it wrote.

const STATE_HEIGHT = 30;
const CHAR_WIDTH = 7;
const STATE_PADDING = 26;
const TIMER_WIDTH = 16;
const MARGIN = 14;

/** Events that take a machine off the way it goes when nothing is wrong. */
const SIDE_EVENTS = new Set([
  ...['PAUSED', 'RESUMED', 'CANCEL', 'INTERRUPT', 'ABORT', 'STOP', 'COMMIT_FAILED', 'BUDGET_EXHAUSTED'],
  ...['OUTCOME_LOST', 'TURN_BROKEN', 'TURN_CLOSED', 'OPEN_FAILED', 'PREPARE_FAILED', 'CAPTURE_FAILED'],
]);

/** Layouts of all machines as the page reads them. */
export function layoutCharts(): readonly ChartLayout[] {
  return Object.values(allMachines).map((machine) => layoutChart(machine as AnyStateMachine));
}

/** The text of the file that the page fetches. */
export function chartsText(): string {
  return `${JSON.stringify(layoutCharts(), undefined, 1)}\n`;
}

/** What of a graph is read here: its own types leave nodes and edges open. */
interface Graph {
  nodes(): readonly string[];
  node(name: string): Box;
  edges(): readonly { readonly v: string; readonly w: string }[];
  edge(edge: { readonly v: string; readonly w: string }): { readonly points: readonly Point[] } | undefined;
}

interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly events: string[];
  /** It leaves the way that goes well. */
  readonly isSide: boolean;
}

function layoutChart(machine: AnyStateMachine): ChartLayout {
  const names = Object.keys(machine.states);
  const arrows = arrowsOf(machine);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 26, ranksep: 42, edgesep: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const name of names) {
    // The sign of a timer stands beside the name.
    const hasTimer = (machine.states[name]?.meta?.timers ?? []).length > 0;
    const width = name.length * CHAR_WIDTH + STATE_PADDING + (hasTimer ? TIMER_WIDTH : 0);
    graph.setNode(name, { width, height: STATE_HEIGHT });
  }
  for (const { from, to } of laidOut(arrows, names)) graph.setEdge(from, to);
  dagre.layout(graph);
  const { shiftX, shiftY, width, height } = boundsOf(graph);
  const states = names.map((name) => {
    const { x, y, ...size } = graph.node(name);
    return stateOf(machine, name, { ...size, x: x + shiftX, y: y + shiftY });
  });
  const moves = arrows.map((arrow): ChartMove => {
    const { from, to, events, isSide } = arrow;
    const found: readonly Point[] = graph.edge(from, to)?.points ?? [];
    const points =
      isSide || found.length === 0 ? bow(states, arrow) : found.map(({ x, y }) => at(x + shiftX, y + shiftY));
    return { from, to, events, isSide, points: from === to ? [] : points, label: at(0, 0) };
  });
  const description = machine.root.description ?? '';
  const labelled = withLabels(moves, states);
  const right = Math.max(
    ...labelled.flatMap((move) =>
      move.isSide || move.points.length === 0 ? [] : [move.label[0] + labelWidth(move) / 2],
    ),
  );
  return {
    id: machine.id,
    description,
    // Labels may stand beside all that is laid out.
    width: Math.max(width, round(right)),
    height,
    states,
    moves: labelled,
    anywhere: anywhereOf(machine),
  };
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * Arrows that decide where states stand: the ways that go well, and one into each state that only others lead to. The
 * rest would pull the chart apart, and is drawn where somebody asks for it.
 */
function laidOut(arrows: readonly Arrow[], names: readonly string[]): readonly Arrow[] {
  const real = arrows.filter(({ from, to }) => from !== to);
  const main = real.filter(({ isSide }) => !isSide);
  const reached = new Set(main.map(({ to }) => to));
  const extra = names.flatMap((name) =>
    reached.has(name) ? [] : (real.findLast(({ to }) => to === name) ?? []),
  );
  return [...main, ...extra];
}

/** A bent line from the border of one state to that of another. */
function bow(states: readonly ChartState[], { from, to }: Arrow): ChartMove['points'] {
  const [start, end] = [from, to].map((name) => states.find((state) => state.name === name));
  if (start === undefined || end === undefined) throw new Error(`no state ${from} or ${to}`);
  const a = middleOf(start);
  const b = middleOf(end);
  const bend = { x: (a.x + b.x) / 2 - (b.y - a.y) * 0.18, y: (a.y + b.y) / 2 + (b.x - a.x) * 0.18 };
  const first = onBorder(start, bend);
  const last = onBorder(end, bend);
  return [at(first.x, first.y), at(bend.x, bend.y), at(last.x, last.y)];
}

function middleOf({ x, y, width, height }: ChartState): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

/** Where the line from the middle of a state to a point leaves its box. */
function onBorder(state: ChartState, towards: Point): Point {
  const { x, y } = middleOf(state);
  const [dx, dy] = [towards.x - x, towards.y - y];
  const scale = Math.min(
    dx === 0 ? Number.POSITIVE_INFINITY : state.width / 2 / Math.abs(dx),
    dy === 0 ? Number.POSITIVE_INFINITY : state.height / 2 / Math.abs(dy),
  );
  return { x: x + dx * scale, y: y + dy * scale };
}

function at(x: number, y: number): readonly [number, number] {
  return [round(x), round(y)];
}

/** Transitions between the same two states are one arrow: a chart of every event is a tangle. */
function arrowsOf(machine: AnyStateMachine): readonly Arrow[] {
  const arrows = new Map<string, Arrow>();
  for (const [from, state] of Object.entries(machine.states)) {
    for (const transition of [...state.transitions.values()].flat()) {
      const to = transition.target?.[0]?.key ?? from;
      const arrow = arrows.get(`${from} ${to}`) ?? { from, to, events: [], isSide: false };
      arrows.set(`${from} ${to}`, arrow);
      if (!arrow.events.includes(transition.eventType)) arrow.events.push(transition.eventType);
    }
  }
  const ways = anywhereOf(machine).map(({ to }) => to);
  return [...arrows.values()].map((arrow) => ({
    ...arrow,
    isSide: ways.includes(arrow.to) || arrow.events.every((event) => SIDE_EVENTS.has(event)),
  }));
}

/** Events that every state accepts. */
function anywhereOf(machine: AnyStateMachine): ChartLayout['anywhere'] {
  return [...machine.root.transitions.values()]
    .flat()
    .flatMap(({ eventType, target }) =>
      target?.[0] === undefined ? [] : [{ event: eventType, to: target[0].key }],
    );
}

function stateOf(
  machine: AnyStateMachine,
  name: string,
  { x, y, width, height }: { x: number; y: number; width: number; height: number },
): ChartState {
  const node = machine.states[name];
  if (node === undefined) throw new Error(`${machine.id} has no state ${name}`);
  return {
    name,
    description: node.description ?? '',
    tags: [...node.tags],
    isInitial: machine.root.initial.target[0] === node,
    isFinal: node.type === 'final',
    timers: node.meta?.timers ?? [],
    accepts: [...node.transitions.keys()],
    x: round(x - width / 2),
    y: round(y - height / 2),
    width: round(width),
    height: round(height),
  };
}

const LABEL_CHAR_WIDTH = 6.1;
const LABEL_HEIGHT = 12;
/** Room for `×12` behind the name. */
const LABEL_SPARE = 22;
/** Where on a line a label is tried, its middle first. */
const LABEL_PLACES = [0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78];

/** Gives each move a place for its longest event that covers no state and no other label, as far as there is one. */
function withLabels(moves: readonly ChartMove[], states: readonly ChartState[]): readonly ChartMove[] {
  const taken: Box[] = states.map(({ x, y, width, height }) => ({ x, y, width, height }));
  return moves.map((move) => {
    if (move.points.length === 0) return move;
    const width = labelWidth(move);
    const boxes = LABEL_PLACES.flatMap((place) => {
      const [x, y] = pointOn(move.points, place);
      return [0, width / 2 - 4, 4 - width / 2].map((shift): Box => {
        return { x: x + shift - width / 2, y: y - LABEL_HEIGHT / 2, width, height: LABEL_HEIGHT };
      });
    });
    const costs = boxes.map((box) => taken.reduce((sum, other) => sum + overlap(box, other), 0));
    const best = boxes[costs.indexOf(Math.min(...costs))];
    if (best === undefined) return move;
    // What is off the usual way is seldom drawn, and keeps no place free.
    if (!move.isSide) taken.push(best);
    return { ...move, label: at(best.x + width / 2, best.y + LABEL_HEIGHT - 3) };
  });
}

function labelWidth({ events }: ChartMove): number {
  return Math.max(...events.map(({ length }) => length)) * LABEL_CHAR_WIDTH + LABEL_SPARE;
}

/** The point at a share of the length of a line. */
function pointOn(points: ChartMove['points'], share: number): readonly [number, number] {
  const lengths = points.map(([x, y], index) => {
    const [px, py] = points[index - 1] ?? [x, y];
    return Math.hypot(x - px, y - py);
  });
  let rest = lengths.reduce((sum, length) => sum + length, 0) * share;
  for (const [index, [x, y]] of points.entries()) {
    const length = lengths[index] ?? 0;
    if (rest <= length && length > 0) {
      const [px, py] = points[index - 1] ?? [x, y];
      return [px + ((x - px) * rest) / length, py + ((y - py) * rest) / length];
    }
    rest -= length;
  }
  return points.at(-1) ?? [0, 0];
}

function overlap(a: Box, b: Box): number {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return Math.max(0, width) * Math.max(0, height);
}

/** The size of the drawing, and how far it has to be moved: edges may leave the box that the layout names. */
function boundsOf(graph: Graph) {
  const boxes = graph.nodes().map((name) => graph.node(name));
  const points: readonly Point[] = graph.edges().flatMap((edge) => graph.edge(edge)?.points ?? []);
  const left = Math.min(...boxes.map(({ x, width }) => x - width / 2), ...points.map(({ x }) => x));
  const top = Math.min(...boxes.map(({ y, height }) => y - height / 2), ...points.map(({ y }) => y));
  const right = Math.max(...boxes.map(({ x, width }) => x + width / 2), ...points.map(({ x }) => x));
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height / 2), ...points.map(({ y }) => y));
  const [shiftX, shiftY] = [MARGIN - left, MARGIN - top];
  return {
    shiftX,
    shiftY,
    width: round(right - left + 2 * MARGIN),
    height: round(bottom - top + 2 * MARGIN),
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('../src/page/charts.json', import.meta.url), chartsText());
}
