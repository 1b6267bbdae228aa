import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOutbox } from '../../src/events/outbox.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { connectNats, type NatsClient } from '../../src/nats/client.ts';
import { askJetStream } from '../../src/nats/jet-stream-api.ts';
import { natsSink } from '../../src/nats/nats-sink.ts';
import { provision } from '../../src/nats/provision.ts';
import { sendCommand } from '../../src/nats/send-command.ts';
import { subscribe } from '../../src/nats/subscribe.ts';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { appendEvents, until } from './bus.ts';

const USERS = ['provisioner', 'worker', 'observer', 'operator', 'approver'] as const;
type User = (typeof USERS)[number];

describe.skipIf(isNatsMissing())('users of nats.conf', () => {
  let server: NatsServer;
  const clients = new Map<User, NatsClient>();
  const of = (user: User) => {
    const client = clients.get(user);
    if (client === undefined) throw new Error(user);
    return client;
  };

  beforeAll(async () => {
    server = await startNatsServer({ conf: 'project' });
    for (const user of USERS) {
      const client = connectNats(server.urlOf(user));
      await client.connected(AbortSignal.timeout(10_000));
      clients.set(user, client);
    }
    await provision(of('provisioner'));
    const ledger = memoryLedger();
    const sink = natsSink({ connection: of('worker'), content: true, republishAfter: 0 });
    const outbox = createOutbox({ ledger, sinks: [sink] });
    await appendEvents(ledger, 3);
    await outbox.close();
    expect(sink.counts()).toMatchObject({ stored: 3, goBacks: 0 });
  });
  afterAll(async () => {
    for (const client of clients.values()) await client.close();
    await server[Symbol.asyncDispose]();
  });

  /** What the server says to a message of a user: refused, or not. */
  async function isRefused(user: User, subject: string): Promise<boolean> {
    const client = connectNats(server.urlOf(user));
    try {
      await client.connected(AbortSignal.timeout(10_000));
      client.publish(subject, new Uint8Array());
      await client.flush();
      // A refusal comes before the answer to the flush, on the same connection.
      await new Promise((resolve) => setImmediate(resolve));
      return client.state.message?.includes('Permissions Violation') === true;
    } finally {
      await client.close();
    }
  }

  /** Whether a user is let listen. */
  async function isDeaf(user: User, subject: string): Promise<boolean> {
    const client = connectNats(server.urlOf(user));
    try {
      await client.connected(AbortSignal.timeout(10_000));
      client.subscribe(subject, () => {});
      await client.flush();
      await new Promise((resolve) => setImmediate(resolve));
      return client.state.message?.includes('Permissions Violation') === true;
    } finally {
      await client.close();
    }
  }

  const evt = 'swm.v1.default.evt.s-1.s-1.turn.opened';
  const other = 'swm.v1.other.evt.s-1.s-1.turn.opened';
  const cmd = (verb: string) => `swm.v1.default.cmd.s-1.${verb}`;
  const consume = (ns: string, which = '>') => `$JS.API.CONSUMER.CREATE.SWM_EVT.c1.swm.v1.${ns}.evt.${which}`;

  it.each<[User, string, string, boolean]>([
    ['observer', 'publish an event', evt, true],
    ['observer', 'decide', cmd('approve'), true],
    ['observer', 'steer', cmd('steer'), true],
    ['observer', 'replay another tenant', consume('other'), true],
    ['observer', 'replay its own', consume('default'), false],
    [
      'observer',
      'replay by a list of filters, which no permission could bound',
      '$JS.API.CONSUMER.CREATE.SWM_EVT',
      true,
    ],
    ['observer', 'read a message by its number', '$JS.API.STREAM.MSG.GET.SWM_EVT', true],
    ['observer', 'delete a stream', '$JS.API.STREAM.DELETE.SWM_EVT', true],
    ['approver', 'approve', cmd('approve'), false],
    ['approver', 'deny', cmd('deny'), false],
    ['approver', 'steer', cmd('steer'), true],
    ['approver', 'cancel', cmd('cancel'), true],
    ['approver', 'publish an event', evt, true],
    ['approver', 'approve for another tenant', 'swm.v1.other.cmd.s-1.approve', true],
    ['approver', 'replay approvals', consume('default', '*.*.approval.>'), false],
    ['approver', 'replay approvals of one swarm', consume('default', 's-1.*.approval.requested'), false],
    ['approver', 'replay what is no approval', consume('default'), true],
    ['approver', 'replay calls', consume('default', '*.*.tool.>'), true],
    ['approver', 'replay approvals of another tenant', consume('other', '*.*.approval.>'), true],
    ['approver', 'name the readers of others', '$JS.API.CONSUMER.NAMES.SWM_EVT', true],
    ['approver', 'read a message by its number', '$JS.API.STREAM.MSG.GET.SWM_EVT', true],
    ['approver', 'read a message by its subject', `$JS.API.DIRECT.GET.SWM_EVT.${evt}`, true],
    ['approver', 'read what was put aside', '$JS.API.STREAM.MSG.GET.OBJ_SWM_ART', true],
    ['operator', 'steer', cmd('steer'), false],
    ['operator', 'query', cmd('query'), false],
    ['operator', 'approve', cmd('approve'), true],
    ['operator', 'publish an event', evt, true],
    ['operator', 'queue a turn again', 'swm.v1.default.q.turn.default.s-1', false],
    ['operator', 'queue a turn of another tenant', 'swm.v1.other.q.turn.default.s-1', true],
    ['operator', 'drop a dead letter', '$JS.API.STREAM.MSG.DELETE.SWM_DLQ', false],
    ['operator', 'drop a turn from the queue', '$JS.API.STREAM.MSG.DELETE.SWM_Q', true],
    ['observer', 'read dead letters', '$JS.API.STREAM.MSG.GET.SWM_DLQ', true],
    ['worker', 'publish an event', evt, false],
    ['worker', 'publish for another tenant', other, true],
    ['worker', 'decide', cmd('approve'), true],
    ['worker', 'delete a stream', '$JS.API.STREAM.DELETE.SWM_EVT', true],
    ['worker', 'purge a stream', '$JS.API.STREAM.PURGE.SWM_EVT', true],
    ['worker', 'delete a message', '$JS.API.STREAM.MSG.DELETE.SWM_EVT', true],
    ['provisioner', 'publish an event', evt, true],
  ])('NB-10 %s: to %s on %s is refused: %s', async (user, _, subject, refused) => {
    expect(await isRefused(user, subject)).toBe(refused);
  });

  it.each<[User, string, boolean]>([
    ['observer', 'swm.v1.default.evt.>', false],
    ['observer', 'swm.v1.*.evt.>', true],
    ['observer', 'swm.v1.other.evt.>', true],
    ['observer', '_INBOX_worker.>', true],
    ['observer', 'swm.v1.default.cmd.>', true],
    ['approver', 'swm.v1.default.evt.*.*.approval.>', false],
    ['approver', 'swm.v1.default.evt.>', true],
    ['worker', 'swm.v1.default.cmd.>', false],
    ['worker', 'swm.v1.other.cmd.>', true],
    ['operator', 'swm.v1.default.evt.>', true],
  ])('NB-10 %s: listening on %s is refused: %s', async (user, subject, refused) => {
    expect(await isDeaf(user, subject)).toBe(refused);
  });

  it('NB-10 an observer reads what is stored', async () => {
    let seen = 0;
    for await (const item of subscribe({ connection: server.urlOf('observer'), from: 'start' })) {
      if (item.type === 'event') seen += 1;
      if (seen === 3) break;
    }
    expect(seen).toBe(3);
  });

  it('NB-10 an approver cannot ask for approvals and mean everything', async () => {
    const everything = 'swm.v1.default.evt.>';
    for (const config of [{ filter_subject: everything }, { filter_subjects: [everything] }, {}]) {
      const subject = consume('default', '*.*.approval.>').replace('$JS.API.', '');
      const body = { stream_name: 'SWM_EVT', config: { name: 'c1', ack_policy: 'none', ...config } };
      expect(await askJetStream(of('approver'), subject, body)).toMatchObject({ type: 'fault' });
    }
  });

  it('NB-10 an observer that asks for another tenant is told that it may not', async () => {
    const stolen = (async () => {
      for await (const _ of subscribe({ connection: server.urlOf('observer'), ns: 'other', from: 'start' }))
        break;
    })();
    await expect(stolen).rejects.toMatchObject({ code: 'nats-rejected' });
  });

  it('NB-10 an observer that sends a command is told that it may not', async () => {
    const sent = sendCommand({
      connection: of('observer'),
      session: 's-1',
      verb: 'steer',
      body: { text: 'Go.' },
    });
    await expect(sent).rejects.toMatchObject({ code: 'nats-rejected' });
  });

  it('shows a refused publish in the state of the connection', async () => {
    of('observer').publish(evt, new Uint8Array());
    await until(() => of('observer').state.message !== undefined, 'a complaint');
    expect(of('observer').state).toMatchObject({
      type: 'connected',
      message: expect.stringContaining('Permissions Violation'),
    });
  });
});
