import type { MachineKind } from '../../machines/machine-kind.ts';
import { contextMeta, type InstanceIds, type TransitionMeta } from './transition-record.ts';

/** A live instance as the registry sees it: enough to name it, place it and show it. */
export interface RegisteredInstance {
  readonly kind: MachineKind;
  readonly ids: InstanceIds;
  readonly state: string;
  readonly context: object;
  stop(): void;
}

/** A live instance as plain data: what a viewer that connects late has to be told. */
export interface InstanceSnapshot extends InstanceIds {
  readonly kind: MachineKind;
  readonly machineId: string;
  readonly state: string;
  readonly meta: TransitionMeta;
}

/** Live instances and who started whom. Finished ones are not in it, so its size is that of the work under way. */
export interface Registry {
  readonly size: number;
  has(id: string): boolean;
  get(id: string): InstanceSnapshot | undefined;
  /** Live children of an instance, oldest first. */
  childrenOf(id: string): readonly string[];
  /** Every live instance, parents before their children. */
  snapshot(): readonly InstanceSnapshot[];
}

/** The registry with the half that only the lifecycle host uses. */
export interface RegistryStore extends Registry {
  add(instance: RegisteredInstance): void;
  remove(instance: RegisteredInstance): void;
  find(id: string): RegisteredInstance | undefined;
  liveChildren(id: string): number;
  /** Newest first, so that children stop before their parents. */
  newestFirst(): readonly RegisteredInstance[];
}

const NONE: ReadonlySet<string> = new Set();

function snapshotOf(instance: RegisteredInstance): InstanceSnapshot {
  const { kind, ids, state, context } = instance;
  return Object.freeze({
    ...ids,
    kind,
    machineId: kind,
    state,
    meta: Object.freeze(contextMeta(kind, context)),
  });
}

/** An empty registry. All operations cost O(1), `snapshot` and `newestFirst` O(live). */
export function createRegistry(): RegistryStore {
  // Insertion order is start order, and a parent starts before its children.
  const live = new Map<string, RegisteredInstance>();
  const children = new Map<string, Set<string>>();

  return {
    get size() {
      return live.size;
    },
    has: (id) => live.has(id),
    find: (id) => live.get(id),
    get(id) {
      const instance = live.get(id);
      return instance && snapshotOf(instance);
    },
    childrenOf: (id) => [...(children.get(id) ?? NONE)],
    liveChildren: (id) => children.get(id)?.size ?? 0,
    snapshot: () => [...live.values()].map(snapshotOf),
    newestFirst: () => [...live.values()].reverse(),
    add(instance) {
      const { id, parentId } = instance.ids;
      live.set(id, instance);
      if (parentId === undefined) return;
      const siblings = children.get(parentId);
      if (siblings === undefined) children.set(parentId, new Set([id]));
      else siblings.add(id);
    },
    remove(instance) {
      const { id, parentId } = instance.ids;
      if (live.get(id) !== instance) return;
      live.delete(id);
      if (parentId === undefined) return;
      const siblings = children.get(parentId);
      siblings?.delete(id);
      if (siblings?.size === 0) children.delete(parentId);
    },
  };
}
