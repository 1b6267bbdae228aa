import { SwarmError } from '../errors.ts';
import { safeName } from '../tools/safe-text.ts';
import { type GraphNode, INPUT_NODE } from './graph-node.ts';

/** What can be known of a graph before it runs. */
export interface GraphShape {
  /** Nodes in an order in which each stands after all it reads. */
  readonly order: readonly GraphNode[];
  /** Of each loop, the nodes that run once a round, in order. */
  readonly bodies: ReadonlyMap<string, readonly GraphNode[]>;
  /** Nodes whose failure reaches a join that wants to be told of it, and so fails no run. */
  readonly contained: ReadonlySet<string>;
}

const NODE_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Something wrong with a definition, naming the graph. */
export function wrongGraph(graph: string, complaint: string): SwarmError {
  return new SwarmError('invalid-definition', `graph ${safeName(graph)}: ${complaint}`);
}

/**
 * Checks a graph and works out its shape.
 * @throws SwarmError 'invalid-definition' naming the node
 */
export function checkGraph(graph: string, nodes: readonly GraphNode[], output: string): GraphShape {
  const fail = (complaint: string): never => {
    throw wrongGraph(graph, complaint);
  };
  const byName = new Map<string, GraphNode>();
  for (const node of nodes) {
    checkName(node.name, byName, fail);
    byName.set(node.name, node);
  }
  for (const node of nodes) checkEdges(node, byName, fail);
  const order = sortNodes(nodes, byName, fail);
  const bodies = loopBodies(order, fail);
  checkReaders(nodes, bodies, output, fail);
  if (!byName.has(output) && output !== INPUT_NODE) {
    fail(`the output ${safeName(String(output))} is no node`);
  }
  return { order, bodies, contained: containedNodes(order) };
}

type Fail = (complaint: string) => never;

function checkName(name: string, known: ReadonlyMap<string, GraphNode>, fail: Fail): void {
  if (typeof name !== 'string' || !NODE_NAME.test(name)) {
    fail(`the name of node ${safeName(String(name))} must match [A-Za-z0-9_-]{1,64}`);
  }
  if (name === INPUT_NODE) fail(`a node is called ${INPUT_NODE}, which is the input of the run`);
  if (known.has(name)) fail(`the name ${name} is given to two nodes`);
}

function checkEdges(node: GraphNode, byName: ReadonlyMap<string, GraphNode>, fail: Fail): void {
  const { name, type, from, need, loop } = node;
  if (from.length === 0) {
    fail(
      type === 'join'
        ? `the join ${name} can never fire: it has no predecessor`
        : `the node ${name} cannot be reached: it has no predecessor`,
    );
  }
  if (type !== 'join' && from.length > 1) {
    fail(`the node ${name} has ${from.length} edges into it: several predecessors are declared by a join`);
  }
  if (new Set(from).size < from.length) fail(`the join ${name} names a predecessor twice`);
  for (const one of loop === undefined ? from : [...from, loop.back]) {
    if (one !== INPUT_NODE && !byName.has(one))
      fail(`the node ${name} names ${safeName(one)}, which is no node`);
  }
  if (need !== undefined && !(Number.isInteger(need) && need >= 1 && need <= from.length)) {
    fail(`the join ${name} can never fire: it needs ${need} of ${from.length} predecessors`);
  }
  if (loop !== undefined && !(Number.isInteger(loop.max) && loop.max >= 1)) {
    fail(`the loop ${name} needs a bound: max is ${String(loop.max)}, not a whole number of at least 1`);
  }
}

/** Every node after all it reads. A node that is never free reads itself, over others or at once. */
function sortNodes(
  nodes: readonly GraphNode[],
  byName: ReadonlyMap<string, GraphNode>,
  fail: Fail,
): readonly GraphNode[] {
  const sorted: GraphNode[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const visit = (node: GraphNode, path: readonly string[]): void => {
    if (state.get(node.name) === 'done') return;
    if (state.get(node.name) === 'open') {
      const cycle = [...path.slice(path.indexOf(node.name)), node.name].reverse();
      fail(`an unbounded cycle: ${cycle.join(' -> ')}; repeat nodes by a loop`);
    }
    state.set(node.name, 'open');
    for (const from of node.from) {
      const before = byName.get(from);
      if (before !== undefined) visit(before, [...path, node.name]);
    }
    state.set(node.name, 'done');
    sorted.push(node);
  };
  for (const node of nodes) visit(node, []);
  return sorted;
}

/** Nodes between the beginning and the end of each loop. Rounds of two loops that share nodes have no order. */
function loopBodies(order: readonly GraphNode[], fail: Fail): ReadonlyMap<string, readonly GraphNode[]> {
  const bodies = new Map<string, readonly GraphNode[]>();
  const loopOf = new Map<string, string>();
  for (const { name, from, loop } of order) {
    if (loop === undefined) continue;
    const [end = ''] = from;
    const after = reach(order, loop.back);
    if (!after.has(end))
      fail(`the loop ${name} goes back from ${end} to ${loop.back}, which does not lead to it`);
    const before = ancestors(order, end);
    const body = order.filter((node) => after.has(node.name) && before.has(node.name));
    for (const node of body) {
      const other = loopOf.get(node.name);
      const shared = node.type === 'loop' ? node.name : other;
      if (shared !== undefined) {
        fail(`the loops ${shared} and ${name} share nodes: make the inner one a graph of its own`);
      }
      loopOf.set(node.name, name);
    }
    bodies.set(name, body);
  }
  return bodies;
}

/** Names that a node leads to, itself included. */
function reach(order: readonly GraphNode[], start: string): ReadonlySet<string> {
  const found = new Set([start]);
  for (const node of order) if (node.from.some((from) => found.has(from))) found.add(node.name);
  return found;
}

/** Names that lead to a node, itself included. */
function ancestors(order: readonly GraphNode[], end: string): ReadonlySet<string> {
  const found = new Set([end]);
  for (const node of order.toReversed())
    if (found.has(node.name)) for (const from of node.from) found.add(from);
  return found;
}

/** What runs several times has several results: only its loop says which one counts. */
function checkReaders(
  nodes: readonly GraphNode[],
  bodies: ReadonlyMap<string, readonly GraphNode[]>,
  output: string,
  fail: Fail,
): void {
  for (const [loop, body] of bodies) {
    const inside = new Set(body.map(({ name }) => name));
    if (inside.has(output))
      fail(`the output ${output} is repeated by the loop ${loop}: take ${loop} instead`);
    for (const { name, from } of nodes) {
      const read = from.find((one) => inside.has(one));
      if (read === undefined || inside.has(name) || name === loop) continue;
      fail(`the node ${name} reads ${read}, which the loop ${loop} repeats: read ${loop} instead`);
    }
  }
}

/** A failure that every way from a node brings to a collecting join is a value there. */
function containedNodes(order: readonly GraphNode[]): ReadonlySet<string> {
  const contained = new Set<string>();
  for (const { name } of order.toReversed()) {
    const readers = order.filter(({ from }) => from.includes(name));
    const isContained = readers.every(
      (reader) => (reader.type === 'join' && reader.onError === 'collect') || contained.has(reader.name),
    );
    if (readers.length > 0 && isContained) contained.add(name);
  }
  return contained;
}
