import type { AnyGraph } from './define-graph.ts';
import { type GraphNode, INPUT_NODE, targetKind } from './graph-node.ts';
import type { UpdateRequest } from './schedule-update.ts';
import type { OperatorSpec, WorkSpec } from './work-state.ts';

/** Id of the work that a node is in a round of its loop. The first round bears the plain name. */
export function workName(node: string, round = 1): string {
  return round === 1 ? node : `${node}#${round}`;
}

/** Name of the node that a work, a round or an item of it belongs to. */
export function nodeName(work: string): string {
  return /^[^#[]*/.exec(work)?.[0] ?? work;
}

/**
 * Everything a graph does, but for further rounds of its loops. The input of the run is the first work. A map of
 * children has as many of them at once as `fanOut` allows, where it does not say less.
 */
export function planGraph(graph: AnyGraph, fanOut: number): UpdateRequest {
  const { order } = graph.shape;
  const input: WorkSpec = { work: INPUT_NODE, operator: INPUT_NODE, inputs: [], onError: 'fail' };
  return {
    update: 'graph',
    operators: [{ operator: INPUT_NODE, kind: 'join' }, ...order.map((node) => operatorOf(node))],
    works: [input, ...order.map((node) => workOf(node, fanOut, (from) => from))],
  };
}

/** A further round of a loop: its nodes once more, the first of them on what the last one yielded. */
export function planRound(
  graph: AnyGraph,
  loop: GraphNode,
  { round, fanOut }: { readonly round: number; readonly fanOut: number },
): UpdateRequest {
  const body = graph.shape.bodies.get(loop.name) ?? [];
  const inside = new Set(body.map(({ name }) => name));
  const [end = ''] = loop.from;
  const nameIn = (from: string) => (inside.has(from) ? workName(from, round) : from);
  const operators = body.map((node) => ({ ...operatorOf(node), operator: workName(node.name, round) }));
  const works = body.map((node) => {
    const inputs = node.name === loop.loop?.back ? () => workName(end, round - 1) : nameIn;
    const work = workName(node.name, round);
    return { ...workOf(node, fanOut, inputs), work, operator: work };
  });
  return { update: `${loop.name} ${round}`, operators, works };
}

function operatorOf(node: GraphNode): OperatorSpec {
  const { name, target } = node;
  const named = typeof target === 'object' ? { target: target.name } : {};
  return { operator: name, kind: targetKind(node), ...named };
}

function workOf(node: GraphNode, fanOut: number, nameIn: (from: string) => string): WorkSpec {
  const { name, from, type, need, onError } = node;
  const isOfChildren = type === 'map' && targetKind(node) !== 'function' && Number.isFinite(fanOut);
  const maxConcurrency = node.maxConcurrency ?? (isOfChildren ? Math.max(1, fanOut) : undefined);
  // A node that begins a round reads one thing, however many edges it has.
  const inputs = [...new Set(from.map(nameIn))];
  return {
    work: name,
    operator: name,
    inputs,
    onError,
    ...(need === undefined ? {} : { need: Math.min(need, inputs.length) }),
    ...(type === 'map' ? { each: true as const } : {}),
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
  };
}
