import { onTestFinished } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { connectNats } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { type JetStreamLedgerOptions, jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { provision } from '../../src/nats/provision.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';

let namespaces = 0;

/** A namespace that no other test uses. */
export function freshNamespace(): string {
  namespaces += 1;
  return `t${process.pid}-${namespaces}`;
}

/** A server with the streams of a ledger. */
export async function startLedgerServer(): Promise<NatsServer> {
  const server = await startNatsServer();
  await using admin = connectNats(server.url);
  await provision(admin, { ledger: true });
  return server;
}

/** A ledger of the test's own, closed with it. */
export async function openLedgerOn(
  server: NatsServer,
  options: Omit<JetStreamLedgerOptions, 'connection'> = {},
): Promise<Ledger> {
  const ledger = await jetstreamLedger({ connection: server.url, ...options });
  onTestFinished(() => ledger.close());
  return ledger;
}

/** How many messages a session is: each is one append, or a claim on it. */
export async function messagesOf(server: NatsServer, ns: string, session: string): Promise<number> {
  await using admin = connectNats(server.url);
  await admin.connected(AbortSignal.timeout(10_000));
  const subject = `swm.v1.${ns}.led.${session}`;
  const answer = await askJetStream(admin, 'STREAM.INFO.SWM_LED', { subjects_filter: subject });
  const { state } = (answer.type === 'answer' ? answer.body : { state: {} }) as {
    readonly state: { readonly subjects?: Readonly<Record<string, number>> };
  };
  return state.subjects?.[subject] ?? 0;
}
