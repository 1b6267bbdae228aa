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
  /** Live children of a live instance that were started while it lived, oldest first. */
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

/** Children stand at their live parent, so that nothing is left of a parent that ended. */
interface Entry {
  readonly instance: RegisteredInstance;
  children?: Set<string>;
}

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
  const live = new Map<string, Entry>();

  const parentOf = ({ ids }: RegisteredInstance): Entry | undefined =>
    ids.parentId === undefined ? undefined : live.get(ids.parentId);

  return {
    get size() {
      return live.size;
    },
    has: (id) => live.has(id),
    find: (id) => live.get(id)?.instance,
    get(id) {
      const entry = live.get(id);
      return entry && snapshotOf(entry.instance);
    },
    childrenOf: (id) => [...(live.get(id)?.children ?? [])],
    liveChildren: (id) => live.get(id)?.children?.size ?? 0,
    snapshot: () => [...live.values()].map(({ instance }) => snapshotOf(instance)),
    newestFirst: () => [...live.values()].reverse().map(({ instance }) => instance),
    add(instance) {
      live.set(instance.ids.id, { instance });
      const parent = parentOf(instance);
      if (parent === undefined) return;
      parent.children ??= new Set();
      parent.children.add(instance.ids.id);
    },
    remove(instance) {
      live.delete(instance.ids.id);
      parentOf(instance)?.children?.delete(instance.ids.id);
    },
  };
}
