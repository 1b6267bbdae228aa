import type {
  ContextOf,
  EventOf,
  InputOf,
  MachineKind,
  MachineSet,
  StateOf,
} from '../../machines/machine-kind.ts';
import type { Clock } from '../clock.ts';
import type { SwarmError } from '../errors.ts';
import type { Registry } from './registry.ts';
import type { TransitionRecord } from './transition-record.ts';

/**
 * How an instance ended: in a final state, `'faulted'` where a guard or action threw, `'dropped'` where the host
 * was stopped first.
 */
export type LifecycleEnd<K extends MachineKind> = StateOf<K> | 'faulted' | 'dropped';

/** One running machine. The only seam between the runtime and XState. */
export interface Lifecycle<K extends MachineKind> {
  readonly id: string;
  readonly kind: K;
  readonly state: StateOf<K>;
  readonly context: ContextOf<K>;
  /** In a final state, faulted or dropped: no event changes it any more. */
  readonly finished: boolean;
  /**
   * Tells the machine what happened and runs the transition at once. `false`: the state does not accept the
   * event, nothing changed, and a record marked `illegal` says so. After the end there is no record either.
   */
  send(event: EventOf<K>): boolean;
  /** How it ended. Never rejects. */
  readonly done: Promise<LifecycleEnd<K>>;
}

/** Who an instance is, and what it starts from. */
export interface StartOptions<K extends MachineKind> {
  /** Unique among live instances. */
  readonly id: string;
  /** What a person knows it by, where it has a name. */
  readonly name?: string;
  /** The instance that started it, alive or not. */
  readonly parentId?: string;
  readonly rootId: string;
  readonly session: string;
  readonly input: InputOf<K>;
  /**
   * Events that bring a restored instance to where its facts left it. Applied before `start` returns; their
   * records, that of the creation included, are marked `replayed` and fire no hook.
   */
  readonly replay?: readonly EventOf<K>[];
}

/** Something threw where nothing may throw. The process and all other instances go on. */
export interface LifecycleFault {
  /** A guard or action of a machine, or the observer of records. */
  readonly source: 'machine' | 'observer';
  readonly kind: MachineKind;
  readonly id: string;
  readonly session: string;
  /** Event that was being handled. */
  readonly event: string;
  /** `machine-fault`, with what was thrown as its cause. */
  readonly error: SwarmError;
}

export interface LifecycleHostOptions {
  /** Machines made by `provide` of those of the runtime; the rest are the runtime's own. */
  readonly machines?: Partial<MachineSet>;
  readonly clock: Clock;
  /** Called once for each record, in `seq` order, after the transition. What it throws is a fault, not a stop. */
  readonly observe?: (record: TransitionRecord) => void;
  /** Whether anybody looks at records of a session now. Default: always. Illegal events are recorded in any case. */
  readonly wants?: (session: string) => boolean;
  readonly onFault?: (fault: LifecycleFault) => void;
}

/** Runs the machines of one runtime. */
export interface LifecycleHost {
  /**
   * Creates an instance in its first state.
   * @throws SwarmError 'duplicate-instance' when a live instance has the id, 'machine-fault' when no first state
   * can be made of the input
   */
  start<K extends MachineKind>(kind: K, options: StartOptions<K>): Lifecycle<K>;
  readonly registry: Registry;
  /** What runs: the machines of the runtime, with those that were provided in place. */
  readonly machines: MachineSet;
  /** Events sent to instances that had ended. More than a few of them are a defect of the sender. */
  readonly lateEvents: number;
  /** Drops a live instance and everything below it: it left this process without an end. */
  stopTree(id: string): void;
  /** Drops every live instance, children first. No event is sent; `done` of each is `'dropped'`. */
  stopAll(): void;
}
