import type { AnyAgent } from '../agent/define-agent.ts';
import type { AnyTarget, NodeSettings, RetryOptions } from './node-target.ts';

/** What decides about edges and items, with the types of their values erased: the builder checked them. */
type Decide<Result> = (value: never) => Result;

/** One node of a graph, frozen. */
export interface GraphNode {
  readonly name: string;
  readonly type: 'node' | 'map' | 'join' | 'loop';
  /** Nodes it reads; `input` is the input of the run. */
  readonly from: readonly string[];
  /** What it runs; absent for joins that only collect, and for loops. */
  readonly target: AnyTarget | undefined;
  /** Whether its edge is taken. */
  readonly when: Decide<boolean> | undefined;
  /** Makes the input of the target of what its edge brings. */
  readonly input: Decide<unknown> | undefined;
  /** Of a map: the list in what its edge brings. */
  readonly over: Decide<readonly unknown[]> | undefined;
  readonly maxConcurrency: number | undefined;
  /** Of a join: how many of its predecessors have to complete; absent = all that were not skipped. */
  readonly need: number | undefined;
  readonly onError: 'fail' | 'collect';
  /** Of a loop: where a round begins, whether another one follows, and how many there may be. */
  readonly loop: { readonly back: string; readonly while: Decide<boolean>; readonly max: number } | undefined;
  readonly retry: Required<RetryOptions>;
  readonly timeoutMs: number | undefined;
  readonly recovery: NonNullable<NodeSettings['recovery']>;
}

/** What a node's target is. */
export type TargetKind = 'agent' | 'function' | 'graph' | 'swarm' | 'join';

export function targetKind({ target }: GraphNode): TargetKind {
  if (target === undefined) return 'join';
  return typeof target === 'function' ? 'function' : target.kind;
}

/** The node every graph begins with: it yields the input of the run. */
export const INPUT_NODE = 'input';

/** Agents that nodes run, also in graphs and swarms that are nodes. */
export function agentsIn(nodes: readonly GraphNode[]): readonly AnyAgent[] {
  return nodes.flatMap(({ target }) => {
    if (target === undefined || typeof target === 'function') return [];
    if (target.kind === 'agent') return [target];
    return target.kind === 'swarm' ? [target.supervisor, ...target.agents] : target.agents;
  });
}
