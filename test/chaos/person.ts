import { setTimeout as wait } from 'node:timers/promises';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { createRuntime } from '../../src/runtime.ts';
import { agentsOf } from './agents.ts';
import type { Pool } from './pool.ts';

/** Somebody who looks after a pool from a process of its own: allows what asks, and decides on calls in doubt. */
export interface Person extends AsyncDisposable {
  /** Sessions of which it was told that their run is over, with how it ended. */
  readonly told: ReadonlyMap<string, string>;
}

/** Pause before something is tried again that could not be done. */
const AGAIN_MS = 200;

/** `doubt` is what becomes of calls whose outcome is unknown. */
export async function attendTo(pool: Pool, doubt: 'retry' | 'abandon'): Promise<Person> {
  const { client: connection, ns, leaseMs } = pool;
  const ledger = await jetstreamLedger({ connection, ns, leaseMs });
  const agents = agentsOf(pool.world);
  const runtime = createRuntime({ ledger, agents, pool: natsPool({ connection, ns }) });
  const stop = new AbortController();
  const told = new Map<string, string>();
  const acts = new Set<Promise<void>>();
  const resume = async (session: string) => {
    await runtime.resume('lead', session, { indeterminate: () => doubt }).result;
  };
  const see = (record: LedgerRecord) => {
    if (record.type === 'permission.requested') {
      const { request } = record.data;
      return insist(() => runtime.approvals.decide(request, { decision: 'approve' }), stop.signal);
    }
    if (record.type !== 'run.settled') return undefined;
    if (record.data.status !== 'paused') told.set(record.session, record.data.status);
    else if (record.data.pause === 'indeterminate') return insist(() => resume(record.session), stop.signal);
    return undefined;
  };
  const watching = (async () => {
    for await (const { record } of ledger.tail(0, stop.signal)) {
      const act = see(record);
      if (act !== undefined) acts.add(act);
    }
  })();
  return {
    told,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
      await runtime.close();
      await Promise.all(acts);
    },
  };
}

/** Does something until it can be done: the broker may be away, or a session between two owners. */
async function insist(act: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      return await act();
    } catch {
      await wait(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
