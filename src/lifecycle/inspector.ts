import type { InstanceSnapshot } from './registry.ts';
import type { TransitionRecord } from './transition-record.ts';

/** Something that shows running machines. Given to the runtime as an object; never waited for. */
export interface Inspector {
  /** Called once, with a way to see what is live: a viewer that connects late has to be told. */
  attach?(live: () => readonly InstanceSnapshot[]): void;
  /** A transition happened. Must return at once; what it throws is counted and dropped. */
  observe(record: TransitionRecord): void;
  /** The runtime closes. */
  close?(): Promise<void> | void;
}
