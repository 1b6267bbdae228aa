import dagre from '@dagrejs/dagre';
import type { ChartEdge, ChartState, MachineChart } from '../src/inspect/machine-chart.ts';

/** Light and dark, by what the reader prefers. */
const STYLE = `
  svg { --paper: #fff; --ink: #1f2328; --faint: #57606a; --line: #8c959f; --plain: #f6f8fa; --busy: #ddf4ff; --waiting: #fff8c5; --effect: #ffe2cc; --final: #e6e8eb; }
  @media (prefers-color-scheme: dark) { svg { --paper: #0d1117; --ink: #e6edf3; --faint: #9198a1; --line: #6e7681; --plain: #161b22; --busy: #0c2d6b; --waiting: #4b3800; --effect: #5a2600; --final: #2d333b; } }
  .paper { fill: var(--paper); }
  .box { fill: var(--plain); stroke: var(--faint); } .busy { fill: var(--busy); } .waiting { fill: var(--waiting); } .sideEffectPossible { fill: var(--effect); } .terminal { fill: var(--final); stroke-width: 2; }
  text { font: 13px ui-sans-serif, system-ui, sans-serif; text-anchor: middle; fill: var(--ink); }
  .label { font-size: 9px; fill: var(--faint); paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
  .move { fill: none; stroke: var(--line); } .head { fill: var(--line); }
  .note { font-size: 11px; text-anchor: start; fill: var(--faint); }`;

const STATE_HEIGHT = 32;
const LABEL_HEIGHT = 11;
const NOTE_HEIGHT = 18;
const MARGIN = 16;

/** A machine as an SVG of its own, laid out. Each state carries its name as `data-state`. */
export function machineSvg(chart: MachineChart): string {
  const graph = layOut(chart);
  const { width = 0, height = 0 } = graph.graph();
  const notes = chart.anywhere
    .filter(({ to }) => to !== '*')
    .map(({ to, labels }) => `anywhere → ${to}: ${labels.join(', ')}`);
  const bottom = height + notes.length * NOTE_HEIGHT;
  const size = `viewBox="0 0 ${round(width)} ${round(bottom)}" width="${round(width)}" height="${round(bottom)}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${escaped(`${chart.id}: ${chart.description}`)}">`,
    `<style>${STYLE}\n</style>`,
    '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
    '<rect class="paper" width="100%" height="100%"/>',
    ...chart.edges.map((edge) => moveSvg(edge, graph)),
    ...chart.states.map((state) => stateSvg(state, state.name === chart.initial, graph)),
    ...chart.edges.map((edge) => labelSvg(bare(edge), graph)),
    ...notes.map(
      (note, at) =>
        `<text class="note" x="${MARGIN}" y="${round(height + at * NOTE_HEIGHT)}">${escaped(note)}</text>`,
    ),
    '</svg>\n',
  ].join('\n');
}

/** Guards stand in the mermaid text; here they would make the chart too wide to read. */
function bare({ from, to, labels }: ChartEdge): ChartEdge {
  return { from, to, labels: [...new Set(labels.map((label) => label.replace(/ \[.*/, '')))] };
}

type Graph = ReturnType<typeof layOut>;

function layOut({ states, edges: all, initial }: MachineChart) {
  const edges = all.map(bare);
  const graph = new dagre.graphlib.Graph({ multigraph: false });
  graph.setGraph({ rankdir: 'TB', nodesep: 18, ranksep: 22, edgesep: 6, marginx: MARGIN, marginy: MARGIN });
  for (const { name } of states) {
    graph.setNode(name, {
      width: textWidth(name, 8) + 28 + (name === initial ? 16 : 0),
      height: STATE_HEIGHT,
    });
  }
  const sideWays = new Set(states.filter(({ name }) => isSideWay(name)).map(({ name }) => name));
  for (const { from, to, labels } of edges) {
    graph.setEdge(from, to, {
      width: Math.max(...labels.map((label) => textWidth(label, 5.2))) + 4,
      height: labels.length * LABEL_HEIGHT + 4,
      labelpos: 'c',
      // The chart is drawn along the way that goes well.
      weight: sideWays.has(to) || sideWays.has(from) ? 1 : 5,
    });
  }
  dagre.layout(graph);
  return graph;
}

/** Where a turn or call goes that does not go on. */
function isSideWay(name: string): boolean {
  return ['closing', 'paused', 'faulted', 'cancelled', 'commitError', 'indeterminate'].includes(name);
}

function textWidth(text: string, characterWidth: number): number {
  return text.length * characterWidth;
}

function stateSvg(
  { name, description, tags, isFinal }: ChartState,
  isInitial: boolean,
  graph: Graph,
): string {
  const { x, y, width, height } = graph.node(name);
  const left = round(x - width / 2);
  const top = round(y - height / 2);
  const start = isInitial ? `<circle class="head" cx="${left + 12}" cy="${round(y)}" r="4"/>` : '';
  const box = `<rect class="${['box', ...tags].join(' ')}" x="${left}" y="${top}" width="${round(width)}" height="${height}" rx="${isFinal ? STATE_HEIGHT / 2 : 5}"/>`;
  const text = `<text x="${round(x + (isInitial ? 6 : 0))}" y="${round(y + 4.5)}">${escaped(name)}</text>`;
  return `<g data-state="${escaped(name)}"><title>${escaped(description)}</title>${box}${start}${text}</g>`;
}

/** Through the points of the layout, rounded between them. */
function moveSvg({ from, to }: ChartEdge, graph: Graph): string {
  const points: readonly { x: number; y: number }[] = graph.edge(from, to).points;
  const [first, ...rest] = points;
  if (first === undefined) return '';
  const curves = rest.map((point, at) => {
    const next = rest[at + 1];
    if (next === undefined) return `L${round(point.x)} ${round(point.y)}`;
    return `Q${round(point.x)} ${round(point.y)} ${round((point.x + next.x) / 2)} ${round((point.y + next.y) / 2)}`;
  });
  return `<path class="move" marker-end="url(#end)" d="M${round(first.x)} ${round(first.y)}${curves.join('')}"/>`;
}

function labelSvg({ from, to, labels }: ChartEdge, graph: Graph): string {
  const { x = 0, y = 0 } = graph.edge(from, to);
  const top = y - ((labels.length - 1) * LABEL_HEIGHT) / 2 + 3;
  return labels
    .map(
      (label, at) =>
        `<text class="label" x="${round(x)}" y="${round(top + at * LABEL_HEIGHT)}">${escaped(label)}</text>`,
    )
    .join('');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
