import { type Clock, sleep } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { toldOfSession } from '../ledger/run-standing.ts';
import { placedParent } from './placed-work.ts';
import type { QueuedRun, QueuedWake, WorkPool } from './work-pool.ts';

/** First and longest pause before a run is offered again whose session has another one in the pool. */
const BUSY_MS = 50;
const MAX_BUSY_MS = 2_000;

/** What a runtime gives to its pool, in the order it is given. */
export class PoolDesk {
  readonly #pool: WorkPool;
  readonly #clock: Clock;
  readonly #maxWaiting: number;
  /** Runs that wait for their session, and the last of them. */
  readonly #lanes = new Map<string, { waiting: number; last: Promise<unknown> }>();

  constructor(pool: WorkPool, options: { readonly clock: Clock; readonly mailbox: number }) {
    this.#pool = pool;
    this.#clock = options.clock;
    this.#maxWaiting = options.mailbox;
  }

  /**
   * Queues a run, behind those given before for its session. True once it is durable, false if `signal` aborts first.
   * @throws SwarmError 'mailbox-full', and those of the pool
   */
  async queue(run: QueuedRun, signal: AbortSignal): Promise<boolean> {
    const lane = this.#lanes.get(run.session) ?? { waiting: 0, last: Promise.resolve() };
    if (lane.waiting >= this.#maxWaiting) {
      throw new SwarmError('mailbox-full', `the mailbox of ${run.session} is full`);
    }
    lane.waiting += 1;
    const queued = lane.last.then(() => this.#offer(run, signal));
    lane.last = queued.catch(() => undefined);
    this.#lanes.set(run.session, lane);
    try {
      return await queued;
    } finally {
      lane.waiting -= 1;
      if (lane.waiting === 0) this.#lanes.delete(run.session);
    }
  }

  get name(): string {
    return this.#pool.name;
  }

  wake(wake: QueuedWake): Promise<void> {
    return this.#pool.wake(wake);
  }

  async #offer(run: QueuedRun, signal: AbortSignal): Promise<boolean> {
    for (let pauseMs = BUSY_MS; !signal.aborted; pauseMs = Math.min(MAX_BUSY_MS, pauseMs * 2)) {
      if ((await this.#pool.submit(run)).type === 'queued') return true;
      await sleep(this.#clock, pauseMs, signal);
    }
    return false;
  }
}

/** The session whose worker has what goes on in another one: itself, or the one above that it goes on with. */
export async function placedSession(ledger: Ledger, session: string): Promise<string> {
  let at = session;
  for (;;) {
    const records = await ledger.read(at);
    const above = records[0]?.parent;
    if (above === undefined || (await placedParent(ledger, records)) !== undefined) return at;
    at = above;
  }
}

/**
 * Has somebody go on with a session: a worker of the pool that had it last, whichever the runtime gives its own runs to.
 * @throws SwarmError of the ledger and of the pool
 */
export async function wakeWorkers(desk: PoolDesk, ledger: Ledger, wake: QueuedWake): Promise<void> {
  const pool = toldOfSession(await ledger.read(wake.session))?.data.pool;
  await desk.wake({ ...wake, pool });
}
