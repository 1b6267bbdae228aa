import type { AnyStateMachine } from 'xstate';
import type { MachineSet } from '../../machines/machine-kind.ts';

/** All transitions from one state to another that happen for the same events. */
export interface ChartEdge {
  readonly from: string;
  readonly to: string;
  /** `EVENT` or `EVENT [guard]`, in the order in which the machine tries them. */
  readonly labels: readonly string[];
}

/** What a drawing needs of a machine. */
export interface MachineChart {
  readonly id: string;
  readonly description: string;
  readonly initial: string;
  readonly states: readonly ChartState[];
  /** Between two different states; one for each pair. */
  readonly edges: readonly ChartEdge[];
  /** From every state that is not final. */
  readonly anywhere: readonly ChartEdge[];
}

/** One state of a {@link MachineChart}. */
export interface ChartState {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly isFinal: boolean;
  /** `EVENT after limits.path`: timers of the runtime that run while the state is active. */
  readonly timers: readonly string[];
  /** Labels of what it accepts without being left. */
  readonly stays: readonly string[];
}

/** Machines of all kinds as machines of any. */
export function anyMachines(machines: MachineSet): readonly AnyStateMachine[] {
  // Each has types of its own, of which nothing that draws makes use.
  return Object.values(machines) as unknown as readonly AnyStateMachine[];
}

/** A flat machine as something to draw, in the order of its definition. */
export function chartOf(machine: AnyStateMachine): MachineChart {
  const names = Object.keys(machine.states);
  return {
    id: machine.id,
    description: machine.root.description ?? '',
    initial: machine.root.initial.target[0]?.key ?? '',
    states: names.map((name) => stateOf(machine, name)),
    edges: edgesOf(names.flatMap((name) => movesOf(machine, name)).filter(({ from, to }) => from !== to)),
    anywhere: edgesOf(
      transitionsIn(machine.root).map((move) => ({ ...move, from: '*', to: move.to ?? '*' })),
    ),
  };
}

function stateOf(machine: AnyStateMachine, name: string): ChartState {
  const node = machine.states[name];
  // Meta of our machines names timers and nothing else.
  const meta = node?.meta as
    | { readonly timers?: readonly { readonly from: string; readonly sends: string }[] }
    | undefined;
  return {
    name,
    description: node?.description ?? '',
    tags: node?.tags ?? [],
    isFinal: node?.type === 'final',
    timers: (meta?.timers ?? []).map(({ from, sends }) => `${sends} after ${from}`),
    stays: movesOf(machine, name).flatMap(({ from, to, label }) => (from === to ? [label] : [])),
  };
}

interface Move {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

function movesOf(machine: AnyStateMachine, name: string): readonly Move[] {
  const node = machine.states[name];
  if (node === undefined) return [];
  return transitionsIn(node).map(({ to, label }) => ({ from: name, to: to ?? name, label }));
}

function transitionsIn(node: AnyStateMachine['root']): readonly { to: string | undefined; label: string }[] {
  return [...node.transitions.values()].flat().map(({ eventType, guard, target }) => ({
    to: target?.[0]?.key,
    label: typeof guard === 'string' ? `${eventType} [${guard}]` : eventType,
  }));
}

function edgesOf(moves: readonly Move[]): readonly ChartEdge[] {
  const edges = Map.groupBy(moves, ({ from, to }) => `${from} ${to}`);
  return [...edges.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    return [{ from: first.from, to: first.to, labels: [...new Set(same.map(({ label }) => label))] }];
  });
}
