import { onTestFinished } from 'vitest';
import type { AnyAgent } from '../../src/agent/define-agent.ts';
import type { QueuedWake, WorkPool } from '../../src/agent/work-pool.ts';
import { type TurnWork, workOf } from '../../src/graph/turn-work.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { type QueueEntry, queueEntrySchema } from '../../src/nats/queue-entry.ts';
import { type EntryEnd, workOnEntry } from '../../src/nats/work-on-entry.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';

/** A worker that does nothing until it is handed an entry. */
export interface HandedWorker {
  readonly runtime: Runtime;
  readonly work: TurnWork;
  hand(entry: QueueEntry): Promise<EntryEnd>;
}

/** A pool in this process whose entries lie here: a test says who is handed what, when, and how often. */
export async function memoryPool(agents: readonly AnyAgent[]) {
  const store = await memoryLedger();
  onTestFinished(() => store.close());
  const entries: QueueEntry[] = [];
  const pool: WorkPool = {
    name: 'memory',
    async submit(run) {
      entries.push(entryOf(run));
      return { type: 'queued', isRepeated: false };
    },
    async wake({ pool: _, ...wake }: QueuedWake) {
      entries.push(entryOf({ kind: 'wake', ...wake }));
    },
    close: () => Promise.resolve(),
  };
  const workerOf = (runtime: Runtime): HandedWorker => {
    const work = workOf(runtime);
    if (work === undefined) throw new Error('not a runtime');
    return { runtime, work, hand: (entry) => workOnEntry({ work }, entry, 1) };
  };
  const made = (over: Partial<Ledger>): Runtime => {
    const registry = Object.fromEntries(agents.map((agent) => [agent.name, agent]));
    const ledger = laidOver(store, { close: () => Promise.resolve(), ...over });
    return createRuntime({ ledger, agents: registry, pool });
  };
  const runtimeOf = (over: Partial<Ledger> = {}): Runtime => {
    const runtime = made(over);
    onTestFinished(() => runtime.close());
    return runtime;
  };
  return {
    store,
    entries,
    runtimeOf,
    /** `over` stands in place of operations of its ledger. */
    worker: (over?: Partial<Ledger>): HandedWorker => workerOf(runtimeOf(over)),
    /** One that is halted at a fault of its ledger: nothing of it answers then, and nobody closes it. */
    mortal: (over: Partial<Ledger>): HandedWorker => workerOf(made(over)),
  };
}

/** As it is read out of a queue. */
export function entryOf(entry: object): QueueEntry {
  return queueEntrySchema.parse(JSON.parse(JSON.stringify({ v: 1, ...entry })));
}

function laidOver(ledger: Ledger, over: Partial<Ledger>): Ledger {
  return new Proxy(ledger, {
    get(target, name) {
      const value: unknown = Reflect.get(over, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
