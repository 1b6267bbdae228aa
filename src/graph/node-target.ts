import type { Agent, AnyAgent } from '../agent/define-agent.ts';
import type { RecoveryMode } from '../ledger/records.ts';
import type { ToolArtifacts } from '../tools/tool.ts';
import type { Graph } from './define-graph.ts';
import type { AnySwarm, Swarm } from './define-swarm.ts';

/** What a function node gets beside its input. */
export interface NodeContext<Context = unknown> {
  /** Aborts on cancel, on the node's timeout, when a sibling fails the run, and when the session is lost. */
  readonly signal: AbortSignal;
  /** What the caller gave `runtime.run`. */
  readonly context: Context;
  readonly sessionId: string;
  readonly turnId: string;
  /** Name of the node; of an item of a map, with its place: `name[0]`. In a loop, with the round: `name#2`. */
  readonly work: string;
  /** Counts from 1. */
  readonly attempt: number;
  /** Idempotency key for external systems: the same for every attempt of this work. */
  readonly operationId: string;
  /** Fencing token for external systems: grows with every new owner of the session. */
  readonly epoch: number;
  /** Names from the root to this graph. */
  readonly agentPath: readonly string[];
  readonly artifacts: ToolArtifacts;
}

/** Plain code as a node. What it returns is kept as JSON, and what follows gets that JSON. */
export type NodeFunction<in Input, out Output, in Context = unknown> = (
  input: Input,
  ctx: NodeContext<Context>,
) => Output | PromiseLike<Output>;

/** Text or message parts: what an agent takes. */
type AgentInput = string | readonly { readonly type: string }[];

/** What a node may run: a function, an agent, a swarm, or another graph. `Input` is what its edge brings. */
export type NodeTarget<Input, Output, Context> =
  | NodeFunction<Input, Output, Context>
  | (Input extends AgentInput ? Agent<Output, Context> | Swarm<Output, Context> : never)
  | Graph<Input, Output, Context>;

/** A target whose types do not matter any more. */
export type AnyTarget =
  | NodeFunction<never, unknown, never>
  | AnyAgent
  | AnySwarm
  | Graph<never, unknown, never>;

/** How often a failed node is tried, and how long to wait between two attempts. */
export interface RetryOptions {
  /** All attempts, the first included. */
  readonly attempts: number;
  /** Milliseconds before the second attempt. Default 0. */
  readonly delayMs?: number;
  /** What each further delay is multiplied by. Default 2. */
  readonly backoff?: number;
}

/** How a node is run. */
export interface NodeSettings {
  /** Default: one attempt. */
  readonly retry?: RetryOptions;
  /** Milliseconds one attempt may take. Default: none for children, `limits.tools.timeoutMs` for functions. */
  readonly timeoutMs?: number;
  /**
   * What a crash between the start of a function and its outcome licenses. `never_auto_retry` (default): somebody
   * decides. `replay_safe`, `idempotent`: it runs again, with the same operation id.
   */
  readonly recovery?: Exclude<RecoveryMode, 'reconcile'>;
}
