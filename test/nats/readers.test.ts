import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text as readText } from 'node:stream/consumers';
import { connect } from 'nats';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { connectNats } from '../../src/nats/client.ts';
import { natsSink } from '../../src/nats/nats-sink.ts';
import { provision } from '../../src/nats/provision.ts';
import { subscribe } from '../../src/nats/subscribe.ts';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { appendEvents, feed } from './bus.ts';

/** What every reader has to see. */
interface Seen {
  readonly sequence: number;
  readonly session: string;
  readonly seq: number;
  readonly type: string;
}

const COUNT = 230;

/** A server with users, and events of two sessions on it, more than one fetch brings. */
async function published(): Promise<NatsServer> {
  const server = await startNatsServer({ conf: 'project' });
  onTestFinished(() => server[Symbol.asyncDispose]());
  await using admin = connectNats(server.urlOf('provisioner'));
  await provision(admin);
  await using ledger = memoryLedger();
  const outbox = feed(ledger, natsSink({ connection: server.urlOf('worker'), republishAfter: 0 }));
  await appendEvents(ledger, 150);
  await appendEvents(ledger, 80, { session: 's-2', root: 's-root', parent: 's-root', agent: 'scout' });
  await outbox.close();
  return server;
}

async function seenByOurs(server: NatsServer): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  for await (const item of subscribe({ connection: server.urlOf('observer'), from: 'start' })) {
    if (item.type !== 'event') continue;
    const { session, seq, type } = item.event;
    seen.push({ sequence: item.sequence, session, seq, type });
    if (seen.length === COUNT) break;
  }
  return seen;
}

async function seenBy(command: string, args: readonly string[]): Promise<readonly Seen[]> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [[code], out, err] = await Promise.all([
    once(child, 'close'),
    readText(child.stdout),
    readText(child.stderr),
  ]);
  expect([code, err]).toEqual([0, '']);
  return out
    .trimEnd()
    .split('\n')
    .map((line): Seen => JSON.parse(line));
}

/** True where a tool is missing; loudly, and not where `CI` is set and the tool is one that has to be there. */
function isMissing(command: string, args: readonly string[], isNeeded: boolean): boolean {
  if (spawnSync(command, args).status === 0) return false;
  if (isNeeded && process.env['CI'] === 'true') throw new Error(`CI needs ${command}`);
  console.warn(`\n*** SKIPPED: there is no ${command} for a reader of events ***\n`);
  return true;
}

describe.skipIf(isNatsMissing())('readers of other kinds', () => {
  it('NB-18 a reader on the older client sees the same events', async () => {
    const server = await published();
    const connection = await connect({
      servers: `127.0.0.1:${server.port}`,
      user: 'observer',
      pass: 'observer',
      inboxPrefix: '_INBOX_observer',
    });
    onTestFinished(() => connection.close());
    // Ordered, by one filter: the same as the newer client makes.
    const name = 'older_reader';
    const manager = await connection.jetstreamManager();
    const subject = `$JS.API.CONSUMER.CREATE.SWM_EVT.${name}.swm.v1.default.evt.>`;
    const config = {
      name,
      filter_subject: 'swm.v1.default.evt.>',
      ack_policy: 'none',
      deliver_policy: 'all',
      mem_storage: true,
    };
    await connection.request(subject, JSON.stringify({ stream_name: 'SWM_EVT', config }));
    expect((await manager.consumers.info('SWM_EVT', name)).num_pending).toBe(COUNT);
    const consumer = await connection.jetstream().consumers.get('SWM_EVT', name);
    const seen: Seen[] = [];
    const messages = await consumer.consume();
    for await (const message of messages) {
      const { session, seq, type } = message.json<Seen>();
      seen.push({ sequence: message.seq, session, seq, type });
      if (seen.length === COUNT) break;
    }
    expect(seen).toEqual(await seenByOurs(server));
  });

  it.skipIf(isMissing('python3', ['--version'], true))(
    'NB-18 a reader in Python sees the same events',
    async () => {
      const server = await published();
      const args = ['examples/readers/events.py', server.urlOf('observer'), '--count', String(COUNT)];
      expect(await seenBy('python3', args)).toEqual(await seenByOurs(server));
    },
  );

  it.skipIf(isMissing('go', ['version'], false))('NB-18 a reader in Go sees the same events', async () => {
    const server = await published();
    const args = ['run', 'examples/readers/events.go', '-count', String(COUNT), server.urlOf('observer')];
    expect(await seenBy('go', args)).toEqual(await seenByOurs(server));
  });
});
