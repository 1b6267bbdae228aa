import type { Graph } from './define-graph.ts';
import type { NodeSettings, NodeTarget } from './node-target.ts';

/** What the type system knows of a node. */
export interface NodeShape {
  /** What its edge brings. */
  readonly in: unknown;
  readonly out: unknown;
  /** Whether a run may skip it. */
  readonly maybe: boolean;
}

/** Nodes by name. */
export type NodeShapes = { readonly [name: string]: NodeShape };

type Names<N> = keyof N & string;

type OutOf<N extends NodeShapes, From extends Names<N>> = N[From]['out'];

/** What became of one branch of a join that collects. */
export type Branch<Output> =
  | { readonly ok: true; readonly output: Output }
  | { readonly ok: false; readonly error: { readonly kind: string; readonly message: string } };

type BranchOf<Output, OnError> = OnError extends 'collect' ? Branch<Output> : Output;

/** Branches that may be missing: skipped ones, and all where a join does not need them all. */
type Missing<N extends NodeShapes, From extends Names<N>, Need> = Need extends 'all'
  ? { [K in From]: N[K]['maybe'] extends false ? never : K }[From]
  : From;

/** What a join gives its target: its branches by the names of their nodes. Skipped ones are absent. */
export type JoinInput<N extends NodeShapes, From extends Names<N>, Need, OnError> = {
  readonly [K in Exclude<From, Missing<N, From, Need>>]: BranchOf<OutOf<N, K>, OnError>;
} & {
  readonly [K in Missing<N, From, Need>]?: BranchOf<OutOf<N, K>, OnError>;
};

/** A join is skipped only where all its branches are. */
type JoinMaybe<N extends NodeShapes, From extends Names<N>> = [
  { [K in From]: N[K]['maybe'] extends false ? K : never }[From],
] extends [never]
  ? true
  : false;

/** Options of `.node()`. `Value` is what the edge brings. */
export interface NodeOptions<From, Value> extends NodeSettings {
  readonly from: From;
  /** Whether the edge is taken; where it is not, the node is skipped, and so is what reads it. Pure. */
  readonly when?: (value: Value) => boolean;
}

/** Makes the input of the target of what the edge brings. Pure. Default: the value itself. */
export interface InputMapper<Value, Input> {
  readonly input: (value: Value) => Input;
}

/** Options of `.map()`. */
export interface MapOptions<From> extends NodeSettings {
  readonly from: From;
  /** Items at once. Default: as many as `limits.fanOut` allows for agents and graphs, and all for a function. */
  readonly maxConcurrency?: number;
}

/** The list in what the edge brings. Pure. Default: the value itself, where it is a list. */
export interface ItemsOf<Value, Item> {
  readonly over: (value: Value) => readonly Item[];
}

/** Options of `.join()`. */
export interface JoinOptions<From, Need, OnError> extends NodeSettings {
  readonly from: From;
  /**
   * How many branches have to complete: `all` that were not skipped (default), `any`, or a number. Branches that are
   * not waited for go on, and the run ends with the last of them.
   */
  readonly need?: Need;
  /**
   * `fail` (default): a branch that fails ends the run; the others are stopped and waited for. `collect`: the target is
   * given `{ ok, output }` or `{ ok, error }` of each branch.
   */
  readonly onError?: OnError;
}

/** Options of `.loop()`. */
export interface LoopOptions<From, Back, Value> {
  /** The last node of a round. */
  readonly from: From;
  /** The first node of a round; from the second round on it is given what `from` yielded. */
  readonly back: Back;
  /** Whether another round follows. Pure. */
  readonly while: (value: Value) => boolean;
  /** Rounds at most, the first included. When they are used up the loop yields what it has. */
  readonly max: number;
}

/** Where the result of a node may go back to. */
type BackTo<N extends NodeShapes, From extends Names<N>> = {
  [K in Names<N>]: OutOf<N, From> extends N[K]['in'] ? K : never;
}[Names<N>];

type With<N extends NodeShapes, Name extends string, In, Out, Maybe extends boolean> = N & {
  readonly [K in Name]: { readonly in: In; readonly out: Out; readonly maybe: Maybe };
};

/** Skipped where `when` says so, or with the node before. */
type MaybeAfter<N extends NodeShapes, From extends Names<N>, Given> = Given extends {
  readonly when: (...given: never) => unknown;
}
  ? true
  : N[From]['maybe'];

/** The items of a list; nothing of what is none. */
type ItemIn<Value> = Value extends readonly (infer Item)[] ? Item : never;

/**
 * Declares the nodes of a graph, one after the other; each call gives a builder that knows one more. Names, edges and
 * values are inferred: an edge that brings what its target does not take is a compile error.
 */
export interface GraphBuilder<Input, N extends NodeShapes, Context> {
  /** A node with one edge into it: it runs when `from` has completed. */
  node<
    Name extends string,
    From extends Names<N>,
    Out,
    NeedsContext = unknown,
    Given extends { readonly when?: unknown; readonly input?: never } = object,
  >(
    name: Name,
    target: NodeTarget<OutOf<N, From>, Out, NeedsContext>,
    options: NodeOptions<From, OutOf<N, From>> & Given,
  ): GraphBuilder<
    Input,
    With<N, Name, OutOf<N, From>, Out, MaybeAfter<N, From, Given>>,
    Context & NeedsContext
  >;
  /** The same, with an input made of what the edge brings. */
  node<
    Name extends string,
    From extends Names<N>,
    Out,
    NeedsContext = unknown,
    // biome-ignore lint/suspicious/noExplicitAny: a target is held to the mapper's result once that is known
    TargetInput = any,
    Given extends { readonly when?: unknown } = object,
  >(
    name: Name,
    target: NodeTarget<TargetInput, Out, NeedsContext>,
    options: NodeOptions<From, OutOf<N, From>> & InputMapper<OutOf<N, From>, TargetInput> & Given,
  ): GraphBuilder<
    Input,
    With<N, Name, OutOf<N, From>, Out, MaybeAfter<N, From, Given>>,
    Context & NeedsContext
  >;

  /** A node that runs once for each item of a list; it yields their results in the order of the items. */
  map<Name extends string, From extends Names<N>, Out, NeedsContext = unknown>(
    name: Name,
    target: NodeTarget<ItemIn<OutOf<N, From>>, Out, NeedsContext>,
    options: MapOptions<From> & { readonly over?: never },
  ): GraphBuilder<
    Input,
    With<N, Name, OutOf<N, From>, readonly Out[], N[From]['maybe']>,
    Context & NeedsContext
  >;
  /** The same, over a list in what the edge brings. */
  map<
    Name extends string,
    From extends Names<N>,
    Out,
    NeedsContext = unknown,
    // biome-ignore lint/suspicious/noExplicitAny: a target is held to the items once they are known
    Item = any,
  >(
    name: Name,
    target: NodeTarget<Item, Out, NeedsContext>,
    options: MapOptions<From> & ItemsOf<OutOf<N, From>, Item>,
  ): GraphBuilder<
    Input,
    With<N, Name, OutOf<N, From>, readonly Out[], N[From]['maybe']>,
    Context & NeedsContext
  >;

  /** A node with several edges into it. Without a target it yields its branches. */
  join<
    Name extends string,
    const From extends readonly Names<N>[],
    Need extends 'all' | 'any' | number = 'all',
    OnError extends 'fail' | 'collect' = 'fail',
    Out = JoinInput<N, From[number], Need, OnError>,
    NeedsContext = unknown,
  >(
    name: Name,
    options: JoinOptions<From, Need, OnError>,
    target?: NodeTarget<JoinInput<N, From[number], Need, OnError>, Out, NeedsContext>,
  ): GraphBuilder<
    Input,
    With<N, Name, JoinInput<N, From[number], Need, OnError>, Out, JoinMaybe<N, From[number]>>,
    Context & NeedsContext
  >;

  /** Repeats the nodes from `back` to `from` while a condition holds; it yields what the last round did. */
  loop<Name extends string, From extends Names<N>, Back extends BackTo<N, From>>(
    name: Name,
    options: LoopOptions<From, Back, OutOf<N, From>>,
  ): GraphBuilder<Input, With<N, Name, OutOf<N, From>, OutOf<N, From>, N[From]['maybe']>, Context>;

  /**
   * The graph, checked and frozen. Its result is what the node `output` yields.
   * @throws SwarmError 'invalid-definition' naming the node: one that cannot be reached, a join that can never fire, a
   * second edge that is not declared, an unbounded cycle, an unknown name, a name given twice
   */
  build<Output extends Names<N>>(options: {
    readonly output: Output;
  }): Graph<Input, OutOf<N, Output>, Context>;
}
