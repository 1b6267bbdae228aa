import type { RunEvent } from '../../src/events/event-schemas.ts';
import { subscribe } from '../../src/nats/subscribe.ts';
import type { ToldFact } from '../invariants/witness.ts';
import type { Pool } from './pool.ts';

/** What is told while it happens: by the bus, and by the ledger. */
export interface Watch extends AsyncDisposable {
  readonly delivered: readonly RunEvent[];
  readonly told: readonly ToldFact[];
}

/** Listens to a pool until it is disposed of. */
export function watchPool({ client, ledger, ns }: Pool): Watch {
  const stop = new AbortController();
  const delivered: RunEvent[] = [];
  const told: ToldFact[] = [];
  const listen = async () => {
    for await (const item of subscribe({ connection: client, ns, from: 'start', signal: stop.signal })) {
      if (item.type === 'event') delivered.push(item.event);
    }
  };
  const follow = async () => {
    for await (const { record } of ledger.tail(0, stop.signal)) {
      told.push({ session: record.session, seq: record.seq, hash: record.hash });
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
