import { onTestFinished } from 'vitest';
import type { RunEvent } from '../../src/events/event-schemas.ts';
import { createOutbox, type Outbox } from '../../src/events/outbox.ts';
import type { Sink } from '../../src/events/sink.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { SessionIdentity } from '../../src/ledger/records.ts';
import { connectNats } from '../../src/nats/client.ts';
import { provision } from '../../src/nats/provision.ts';
import { type NatsServer, type NatsServerOptions, startNatsServer } from '../support/nats-server.ts';

/** A server with its streams; it goes with the test. */
export async function startBus(options: NatsServerOptions = {}): Promise<NatsServer> {
  const server = await startNatsServer(options);
  onTestFinished(() => server[Symbol.asyncDispose]());
  await using admin = connectNats(options.conf === 'project' ? server.urlOf('provisioner') : server.url);
  await provision(admin);
  return server;
}

/** A client of the test's own, closed with it. */
export function clientOf(url: string) {
  const client = connectNats(url);
  onTestFinished(() => client.close());
  return client;
}

/** Feeds sinks from a ledger; closed with the test. */
export function feed(ledger: Ledger, ...sinks: readonly Sink[]): Outbox {
  const outbox = createOutbox({ ledger, sinks });
  onTestFinished(() => outbox.close({ drainMs: 0 }));
  return outbox;
}

/** Appends events to a session. */
export async function appendEvents(
  ledger: Ledger,
  count: number,
  identity: SessionIdentity = { session: 's-root', root: 's-root', agent: 'boss' },
): Promise<void> {
  const writer = await ledger.acquire(identity);
  for (let at = 0; at < count; at += 1) {
    const data = { id: `t${at}`, text: `words ${at}` };
    const result = await writer.append(writer.head.seq, [{ type: 'steering.accepted', data }]);
    if (result.type !== 'committed') throw new Error(JSON.stringify(result));
  }
  await writer.release();
}

/** Resolves once `check` holds; looks again every few milliseconds, for a bounded time. */
export async function until(check: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`it did not come: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What is wrong with the order of stored events: repetitions, gaps and inversions of each session. */
export function faultsIn(events: readonly RunEvent[]) {
  const last = new Map<string, number>();
  let [repeated, missing, inverted] = [0, 0, 0];
  const seen = new Set<string>();
  for (const { session, seq, prev, id } of events) {
    const before = last.get(session) ?? 0;
    if (seen.has(id)) repeated += 1;
    else if (seq < before) inverted += 1;
    else if (prev !== before) missing += 1;
    seen.add(id);
    last.set(session, Math.max(seq, before));
  }
  return { repeated, missing, inverted };
}
