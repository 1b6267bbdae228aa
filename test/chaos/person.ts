import { setTimeout as wait } from 'node:timers/promises';
import { parkedRequests } from '../../src/ledger/recovery.ts';
import { foldSession } from '../../src/ledger/turn-facts.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { agentsOf } from './agents.ts';
import type { Pool } from './pool.ts';
import { resubmit } from './queue.ts';
import { sessionOf } from './submissions.ts';
import type { Task } from './tasks.ts';

/** Somebody who looks after a pool: allows what asks, and decides on calls in doubt. */
export interface Person extends AsyncDisposable {
  /** Tasks without an end, as of the last look. */
  readonly open: ReadonlySet<string>;
}

const LOOKS_MS = 250;

/** `tasks` may grow. `doubt` is what becomes of calls whose outcome is unknown. */
export async function attendTo(
  pool: Pool,
  tasks: readonly Task[],
  doubt: 'retry' | 'abandon',
): Promise<Person> {
  const { client, ns, leaseMs } = pool;
  const ledger = await jetstreamLedger({ connection: client, ns, leaseMs });
  const runtime = createRuntime({ ledger, agents: agentsOf(pool.world) });
  const stop = new AbortController();
  const ended = new Set<string>();
  const attend = async (task: Task) => {
    const { turns, openTurn } = foldSession(await ledger.read(sessionOf(task)));
    if (openTurn === undefined && turns.length > 0) ended.add(task.id);
    if (openTurn?.paused !== true) return;
    const parked = parkedRequests(openTurn);
    for (const { request } of parked)
      await runtime.approvals.decide(request.request, { decision: 'approve' });
    if (parked.length > 0) await resubmit(pool, task);
    else await decideOnDoubt(runtime, task, doubt);
  };
  const look = async () => {
    while (!stop.signal.aborted) {
      for (const task of tasks) {
        // The broker may be away, or somebody has the session: the next look comes soon.
        if (!ended.has(task.id)) await attend(task).catch(() => undefined);
      }
      await wait(LOOKS_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  };
  const looking = look();
  return {
    get open() {
      return new Set(tasks.map(({ id }) => id).filter((id) => !ended.has(id)));
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await looking;
      await runtime.close();
    },
  };
}

async function decideOnDoubt(runtime: Runtime, task: Task, doubt: 'retry' | 'abandon'): Promise<void> {
  await runtime.resume('lead', sessionOf(task), { indeterminate: () => doubt }).result;
}
