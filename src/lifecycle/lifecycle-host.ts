import { SwarmError } from '../errors.ts';
import { Instance, type InstancePorts } from './instance.ts';
import type { LifecycleFault, LifecycleHost, LifecycleHostOptions } from './lifecycle.ts';
import { resolveMachines } from './machine-set.ts';
import { createRegistry } from './registry.ts';
import { buildRecord, type TransitionRecord } from './transition-record.ts';

/**
 * A host with no instance yet.
 * @throws SwarmError 'invalid-machine' when a provided machine is not one of the runtime
 */
export function createLifecycleHost(options: LifecycleHostOptions): LifecycleHost {
  const machines = resolveMachines(options.machines);
  const registry = createRegistry();
  let lateEvents = 0;
  const ports: InstancePorts = {
    clock: options.clock,
    registry,
    ...createEmitter(options),
    onLate() {
      lateEvents += 1;
    },
  };

  return {
    registry,
    machines,
    get lateEvents() {
      return lateEvents;
    },
    start(kind, start) {
      if (registry.has(start.id)) {
        throw new SwarmError('duplicate-instance', `a live instance has the id '${start.id}'`);
      }
      return new Instance(kind, machines[kind], start, ports);
    },
    stopTree(id) {
      // Children first, so that a parent never outlives what it would have to hear of.
      for (const child of registry.childrenOf(id)) this.stopTree(child);
      registry.find(id)?.stop();
    },
    stopAll() {
      for (const instance of registry.newestFirst()) instance.stop();
    },
  };
}

/**
 * Builds each record once and hands it on in order. A record made while another is being observed waits for
 * its turn, so an observer that sends an event sees the records in the order they happened.
 */
function createEmitter(options: LifecycleHostOptions): Pick<InstancePorts, 'emit' | 'fault'> {
  const waiting: TransitionRecord[] = [];
  let seq = 0;
  let observing = false;

  const fault = (one: LifecycleFault): void => {
    try {
      options.onFault?.(one);
    } catch {
      // The last one to be told threw as well; there is nobody left to tell.
    }
  };

  const hand = (record: TransitionRecord): void => {
    try {
      options.observe?.(record);
    } catch (cause) {
      const { kind, id, session, event } = record;
      const error = new SwarmError('machine-fault', `the observer threw at ${kind} ${event}`, { cause });
      fault({ source: 'observer', kind, id, session, event, error });
    }
  };

  return {
    fault,
    emit(kind, ids, facts) {
      seq += 1;
      // A record nobody would look at is not built; what no state accepts is recorded in any case.
      if (facts.illegal !== true && facts.fault !== true && options.wants?.(ids.session) === false) return;
      waiting.push(buildRecord(kind, ids, { seq, at: options.clock.now() }, facts));
      if (observing) return;
      observing = true;
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) hand(next);
      observing = false;
    },
  };
}
