import { describe, expect, it } from 'vitest';
import { parseEvent } from '../../src/events/event-schemas.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { natsSink } from '../../src/nats/nats-sink.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { appendEvents, clientOf, faultsIn, feed, startBus, until } from './bus.ts';
import { storedEvents } from './stored-events.ts';

describe.skipIf(isNatsMissing())('events on JetStream', () => {
  it('NB-01 every event is stored in the order of its session, each linked to the one before', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const outbox = feed(ledger, natsSink({ connection: server.url }));
    await until(() => outbox.stats()[0]?.activity === 'following', 'a start');
    const child = { session: 's-child', root: 's-root', parent: 's-root', agent: 'scout' };
    await Promise.all([appendEvents(ledger, 300), appendEvents(ledger, 200, child)]);
    await outbox.close();
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(500);
    expect(faultsIn(events)).toEqual({ repeated: 0, missing: 0, inverted: 0 });
    for (const event of events) expect(parseEvent(event).type).toBe('event');
    const ofChild = await storedEvents(server.url, 'swm.v1.default.evt.s-root.s-child.>');
    expect(ofChild.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, at) => at + 1));
  });

  it('NB-01 a message carries its id, its trace and the version of the wire', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    const heard: (string | undefined)[][] = [];
    client.subscribe('swm.v1.default.evt.>', (message) => {
      const names = ['Nats-Msg-Id', 'Swm-V', 'traceparent', 'ce-type'];
      heard.push(names.map((name) => message.header(name)));
    });
    await client.flush();
    const outbox = feed(ledger, natsSink({ connection: server.url }));
    await appendEvents(ledger, 2);
    await outbox.close();
    await until(() => heard.length === 2, 'two messages');
    const [one, two] = heard.map(([, , trace]) => trace?.split('-') ?? []);
    expect(heard.map(([id, version, , type]) => [id, version, type])).toEqual([
      ['default:s-root:1', '1', undefined],
      ['default:s-root:2', '1', undefined],
    ]);
    expect(one?.[1]).toMatch(/^[0-9a-f]{32}$/);
    expect(two?.[1]).toBe(one?.[1]);
    expect(two?.[2]).not.toBe(one?.[2]);
  });

  it('NB-01 sessions of one name in two namespaces keep all their events', async () => {
    const server = await startBus();
    for (const ns of ['one', 'two']) {
      await using ledger = memoryLedger();
      const outbox = feed(ledger, natsSink({ connection: server.url, ns }));
      await appendEvents(ledger, 5);
      await outbox.close();
      const stored = await storedEvents(server.url, `swm.v1.${ns}.evt.>`);
      expect(stored.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    }
  });

  it('NB-01 events may be CloudEvents in binary mode', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    const heard: Record<string, string | undefined>[] = [];
    client.subscribe('swm.v1.a=20b.evt.>', (message) => {
      const names = ['specversion', 'id', 'source', 'type', 'subject', 'swmseq'];
      heard.push(Object.fromEntries(names.map((name) => [name, message.header(`ce-${name}`)])));
    });
    await client.flush();
    const outbox = feed(ledger, natsSink({ connection: server.url, ns: 'a b', format: 'cloudevents' }));
    await appendEvents(ledger, 1, { session: 's-1', root: 's-1', agent: 'böss "1"' });
    await outbox.close();
    await until(() => heard.length === 1, 'a message');
    expect(heard).toEqual([
      {
        specversion: '1.0',
        id: 's-1:1',
        source: '/swm/a%2520b/s-1',
        type: 'dev.swm.steering.accepted.v1',
        subject: 'b%C3%B6ss%20%221%22',
        swmseq: '1',
      },
    ]);
  });

  it('says how it is: down, connected, behind, disabled', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const off = natsSink({ connection: undefined });
    const sink = natsSink({ connection: server.url });
    const outbox = feed(ledger, sink, off);
    await until(() => sink.state?.().type === 'connected', 'a connection');
    expect(off.state?.()).toEqual({ type: 'disabled' });
    await server.kill();
    await until(() => sink.state?.().type === 'down', 'a loss');
    await appendEvents(ledger, 5);
    await until(() => outbox.stats()[0]?.lag === 5, 'lag');
    expect(outbox.stats()[0]).toMatchObject({ sink: { type: 'down' }, laggingSince: expect.any(Number) });
    await server.start();
    await until(() => sink.counts().stored === 5, 'all five');
    expect(sink.state?.()).toEqual({ type: 'connected' });
  });

  it('tells the bus how it is', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    const heard: unknown[] = [];
    client.subscribe('swm.v1.default.hb.*', ({ data }) =>
      heard.push(JSON.parse(Buffer.from(data).toString())),
    );
    await client.flush();
    feed(ledger, natsSink({ connection: server.url, publisher: 'p1' }));
    await until(() => heard.length > 0, 'a message about itself');
    expect(heard[0]).toMatchObject({ v: 1, state: 'connected', lag: 0, stored: 0, duplicates: 0 });
  });
});

describe.skipIf(isNatsMissing())('a server without streams', () => {
  it('makes the sink say so, and takes everything once it is provisioned', async () => {
    const { startNatsServer } = await import('../support/nats-server.ts');
    const { connectNats } = await import('../../src/nats/client.ts');
    const { provision } = await import('../../src/nats/provision.ts');
    await using server = await startNatsServer();
    await using ledger = memoryLedger();
    const sink = natsSink({ connection: server.url });
    feed(ledger, sink);
    await until(() => sink.state?.().type === 'connected', 'a connection');
    await appendEvents(ledger, 3);
    await until(() => sink.state?.().type === 'degraded', 'a complaint');
    expect(sink.state?.().message).toMatch(/SWM_EVT is missing: .*swarmwright nats init/);
    await using admin = connectNats(server.url);
    await provision(admin);
    await until(() => sink.counts().stored === 3, 'all three');
    expect(sink.state?.()).toEqual({ type: 'connected' });
  });
});
