import type { MachineSet } from '../../machines/machine-kind.ts';
import type { InstanceSnapshot } from './registry.ts';
import type { TransitionRecord } from './transition-record.ts';

/** Something that shows running machines. Given to the runtime as an object; never waited for. */
export interface Inspector {
  /**
   * Called once, with a way to see what is live, as a viewer that connects late has to be told, and with the machines
   * that run: those of the runtime, or what a user made of them.
   */
  attach?(live: () => readonly InstanceSnapshot[], machines: MachineSet): void;
  /** A transition happened. Must return at once; what it throws is counted and dropped. */
  observe(record: TransitionRecord): void;
  /** The runtime closes. */
  close?(): Promise<void> | void;
}
