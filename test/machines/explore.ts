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

function keyOf(snapshot: AnyMachineSnapshot, situation: readonly string[]): string {
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
  for (const input of sample.inputs) {
    const prefix = String(sample.inputs.indexOf(input));
    const machine: AnyStateMachine = sample.machine;
    // The keys of the map are branded; they are the strings made here.
    const map = getAdjacencyMap(machine, {
      input,
      events: [...sample.events],
      serializeState: (snapshot) => `${prefix} ${keyOf(snapshot, sample.situation)}`,
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
    for (const [key, { state, transitions }] of Object.entries(map)) {
      const before = nodeOf(key);
      for (const { event, state: next } of Object.values(transitions)) {
        // XState would still answer for a state that has ended; its actor no longer does.
        if (state.status !== 'active' || !state.can(event)) continue;
        const after = nodeOf(`${prefix} ${keyOf(next, sample.situation)}`);
        edges.push({ from: before.state, event, to: after.state, before, after });
      }
    }
  }
  return { nodes: [...nodes.values()], edges };
}

/** Nodes from which one of `goals` can be reached. */
export function canReach({ nodes, edges }: Exploration, goals: (node: Node) => boolean): ReadonlySet<string> {
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
