import type { AgentEvent } from '../../machines/agent.ts';
import type { ChildEnd, ChildRequest } from '../agent/child-sessions.ts';
import type { Lineage } from '../agent/lineage.ts';
import type { IndeterminateCall } from '../agent/run-result.ts';
import type { DecideIndeterminate } from '../agent/run-turn-job.ts';
import type { SessionParts } from '../agent/session-parts.ts';
import type { NewRecord, PauseReason } from '../ledger/records.ts';
import type { SessionLog } from '../ledger/session-log.ts';
import type { ChildFacts } from '../ledger/turn-facts.ts';
import type { Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Limits } from '../limits.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import type { PersonWatch } from '../turn/person-watch.ts';
import type { StopSignal } from '../turn/stop-signal.ts';
import type { RunScope } from '../turn/turn-scope.ts';
import type { AnyGraph } from './define-graph.ts';
import type { AnySwarm } from './define-swarm.ts';
import type { Schedule } from './schedule.ts';
import type { WorkState } from './work-state.ts';
import type { WorkValues } from './work-values.ts';

/** What a graph's turn is made of. */
export interface GraphScope {
  readonly turnId: string;
  readonly graph: AnyGraph;
  readonly run: RunScope;
  readonly parts: SessionParts;
  readonly log: SessionLog;
  readonly lineage: Lineage;
  /** Those of the graph, in its place. */
  readonly limits: Limits;
  /** Names of the tools that agents of the graph may ever use. */
  readonly ceiling: readonly string[];
  /** Hard ceiling of the run, by tool name. */
  readonly boundTools: readonly string[] | undefined;
  readonly decide: DecideIndeterminate;
  /** Runs a graph or a swarm in a session of its own. */
  readonly runNested: RunNested;
  readonly stop: StopSignal;
  readonly schedule: Schedule;
  readonly values: WorkValues;
  readonly machine: Lifecycle<'graph-supervisor'>;
  readonly changes: ChangeSignal;
  /** Aborts the items of a map one of which failed. */
  readonly mapStops: Map<string, MapStop>;
  /** What waits for somebody outside, and ends the run as paused when nothing else is at work. */
  readonly parked: ParkedWork[];
  /** Works below which somebody waits for a person. */
  readonly people: PersonWatch;
  /** Children that an earlier process intended, by session. */
  readonly known: ReadonlyMap<string, ChildFacts>;
  /** A child of the session began, or ended. */
  child(event: Extract<AgentEvent, { readonly type: 'CHILD_STARTED' | 'CHILD_DONE' }>): void;
}

/** A graph or a swarm that another session runs as a child. */
export type NestedRequest<T = AnyGraph | AnySwarm> = Omit<ChildRequest, 'agent'> & { readonly target: T };

/** Runs a graph or a swarm as a child; see `nested-run`. */
export type RunNested = (parts: SessionParts, request: NestedRequest) => Promise<ChildEnd>;

/** A work that lies in the ledger until somebody decides. */
export interface ParkedWork {
  readonly work: string;
  readonly reason: PauseReason;
  readonly approvals: readonly PendingApproval[];
  readonly calls: readonly IndeterminateCall[];
}

/** Tells whoever waits that something changed. */
export class ChangeSignal {
  #next = Promise.withResolvers<void>();

  tell(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** Resolves at the next change from now on. */
  get next(): Promise<void> {
    return this.#next.promise;
  }
}

type WithoutPlace<R> = R extends NewRecord ? Omit<R, 'turn' | 'step' | 'call' | 'cause'> : never;

/** A fact of a graph's turn. */
export type TurnRecord = WithoutPlace<NewRecord>;

/** Records of one append; a store takes no more than `limits.ledger.maxBatchRecords`. */
const RECORDS_AN_APPEND = 128;

/**
 * Makes facts of the turn durable and applies them. A batch of a few stands as one; a larger one of facts that do not
 * depend on each other may be cut.
 * @throws SwarmError as `SessionLog.commit`
 */
export async function commitFacts(scope: GraphScope, facts: readonly TurnRecord[]): Promise<void> {
  for (let from = 0; from < facts.length; from += RECORDS_AN_APPEND) {
    const batch = facts.slice(from, from + RECORDS_AN_APPEND);
    // Adding its place to a record leaves type and data as they were.
    const placed = batch.map((fact) => ({ ...fact, turn: scope.turnId }) as NewRecord);
    for (const record of await scope.log.commit(placed)) scope.schedule.apply(record);
  }
  scope.changes.tell();
}

/** What stops the items of one map: `own`, or the stop of the run with it. One for all of them. */
export interface MapStop {
  readonly own: AbortController;
  readonly either: AbortSignal;
}

/** The signal of one work: the run's stop, or that of the map it is an item of. */
export function signalOf(scope: GraphScope, work: WorkState): AbortSignal {
  const { itemOf } = work;
  if (itemOf === undefined) return scope.stop.signal;
  const known = scope.mapStops.get(itemOf.of.work);
  if (known !== undefined) return known.either;
  const own = new AbortController();
  const either = AbortSignal.any([scope.stop.signal, own.signal]);
  scope.mapStops.set(itemOf.of.work, { own, either });
  return either;
}
