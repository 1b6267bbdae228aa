import { Worker } from 'node:worker_threads';
import type { MachineSet } from '../../machines/machine-kind.ts';
import { systemClock } from '../clock.ts';
import { resolveMachines } from '../lifecycle/machine-set.ts';
import type { InstanceSnapshot } from '../lifecycle/registry.ts';
import type { TransitionRecord } from '../lifecycle/transition-record.ts';
import { STATELY_LIMITS } from '../limits.ts';
import { anyMachines } from './machine-chart.ts';
import type { StatelyInspector, StatelyStats } from './stately.ts';
import { ShownInstances } from './stately-instances.ts';
import type { ShownMachines } from './stately-messages.ts';
import { StatelyQueue } from './stately-queue.ts';
import type { FromStatelyThread, StatelyThreadData, ToStatelyThread } from './stately-thread.ts';

/** A queue on this side, a thread with the socket on the other; one batch between them at a time. */
export class StatelyBridge implements StatelyInspector {
  readonly #url: string;
  readonly #queue: StatelyQueue;
  readonly #instances = new ShownInstances();
  #machines: MachineSet = resolveMachines();
  #thread: Worker | undefined;
  /** Of the thread; 0 = none is open. */
  #connection = 0;
  #connections = 0;
  /** Nobody listened when the thread tried last. */
  #isRefused = false;
  #isBusy = false;
  #isScheduled = false;
  #isClosed = false;
  #sent = 0;
  #failure: string | undefined;
  /** Callers of `flushed`. */
  #waiters = 0;
  #idle = Promise.withResolvers<void>();

  constructor(url: string, maxQueued: number) {
    this.#url = url;
    this.#queue = new StatelyQueue(maxQueued);
  }

  attach(live: () => readonly InstanceSnapshot[], machines: MachineSet): void {
    this.#instances.liveBy(live);
    this.#machines = machines;
  }

  observe(record: TransitionRecord): void {
    if (this.#isClosed) return;
    this.#thread ??= this.#startThread();
    this.#queue.push(record);
    this.#pumpSoon();
  }

  stats(): StatelyStats {
    const { size, dropped, coalesced } = this.#queue;
    return {
      isConnected: this.#connection > 0,
      connections: this.#connections,
      queued: size,
      sent: this.#sent,
      dropped,
      coalesced,
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
    };
  }

  async flushed(): Promise<boolean> {
    // Somebody waits: for that time the process does too.
    this.#thread?.ref();
    this.#waiters += 1;
    while (this.#isWaiting() && !this.#isRefused && this.#thread !== undefined) await this.#idle.promise;
    this.#waiters -= 1;
    if (this.#waiters === 0) this.#thread?.unref();
    return !this.#isWaiting();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const thread = this.#thread;
    if (thread === undefined) return;
    await within(STATELY_LIMITS.closeMs, this.flushed());
    thread.ref();
    const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    this.#post({ type: 'finish' });
    await within(STATELY_LIMITS.closeMs, ended);
    await thread.terminate();
  }

  #isWaiting(): boolean {
    return this.#isBusy || this.#queue.size > 0;
  }

  #startThread(): Worker {
    const workerData: StatelyThreadData = { url: this.#url, machines: shownMachines(this.#machines) };
    // The compiler renames imports, not this: the file beside this one has the same suffix.
    const suffix = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
    const thread = new Worker(new URL(`./stately-thread${suffix}`, import.meta.url), {
      workerData,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      name: 'swarmwright-stately',
    });
    thread.on('message', (message: FromStatelyThread) => this.#receive(message));
    thread.on('error', (error) => {
      this.#failure = error instanceof Error ? error.message : String(error);
    });
    thread.on('exit', () => this.#disconnected());
    // Last: a listener for messages would take it back.
    thread.unref();
    return thread;
  }

  #receive(message: FromStatelyThread): void {
    switch (message.type) {
      case 'opened':
        this.#connection = message.connection;
        this.#connections += 1;
        this.#isRefused = false;
        this.#instances.connected();
        this.#pump();
        return;
      case 'lost':
      case 'refused':
        this.#disconnected();
        return;
      case 'taken':
        this.#isBusy = false;
        this.#sent += message.sent;
        this.#pump();
        this.#tellIdle();
        return;
    }
  }

  #disconnected(): void {
    this.#connection = 0;
    this.#isRefused = true;
    this.#tellIdle();
  }

  #tellIdle(): void {
    this.#idle.resolve();
    this.#idle = Promise.withResolvers<void>();
  }

  /** Transitions of one tick go together. */
  #pumpSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Not an immediate: without a reference it would wait for whatever else wakes the process.
    setTimeout(() => {
      this.#isScheduled = false;
      this.#pump();
    }, 1).unref();
  }

  #pump(): void {
    if (this.#connection === 0 || this.#isBusy) return;
    const again = this.#instances.takeAgain(STATELY_LIMITS.maxBatch);
    const tellings =
      again.length > 0 ? again : this.#instances.tell(this.#queue.take(STATELY_LIMITS.maxBatch));
    if (tellings.length === 0) return;
    this.#isBusy = true;
    this.#post({ type: 'batch', connection: this.#connection, tellings });
  }

  #post(message: ToStatelyThread): void {
    this.#thread?.postMessage(message);
  }
}

/** What crosses to the thread: text, since configs hold functions. */
function shownMachines(machines: MachineSet): ShownMachines {
  const shown = anyMachines(machines).map((machine) => {
    const tags = Object.entries(machine.states).map(([name, state]) => [name, state.tags] as const);
    return [
      machine.id,
      { config: JSON.stringify(machine.config, named), tags: Object.fromEntries(tags) },
    ] as const;
  });
  // The id of a machine is its kind, and there is one of each.
  return Object.fromEntries(shown) as unknown as ShownMachines;
}

/** Functions by their names, as the inspector shows them. */
function named(_key: string, value: unknown): unknown {
  return typeof value === 'function' ? { type: value.name } : value;
}

/** Waits for something, but not longer. */
async function within(timeoutMs: number, done: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = systemClock.setTimeout(resolve, timeoutMs);
  await Promise.race([done, promise]);
  systemClock.clearTimeout(timer);
}
