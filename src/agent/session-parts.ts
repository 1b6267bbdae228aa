import type { AgentEvent } from '../../machines/agent.ts';
import type { Clock } from '../clock.ts';
import type { IdSource } from '../ids.ts';
import type { AcquireOptions, Ledger } from '../ledger/ledger.ts';
import type { Failure, LedgerRecord, NewRecord, SessionIdentity } from '../ledger/records.ts';
import type { SessionLog } from '../ledger/session-log.ts';
import type { SessionFacts } from '../ledger/turn-facts.ts';
import type { HookRunner } from '../lifecycle/hook-runner.ts';
import type { Hooks } from '../lifecycle/hooks.ts';
import type { LifecycleHost } from '../lifecycle/lifecycle.ts';
import type { Limits } from '../limits.ts';
import type { DiscoveryOptions } from '../tools/discovery-policy.ts';
import type { OpenSources } from '../tools/open-sources.ts';
import type { PermissionPolicy } from '../tools/permission.ts';
import type { StopSignal } from '../turn/stop-signal.ts';
import type { TurnScope, TurnSession } from '../turn/turn-scope.ts';
import type { AnyAgent } from './define-agent.ts';
import type { PoolDesk } from './pool-desk.ts';
import type { SessionActor } from './session-actor.ts';
import type { SessionRegistry } from './session-registry.ts';
import type { TurnWays } from './turn-ways.ts';

/** What every session of a runtime works with. */
export interface SessionParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** 0 to 1, for jitter alone. */
  readonly random: () => number;
  readonly lifecycle: LifecycleHost;
  readonly hookRunner: HookRunner;
  /** Hooks of the runtime. */
  readonly hooks: readonly Hooks[];
  readonly permission: readonly PermissionPolicy[];
  /** Whether whole requests are kept as artifacts. */
  readonly capturesRequests: boolean;
  /** How the runtime lets tools be found, where nobody nearer says. */
  readonly discovery: DiscoveryOptions | undefined;
  readonly limits: Limits;
  /** Where runs and children are given to, if they are. */
  readonly pool: PoolDesk | undefined;
  /** The sessions at work in this process: where those of children are found. */
  readonly registry: SessionRegistry;
  readonly ways: TurnWays;
  /** Agents that are named and not given. */
  readonly agents: ReadonlyMap<string, AnyAgent>;
  /** Tool sources that are open in this runtime. */
  readonly sources: OpenSources;
  /** Aborts when the runtime closes for good. */
  readonly signal: AbortSignal;
}

/** A graph, or a swarm between two turns. */
export interface GraphAtWork {
  readonly stop: StopSignal;
  /** Of the run it is at work for. */
  readonly runId: string;
}

/** A session this process owns, as a job finds it. */
export interface OpenSession {
  readonly facts: SessionFacts;
  readonly log: SessionLog;
  readonly parts: SessionParts;
  /** Aborts when no turn is to go on in this process any more. */
  readonly leaving: AbortSignal;
  turnSession(agentPath: readonly string[]): TurnSession;
  /**
   * Commits the last facts of the job. Where nothing waits behind it, the session is given back in the same write.
   * @throws SwarmError as `log.commit`
   */
  commitLast(records: readonly NewRecord[]): Promise<void>;
  /** Makes a turn the one that steering, decisions and stops go to; call again without it when it is over. */
  setTurn(scope: TurnScope | undefined): void;
  /** Makes a graph the one that stops go to; call again without it when it is over. */
  setGraph(graph: GraphAtWork | undefined): void;
  /** Makes what is meant for the turn under way reach the one that took over from it, until the job is done. */
  follow(turn: () => TurnScope | undefined): void;
  /** Calls back when the session is free for another owner, or goes on with its next job. */
  whenFree(tell: () => void): void;
  /** A child of the session began, or ended. */
  child(event: Extract<AgentEvent, { readonly type: 'CHILD_STARTED' | 'CHILD_DONE' }>): void;
  /** Tells of every record of the session from here on, once it is durable. */
  watch(tell: (record: LedgerRecord) => void): void;
  /** The turn ended, and the job waits for the schedule of the session before it goes on with another one. */
  gaveWay(status: 'completed' | 'yielded'): void;
  /** The next turn of the job begins. Resolves when nothing of the last one is left to do. */
  woke(): Promise<void>;
  /** The turn ended without a terminal fact because its facts cannot be written. */
  broke(kind: string): void;
}

/** One thing a session does at a time. */
export interface SessionJob {
  /** Whose session it is; the identity of an existing session is that of its ledger. */
  readonly identity: SessionIdentity;
  /** The session is held to be new: see {@link AcquireOptions}. */
  readonly isNew?: boolean | undefined;
  /** Hooks of the agent the job is for. */
  readonly hooks: readonly Hooks[];
  /** The agent machine is told of inputs and resumes, not of bookkeeping. */
  readonly wakes: 'message' | 'resume' | 'nothing';
  /** Never rejects. */
  run(session: OpenSession): Promise<void>;
  /** Offered a turn that is or comes under way while the job waits; true = the turn does it, nothing is left to run. */
  handOver?(turn: TurnScope): boolean;
  /** The session could not be opened. */
  refuse(failure: Failure): void;
}

/** The place an actor has among those of its runtime. */
export interface SessionHome {
  /** The actor has given everything back. */
  retired(actor: SessionActor): void;
  /** The actor the session has now, made if there is none. */
  current(): SessionActor;
}
