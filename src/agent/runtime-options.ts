import type { MachineSet } from '../../machines/machine-kind.ts';
import type { Clock } from '../clock.ts';
import type { Sink } from '../events/sink.ts';
import type { IdSource } from '../ids.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Hooks } from '../lifecycle/hooks.ts';
import type { Inspector } from '../lifecycle/inspector.ts';
import type { LimitOptions } from '../limits.ts';
import type { DiscoveryOptions } from '../tools/discovery-policy.ts';
import type { PermissionPolicy } from '../tools/permission.ts';
import type { AnyAgent } from './define-agent.ts';
import type { WorkPool } from './work-pool.ts';

/** A definition that is not an agent's: a graph, or a swarm. */
export interface OtherDefinition {
  readonly kind: 'graph' | 'swarm';
  readonly name: string;
  /** Agents that work in it. */
  readonly agents: readonly AnyAgent[];
  /** Of a swarm: the agent that schedules the work, and when it is woken. */
  readonly supervisor?: AnyAgent;
  readonly mode?: string;
  /** Of a graph: of its nodes and edges. */
  readonly hash?: string;
  readonly limits?: LimitOptions;
}

/** Options of `createRuntime`. */
export interface RuntimeOptions {
  /** Definitions by name: for resuming by name and for decisions on sessions of other processes. */
  readonly agents?: Readonly<Record<string, AnyAgent | OtherDefinition>>;
  /** Where facts are kept. Default: memory, which survives nothing. */
  readonly ledger?: Ledger | Promise<Ledger>;
  /**
   * Workers that runs are given to, such as `natsPool` of `swarmwright/nats`, on the same ledger. `run` then queues:
   * definitions go by their name in `agents`, and what is of this process alone (`context`, `clientTools`, functions) is
   * refused with 'not-queueable'. Everything else is as without it. Closed with the runtime.
   */
  readonly pool?: WorkPool;
  /** Where events go besides `run.events()`. */
  readonly sinks?: readonly Sink[];
  /** Shows the machines while they run. */
  readonly inspect?: Inspector;
  /** Judges every call at every depth, before the policy of an agent. */
  readonly permission?: PermissionPolicy;
  /** Keeps every provider request whole, as an artifact beside its fact. Default false: prompts stay where they are. */
  readonly captureRequests?: boolean;
  /** How tools are found, where an agent or run says nothing. */
  readonly discovery?: DiscoveryOptions;
  readonly hooks?: Hooks | readonly Hooks[];
  readonly limits?: LimitOptions;
  readonly clock?: Clock;
  readonly ids?: IdSource;
  /**
   * Machines made by `provide` of those of `swarmwright/machines`: what runs and what is shown. Guards named `may...`
   * decide and are there to be replaced; the others state what is the case, and a machine that is lied to ends where
   * it should not. A guard is given facts of its machine and must be pure: it is asked again when a turn is replayed.
   */
  readonly machines?: Partial<MachineSet>;
  /** 0 to 1, for the jitter of retries. Default `Math.random`. */
  readonly random?: () => number;
}
