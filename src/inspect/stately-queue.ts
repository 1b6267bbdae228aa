import { START_STATE } from '../../machines/hooks.ts';
import type { TransitionRecord } from '../lifecycle/transition-record.ts';
import { STATELY_LIMITS } from '../limits.ts';

/** One transition on its way to a viewer. */
export interface QueuedTransition {
  readonly record: TransitionRecord;
  /** False where a later snapshot of the same instance is on its way too. */
  snapshot: boolean;
}

/** What a {@link StatelyQueue} gives at once. */
export interface QueuedBatch {
  /** Messages that were dropped before these. */
  readonly dropped: number;
  readonly transitions: readonly QueuedTransition[];
}

/**
 * Transitions that wait for a viewer, oldest first. A long queue keeps of each instance only the newest snapshot; a
 * full one drops from its old end, registrations too: who is registered is known without it.
 */
export class StatelyQueue {
  readonly #maxMessages: number;
  readonly #coalesceFrom: number;
  #entries: QueuedTransition[] = [];
  /** Entries before it are gone. */
  #head = 0;
  /** The newest entry of each instance. */
  readonly #newest = new Map<string, QueuedTransition>();
  #messages = 0;
  #dropped = 0;
  #coalesced = 0;
  /** Of `dropped`, those no batch has told of. */
  #untold = 0;

  constructor(maxMessages: number) {
    this.#maxMessages = maxMessages;
    this.#coalesceFrom = Math.min(STATELY_LIMITS.coalesceFrom, maxMessages / 2);
  }

  /** Messages that wait. */
  get size(): number {
    return this.#messages;
  }

  /** Messages that were dropped in all. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Snapshots that were left out, as a newer one followed. */
  get coalesced(): number {
    return this.#coalesced;
  }

  push(record: TransitionRecord): void {
    const before = this.#newest.get(record.id);
    if (this.#messages >= this.#coalesceFrom && before?.snapshot === true && !isStart(before)) {
      before.snapshot = false;
      this.#messages -= 1;
      this.#coalesced += 1;
    }
    const entry = { record, snapshot: true };
    this.#entries.push(entry);
    this.#newest.set(record.id, entry);
    this.#messages += messagesOf(entry);
    while (this.#messages > this.#maxMessages) this.drop(this.#shift());
  }

  take(max: number): QueuedBatch {
    const transitions: QueuedTransition[] = [];
    while (transitions.length < max && this.#head < this.#entries.length) transitions.push(this.#shift());
    const dropped = this.#untold;
    this.#untold = 0;
    return { dropped, transitions };
  }

  /** Counts a transition that no viewer gets. */
  drop(entry: QueuedTransition): void {
    this.#dropped += messagesOf(entry);
    this.#untold += messagesOf(entry);
  }

  #shift(): QueuedTransition {
    // Only called where an entry is left.
    const entry = this.#entries[this.#head] as QueuedTransition;
    this.#head += 1;
    this.#messages -= messagesOf(entry);
    if (this.#newest.get(entry.record.id) === entry) this.#newest.delete(entry.record.id);
    if (this.#head === this.#entries.length || this.#head > this.#maxMessages) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    return entry;
  }
}

/** The first transition of an instance, which registers it. */
export function isStart({ record }: QueuedTransition): boolean {
  return record.from === START_STATE;
}

/** An event, its snapshot, and for a start the registration. */
function messagesOf(entry: QueuedTransition): number {
  return (entry.snapshot ? 2 : 1) + (isStart(entry) ? 1 : 0);
}
