import type { RunEvent } from '../../src/events/event-schemas.ts';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { subscribe } from '../../src/nats/subscribe.ts';
import type { Pool } from './pool.ts';

/** What is told while it happens: by the bus, and by the ledger. */
export interface Watch extends AsyncDisposable {
  readonly delivered: readonly RunEvent[];
  /** Records in the order in which they were committed. */
  readonly told: readonly LedgerRecord[];
}

/** Listens to a pool until it is disposed of. */
export function watchPool({ client, ledger, ns }: Pool): Watch {
  const stop = new AbortController();
  const delivered: RunEvent[] = [];
  const told: LedgerRecord[] = [];
  const listen = async () => {
    for await (const item of subscribe({ connection: client, ns, from: 'start', signal: stop.signal })) {
      if (item.type === 'event') delivered.push(item.event);
    }
  };
  const follow = async () => {
    for await (const { record } of ledger.tail(0, stop.signal)) {
      told.push(record);
    }
  };
  const ended = Promise.all([listen(), follow()]);
  ended.catch(() => undefined);
  return {
    delivered,
    told,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}
