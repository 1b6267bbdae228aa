import { START_STATE } from '../../machines/hooks.ts';
import type { InstanceSnapshot } from '../lifecycle/registry.ts';
import type { TransitionRecord } from '../lifecycle/transition-record.ts';
import type { Telling } from './stately-messages.ts';
import type { QueuedBatch } from './stately-queue.ts';

/** Instances that ended without a record are forgotten when this many are known. */
const PRUNE_FROM = 4_096;

/**
 * Whom a viewer knows. Nothing is told of an instance before it and its parents are registered, on the connection in
 * use and whatever was dropped before.
 */
export class ShownInstances {
  /** The last transition told of each instance that has not ended, in order of start. */
  readonly #told = new Map<string, TransitionRecord>();
  readonly #registered = new Set<string>();
  /** Live ones that a new connection does not know yet. */
  #again: TransitionRecord[] = [];
  #live: (() => readonly InstanceSnapshot[]) | undefined;
  #pruneFrom = PRUNE_FROM;

  /** Gives a way to see which instances are alive. */
  liveBy(live: () => readonly InstanceSnapshot[]): void {
    this.#live = live;
  }

  /** A connection is new: its other end knows nobody. */
  connected(): void {
    this.#registered.clear();
    this.#prune();
    this.#again = [...this.#told.values()];
  }

  /** Registrations of those that were told of on an earlier connection. */
  takeAgain(max: number): readonly Telling[] {
    return this.#again.splice(0, max).map((record) => this.#register(record));
  }

  /** What a viewer is to be told of transitions. */
  tell({ dropped, transitions }: QueuedBatch): readonly Telling[] {
    const tellings: Telling[] = [];
    let count = dropped;
    for (const { record, snapshot } of transitions) {
      const isStart = record.from === START_STATE;
      if (isStart) tellings.push(...this.#parents(record), this.#register(record));
      else if (!this.#registered.has(record.id))
        tellings.push(...this.#parents(record), this.#register(this.#told.get(record.id) ?? record));
      if (count > 0) tellings.push({ type: 'dropped', count, record });
      count = 0;
      tellings.push({ type: 'event', record, snapshot });
      this.#note(record);
    }
    return tellings;
  }

  #note(record: TransitionRecord): void {
    if (record.final === true) {
      this.#told.delete(record.id);
      this.#registered.delete(record.id);
      return;
    }
    this.#told.set(record.id, record);
    if (this.#told.size <= this.#pruneFrom) return;
    this.#prune();
    this.#pruneFrom = Math.max(PRUNE_FROM, 2 * this.#told.size);
  }

  #register(record: TransitionRecord): Telling {
    this.#registered.add(record.id);
    return { type: 'actor', record };
  }

  /** Registrations of those above that are not known, outermost first. */
  #parents({ parentId }: TransitionRecord): readonly Telling[] {
    if (parentId === undefined || this.#registered.has(parentId)) return [];
    const parent = this.#told.get(parentId) ?? this.#liveRecord(parentId);
    return parent === undefined ? [] : [...this.#parents(parent), this.#register(parent)];
  }

  /** Of a parent whose every transition was dropped: as it is now. */
  #liveRecord(id: string): TransitionRecord | undefined {
    const found = this.#live?.().find((one) => one.id === id);
    if (found === undefined) return undefined;
    const { state, ...instance } = found;
    return { ...instance, v: 1, seq: 0, at: Date.now(), from: state, to: state, event: '' };
  }

  #prune(): void {
    if (this.#live === undefined) return;
    const live = new Set(this.#live().map(({ id }) => id));
    for (const id of this.#told.keys()) if (!live.has(id)) this.#told.delete(id);
  }
}
