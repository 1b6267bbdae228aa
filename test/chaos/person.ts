import { setTimeout as wait } from 'node:timers/promises';
import type { AnyAgent } from '../../src/agent/define-agent.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import type { NatsClient } from '../../src/nats/client.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { natsPool } from '../../src/nats/nats-pool.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';

/** Somebody who looks after a pool from a process of its own: allows what asks, and decides on calls in doubt. */
export interface Person extends AsyncDisposable {
  readonly runtime: Runtime;
  /** How the run of a session ended, of those that somebody told of. */
  readonly told: ReadonlyMap<string, string>;
  /** Sessions that wait for somebody to say what became of a call. */
  readonly inDoubt: ReadonlySet<string>;
}

/** Whom to look after, and what to say. */
export interface PersonOptions {
  readonly connection: NatsClient;
  readonly ns?: string;
  readonly leaseMs: number;
  readonly agents: (ledger: Ledger) => Readonly<Record<string, AnyAgent>>;
  /** The agent that a session is of. */
  readonly targetOf: (session: string) => string;
  /** When a request is allowed: as soon as it is asked (default), or when its turn has paused for it. */
  readonly allows?: 'asked' | 'paused';
  /** What becomes of calls whose outcome is unknown. Left out, they wait. */
  readonly doubt?: 'retry' | 'abandon';
  /** The tool during which a turn is given a text. Left out, none is. */
  readonly steersDuring?: string;
}

/** Pause before something is tried again that could not be done. */
const AGAIN_MS = 200;

export async function attendTo(options: PersonOptions): Promise<Person> {
  const { connection, ns = 'default', leaseMs, targetOf, allows = 'asked', doubt, steersDuring } = options;
  const ledger = await jetstreamLedger({ connection, ns, leaseMs });
  const agents = options.agents(ledger);
  const runtime = createRuntime({ ledger, agents, pool: natsPool({ connection, ns }) });
  const stop = new AbortController();
  const told = new Map<string, string>();
  const inDoubt = new Set<string>();
  /** The request of each session that nobody answered. */
  const asked = new Map<string, string>();
  const acts = new Set<Promise<void>>();
  const act = (deed: () => Promise<unknown>) => void acts.add(insist(deed, stop.signal));
  const allow = (session: string) => {
    const request = asked.get(session);
    asked.delete(session);
    if (request !== undefined) act(() => runtime.approvals.decide(request, { decision: 'approve' }));
  };
  const see = (record: LedgerRecord) => {
    const { session } = record;
    if (record.type === 'tool.dispatched' && record.data.toolName === steersDuring) {
      // Once: its turn may be over before it can be told.
      const text = `Be quick about ${record.id}.`;
      acts.add(runtime.sessions.steer(session, text).catch(() => undefined));
    }
    if (record.type === 'permission.requested') asked.set(session, record.data.request);
    if (record.type === (allows === 'asked' ? 'permission.requested' : 'turn.paused')) allow(session);
    if (record.type !== 'run.settled') return;
    inDoubt.delete(session);
    if (record.data.status !== 'paused') told.set(session, record.data.status);
    if (record.data.pause !== 'indeterminate') return;
    inDoubt.add(session);
    if (doubt === undefined) return;
    act(() => runtime.resume(targetOf(session), session, { indeterminate: () => doubt }).result);
  };
  const watching = (async () => {
    for await (const { record } of ledger.tail(0, stop.signal)) see(record);
  })();
  return {
    runtime,
    told,
    inDoubt,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await watching;
      await runtime.close();
      await Promise.all(acts);
    },
  };
}

/** Does something until it can be done: the broker may be away, or a session between two owners. */
async function insist(act: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await act();
      return;
    } catch {
      await wait(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
