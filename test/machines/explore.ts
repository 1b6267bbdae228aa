import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { getAdjacencyMap } from 'xstate/graph';
import type { MachineKind } from '../../machines/machine-kind.ts';
import type { Sample } from './samples.ts';

/** One accepted event in one situation, and what came of it. */
export interface Edge {
  readonly from: string;
  readonly event: EventObject;
  readonly to: string;
  readonly before: Node;
  readonly after: Node;
}

/** A state with a context that behaves alike. */
export interface Node {
  readonly key: string;
  readonly state: string;
  readonly snapshot: AnyMachineSnapshot;
}

export interface Exploration {
  /** Where an instance begins, for each input of the sample. */
  readonly starts: readonly { readonly node: Node; readonly input: object }[];
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
}

/** One entry of the map XState makes. */
interface Situation {
  readonly state: AnyMachineSnapshot;
  readonly transitions: Readonly<
    Record<string, { readonly event: EventObject; readonly state: AnyMachineSnapshot }>
  >;
}

/** Counters that grow without end are told apart only up to here; guards compare with less. */
const MAX_COUNT = 3;

/** What makes two situations of a machine different, as text. */
export function situationKey(snapshot: AnyMachineSnapshot, situation: readonly string[]): string {
  const facts = situation.map((name) => {
    const value: unknown = snapshot.context[name];
    return typeof value === 'number' ? Math.min(value, MAX_COUNT) : value;
  });
  return JSON.stringify([snapshot.value, ...facts]);
}

/** Everything a machine can do under all inputs and events of its sample. */
export function explore(sample: Sample<MachineKind>): Exploration {
  const nodes = new Map<string, Node>();
  const edges: Edge[] = [];
  const starts: { node: Node; input: object }[] = [];
  for (const input of sample.inputs) {
    const prefix = String(sample.inputs.indexOf(input));
    const machine: AnyStateMachine = sample.machine;
    // The keys of the map are branded; they are the strings made here.
    const map = getAdjacencyMap(machine, {
      input,
      events: [...sample.events],
      serializeState: (snapshot) => `${prefix} ${situationKey(snapshot, sample.situation)}`,
      // XState's pure functions go on where an actor has ended.
      stopWhen: (snapshot) => snapshot.status !== 'active',
    }) as Readonly<Record<string, Situation>>;
    const nodeOf = (key: string): Node => {
      const known = nodes.get(key);
      if (known !== undefined) return known;
      const found = map[key];
      if (found === undefined) throw new Error(`no such situation: ${key}`);
      const node = { key, state: String(found.state.value), snapshot: found.state };
      nodes.set(key, node);
      return node;
    };
    // The first entry is the one the search began with.
    const [first = ''] = Object.keys(map);
    starts.push({ node: nodeOf(first), input });
    for (const [key, { state, transitions }] of Object.entries(map)) {
      const before = nodeOf(key);
      for (const { event, state: next } of Object.values(transitions)) {
        if (!state.can(event)) continue;
        const after = nodeOf(`${prefix} ${situationKey(next, sample.situation)}`);
        edges.push({ from: before.state, event, to: after.state, before, after });
      }
    }
  }
  return { starts, nodes: [...nodes.values()], edges };
}

/** Nodes from which one of `goals` can be reached. */
export function canReach(
  { nodes, edges }: Pick<Exploration, 'nodes' | 'edges'>,
  goals: (node: Node) => boolean,
): ReadonlySet<string> {
  const reached = new Set(nodes.filter(goals).map((node) => node.key));
  const into = Map.groupBy(edges, (edge) => edge.after.key);
  const open = [...reached];
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    for (const edge of into.get(key) ?? []) {
      if (reached.has(edge.before.key)) continue;
      reached.add(edge.before.key);
      open.push(edge.before.key);
    }
  }
  return reached;
}

/** The shortest way from a start over an edge that `ends` it. */
export function wayTo(
  { starts, edges }: Exploration,
  ends: (edge: Edge) => boolean,
): { readonly input: object; readonly edges: readonly Edge[] } | undefined {
  const outOf = Map.groupBy(edges, (edge) => edge.before.key);
  const open = starts.map(({ node, input }) => ({ key: node.key, input, edges: [] as readonly Edge[] }));
  const seen = new Set(open.map(({ key }) => key));
  for (const way of open) {
    for (const edge of outOf.get(way.key) ?? []) {
      const longer = { key: edge.after.key, input: way.input, edges: [...way.edges, edge] };
      if (ends(edge)) return longer;
      if (seen.has(edge.after.key)) continue;
      seen.add(edge.after.key);
      open.push(longer);
    }
  }
  return undefined;
}
