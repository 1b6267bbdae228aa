import { setTimeout as wait } from 'node:timers/promises';
import type { NatsClient } from '../../src/nats/client.ts';
import { brokenIn, type Check } from '../invariants/swarm.ts';
import { agentsOf } from './agents.ts';
import { type Counts, countOf } from './counts.ts';
import { carryOut } from './faults.ts';
import { attendTo } from './person.ts';
import { type Pool, startPool } from './pool.ts';
import { createRandom, type Random } from './random.ts';
import { type Fault, faultOf } from './schedule.ts';
import { lookBack, settled } from './settling.ts';
import { submit } from './submissions.ts';
import { takeoversAfter } from './takeovers.ts';
import { TASK_KINDS, type Task } from './tasks.ts';
import { type Watch, watchPool } from './watch.ts';

/** `clean`: nothing was lost, nothing was done twice, every invariant holds. */
export type DemoEnd = 'clean' | 'broken' | 'stopped';

export interface DemoOptions {
  readonly seed: number;
  /** How long tasks are given and things go wrong. */
  readonly seconds: number;
  /** Ends it early. Everything is cleaned up all the same. */
  readonly signal: AbortSignal;
  /** A line for good. */
  say(line: string): void;
  /** A line that the next one takes the place of. */
  show(line: string): void;
  openPage?(connection: NatsClient, ns: string): Promise<AsyncDisposable>;
}

const LEASE_SECONDS = 2;
const WORKERS = 3;
/** Tasks at once, and the time between two. */
const MOST_OPEN = 10;
const TASK_MS = 400;
/** Least and most time between two faults. */
const FAULT_MS = [800, 2_500] as const;
const SHOW_MS = 500;

/** Runs a swarm on workers that are killed, with a broker that is killed, and counts what was lost or done twice. */
export async function runDemo(options: DemoOptions): Promise<DemoEnd> {
  const { seed, signal, say } = options;
  say(`A server, a provider and ${WORKERS} workers with a lease of ${LEASE_SECONDS} s; seed ${seed}.`);
  await using pool = await startPool({ workers: WORKERS, leaseSeconds: LEASE_SECONDS, ns: 'demo' });
  await using watch = watchPool(pool);
  await using _page = (await options.openPage?.(pool.client, pool.ns)) ?? new AsyncDisposableStack();
  const demo = new Demo(pool, watch, options);
  try {
    return await demo.play();
  } catch (error) {
    if (signal.aborted) return 'stopped';
    throw error;
  }
}

class Demo {
  readonly #pool: Pool;
  readonly #watch: Watch;
  readonly #options: DemoOptions;
  readonly #start = Date.now();
  readonly #submitted: Task[] = [];
  readonly #faults: { readonly at: number; readonly type: Fault['type'] }[] = [];

  constructor(pool: Pool, watch: Watch, options: DemoOptions) {
    this.#pool = pool;
    this.#watch = watch;
    this.#options = options;
  }

  async play(): Promise<DemoEnd> {
    const { client: connection, ns, leaseMs, world } = this.#pool;
    const agents = () => agentsOf(world);
    await using _person = await attendTo({
      ...{ connection, ns, leaseMs, agents, doubt: 'abandon' },
      targetOf: () => 'lead',
      steersDuring: 'slow',
    });
    const shown = setInterval(() => this.#options.show(this.#line()), SHOW_MS);
    try {
      const random = createRandom(this.#options.seed);
      await Promise.all([this.#give(random), this.#break(random)]);
      this.#options.say('Nothing goes wrong any more; what is open comes to its end.');
      await this.#unlessStopped(settled(this.#pool, () => this.#open() > 0));
    } finally {
      clearInterval(shown);
    }
    const { checks } = await this.#unlessStopped(lookBack(this.#pool, this.#watch));
    return this.#tell(checks);
  }

  get #isTime(): boolean {
    return Date.now() - this.#start < this.#options.seconds * 1_000;
  }

  #counts(): Counts {
    return countOf(this.#watch.told, this.#pool.spy.read());
  }

  #open(): number {
    return this.#submitted.length - this.#counts().settled;
  }

  /** Gives one task after the other, as long as not too many are open. */
  async #give(random: Random): Promise<void> {
    for (let at = 0; this.#isTime; at += 1) {
      if (this.#open() < MOST_OPEN) {
        const task: Task = { id: `demo-${at}`, kind: random.pick(TASK_KINDS) };
        await submit(this.#pool, task);
        this.#submitted.push(task);
      }
      await wait(TASK_MS, undefined, { signal: this.#options.signal });
    }
  }

  async #break(random: Random): Promise<void> {
    const under: Promise<unknown>[] = [];
    while (this.#isTime) {
      await wait(random.between(...FAULT_MS), undefined, { signal: this.#options.signal });
      const fault = faultOf(random, { leaseMs: this.#pool.leaseMs, workers: WORKERS });
      this.#faults.push({ at: Date.now(), type: fault.type });
      this.#options.say(`${this.#seconds()}  ${WORDS[fault.type]}`);
      under.push(carryOut(this.#pool, fault, this.#submitted));
    }
    await Promise.all(under);
  }

  /** A pool that is being cleaned up says nothing that anybody waits for. */
  #unlessStopped<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#options;
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      if (signal.aborted) reject(signal.reason);
    });
    return Promise.race([work, stopped]);
  }

  #seconds(): string {
    return `${((Date.now() - this.#start) / 1_000).toFixed(1).padStart(6)} s`;
  }

  #line(lost = 0): string {
    const { settled: ended, doubled } = this.#counts();
    const given = this.#submitted.length;
    const kills = this.#faults.filter(({ type }) => type === 'kill' || type === 'broker').length;
    return `${this.#seconds()}  submitted ${given}  settled ${ended}  lost ${lost}  doubled ${doubled}  kills ${kills}`;
  }

  /** The counts at the end: what has no end, and facts or events that are gone, are lost. */
  #tell(checks: readonly Check[]): DemoEnd {
    const { say } = this.#options;
    const { doubled } = this.#counts();
    const gone = checks.filter(({ invariant }) => invariant === 'I2' || invariant === 'I13');
    const lost = this.#open() + brokenIn(gone).length;
    for (const { invariant, saw, broken } of checks) {
      say(`${broken.length === 0 ? '  ok' : 'FAIL'}  ${invariant.padEnd(8)}${saw}`);
      for (const line of broken) say(`      ${line}`);
    }
    say(this.#takeovers());
    say(this.#line(lost));
    return lost === 0 && doubled === 0 && brokenIn(checks).length === 0 ? 'clean' : 'broken';
  }

  #takeovers(): string {
    const kills = this.#faults.filter(({ type }) => type === 'kill').map(({ at }) => at);
    const taken = takeoversAfter(this.#watch.told, kills).toSorted((a, b) => a - b);
    const [most, middle] = [taken.at(-1), taken[Math.floor(taken.length / 2)]];
    if (most === undefined || middle === undefined) return 'No turn was taken over from a killed worker.';
    const words = `median ${(middle / 1_000).toFixed(1)} s, longest ${(most / 1_000).toFixed(1)} s`;
    return `Turns taken over after kill -9: ${taken.length}, ${words} (lease ${LEASE_SECONDS} s).`;
  }
}

const WORDS: Readonly<Record<Fault['type'], string>> = {
  kill: 'kill -9 of a worker',
  freeze: 'a worker stands still past its lease',
  end: 'SIGTERM of a worker',
  broker: 'kill -9 of the broker',
  'slow-disk': 'the disk of the broker is slow',
  redeliver: 'a turn is handed out once more',
  resubmit: 'a turn is queued once more',
};
