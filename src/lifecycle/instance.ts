import { type AnyActorRef, type AnyMachineSnapshot, type AnyStateMachine, createActor } from 'xstate';
import { START_EVENT, START_STATE } from '../../machines/hooks.ts';
import type { ContextOf, EventOf, MachineKind, StateOf } from '../../machines/machine-kind.ts';
import type { Clock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type { Lifecycle, LifecycleEnd, LifecycleFault, StartOptions } from './lifecycle.ts';
import type { RegisteredInstance, RegistryStore } from './registry.ts';
import { type InstanceIds, shortText, type TransitionFacts } from './transition-record.ts';

/** What an instance needs of its host. */
export interface InstancePorts {
  readonly clock: Clock;
  readonly registry: RegistryStore;
  emit(kind: MachineKind, ids: InstanceIds, facts: TransitionFacts): void;
  fault(fault: LifecycleFault): void;
  onLate(): void;
}

/** One XState root actor of its own: nothing it does or throws reaches another. */
export class Instance<K extends MachineKind> implements Lifecycle<K>, RegisteredInstance {
  readonly id: string;
  readonly kind: K;
  readonly ids: InstanceIds;
  readonly done: Promise<LifecycleEnd<K>>;
  readonly #ports: InstancePorts;
  readonly #settle: (end: LifecycleEnd<K>) => void;
  readonly #actor: AnyActorRef & { start(): unknown; stop(): unknown };
  #snapshot: AnyMachineSnapshot;
  #finished = false;

  constructor(kind: K, machine: AnyStateMachine, options: StartOptions<K>, ports: InstancePorts) {
    this.id = options.id;
    this.kind = kind;
    this.ids = idsOf(kind, options, ports.registry);
    this.#ports = ports;
    const { promise, resolve } = Promise.withResolvers<LifecycleEnd<K>>();
    this.done = promise;
    this.#settle = resolve;
    const actor = createActor(machine, { id: options.id, input: options.input, clock: ports.clock });
    // Without an error observer XState rethrows in a timer and ends the process.
    actor.subscribe({ error: () => undefined });
    actor.start();
    this.#actor = actor;
    this.#snapshot = actor.getSnapshot();
    if (this.#snapshot.status === 'error') throw unusableInput(kind, this.#snapshot.error);
    this.#begin(options.replay);
  }

  get state(): StateOf<K> {
    // Machines are flat: the value is the name of one state.
    return this.#snapshot.value as StateOf<K>;
  }

  get context(): ContextOf<K> {
    // The snapshot is that of the machine of this kind.
    return this.#snapshot.context as ContextOf<K>;
  }

  get finished(): boolean {
    return this.#finished;
  }

  send(event: EventOf<K>): boolean {
    return this.#apply(event, false);
  }

  /** Ends the instance without an event. */
  stop(): void {
    if (this.#finished) return;
    this.#actor.stop();
    this.#finish('dropped');
  }

  #begin(replay: readonly EventOf<K>[] | undefined): void {
    this.#ports.registry.add(this);
    const replayed = replay !== undefined;
    this.#record({ from: START_STATE, event: { type: START_EVENT }, replayed });
    for (const event of replay ?? []) this.#apply(event, true);
  }

  #apply(event: EventOf<K>, replayed: boolean): boolean {
    if (this.#finished) {
      this.#ports.onLate();
      return false;
    }
    const before = this.#snapshot;
    const from = this.state;
    this.#actor.send(event);
    this.#snapshot = this.#actor.getSnapshot();
    const { status } = this.#snapshot;
    if (status === 'error') return this.#fault(event, replayed);
    // XState gives back the very same snapshot where no transition was taken.
    const illegal = this.#snapshot === before;
    const final = status === 'done';
    const liveChildren = final ? this.#ports.registry.liveChildren(this.id) : 0;
    if (final) this.#finish(this.state);
    this.#record({ from, event, replayed, illegal, final, liveChildren });
    return !illegal;
  }

  /** A dead actor keeps the state it had. What threw is told once, never thrown on. */
  #fault(event: EventOf<K>, replayed: boolean): false {
    const { kind, id, state } = this;
    const cause: unknown = this.#snapshot.error;
    const error = new SwarmError('machine-fault', `${kind} ${id} threw at ${event.type} in ${state}`, {
      cause,
    });
    this.#finish('faulted');
    this.#record({ from: state, event, replayed, fault: true, final: true });
    this.#ports.fault({ source: 'machine', kind, id, session: this.ids.session, event: event.type, error });
    return false;
  }

  #finish(end: LifecycleEnd<K>): void {
    this.#finished = true;
    this.#ports.registry.remove(this);
    this.#settle(end);
  }

  #record(facts: Omit<TransitionFacts, 'to' | 'context'>): void {
    this.#ports.emit(this.kind, this.ids, { ...facts, to: this.state, context: this.context });
  }
}

function unusableInput(kind: MachineKind, cause: unknown): SwarmError {
  return new SwarmError('machine-fault', `the input of a ${kind} machine cannot be used`, { cause });
}

/** Ids of an instance: its own, and those of its parent as far as both are of the same session. */
function idsOf<K extends MachineKind>(
  kind: K,
  { id, name, parentId, rootId, session, input }: StartOptions<K>,
  registry: RegistryStore,
): InstanceIds {
  const parent = parentId === undefined ? undefined : registry.find(parentId)?.ids;
  const { turn, step, call } = parent?.session === session ? parent : ({} as Partial<InstanceIds>);
  const own = {
    turn: 'turnId' in input && input.turnId !== undefined ? input.turnId : turn,
    step: 'stepId' in input ? input.stepId : step,
    call: kind === 'tool-call' && 'callId' in input ? input.callId : call,
  };
  return Object.freeze({
    id,
    ...(name !== undefined && { name: shortText(name) }),
    ...(parentId !== undefined && { parentId }),
    rootId,
    session,
    ...(own.turn !== undefined && { turn: own.turn }),
    ...(own.step !== undefined && { step: own.step }),
    ...(own.call !== undefined && { call: own.call }),
  });
}
