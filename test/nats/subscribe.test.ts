import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/events/event-schemas.ts';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import type { NatsClient } from '../../src/nats/client.ts';
import { natsSink } from '../../src/nats/nats-sink.ts';
import { createSubjects } from '../../src/nats/subjects.ts';
import { type SubscribeOptions, type SubscriptionItem, subscribe } from '../../src/nats/subscribe.ts';
import { isNatsMissing, type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { appendEvents, clientOf, feed, startBus, until } from './bus.ts';
import { storedEvents } from './stored-events.ts';

/** The first items of a subscription. */
async function take(count: number, options: SubscribeOptions): Promise<readonly SubscriptionItem[]> {
  const items: SubscriptionItem[] = [];
  for await (const item of subscribe(options)) {
    items.push(item);
    if (items.length >= count) break;
  }
  return items;
}

/** A short word for each item. */
const wordsOf = (items: readonly SubscriptionItem[]) =>
  items.map((item) =>
    item.type === 'event'
      ? `${item.event.session}:${item.event.seq}`
      : `gap ${item.after}-${item.before} ${item.refilled}${item.isWhole ? '' : ' lost'}`,
  );

async function published(server: NatsServer, count: number) {
  await using ledger = memoryLedger();
  const outbox = feed(ledger, natsSink({ connection: server.url, republishAfter: 0 }));
  await appendEvents(ledger, count);
  await outbox.close();
}

/** Puts an event on the stream as it is, however it came to be. */
async function store(client: NatsClient, event: RunEvent | object): Promise<void> {
  const known = { root: 's-root', session: 's-root', type: 'steering.accepted', ...event };
  const payload = new TextEncoder().encode(JSON.stringify(event));
  await client.request(createSubjects().event(known), payload);
}

describe.skipIf(isNatsMissing())('a subscriber', () => {
  it('NB-05 gets what is stored and what comes, in order', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    feed(ledger, natsSink({ connection: server.url, republishAfter: 0 }));
    await appendEvents(ledger, 5);
    const items = take(10, { connection: server.url, from: 'start' });
    await appendEvents(ledger, 5);
    expect(wordsOf(await items)).toEqual(Array.from({ length: 10 }, (_, at) => `s-root:${at + 1}`));
  });

  it.each(['start', 'new'] as const)(
    'is told from %s on what makes a stream that is missing',
    async (from) => {
      await using server = await startNatsServer();
      const missing = { code: 'nats-rejected', message: expect.stringContaining('swarmwright nats init') };
      await expect(take(1, { connection: server.url, from })).rejects.toMatchObject(missing);
    },
  );

  it('NB-05 resumes behind a sequence without gap or repetition', async () => {
    const server = await startBus();
    await published(server, 20);
    const first = await take(7, { connection: server.url, from: 'start' });
    const after = first.at(-1)?.sequence ?? 0;
    const rest = await take(13, { connection: server.url, from: { after } });
    expect(wordsOf([...first, ...rest])).toEqual(Array.from({ length: 20 }, (_, at) => `s-root:${at + 1}`));
  });

  it('NB-05 goes on over kills of the server, without gap or repetition', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const outbox = feed(ledger, natsSink({ connection: server.url, republishAfter: 0 }));
    const subscription = subscribe({ connection: server.url, from: 'start' });
    const words: string[] = [];
    const done = (async () => {
      for await (const item of subscription) {
        words.push(...wordsOf([item]));
        if (words.length === 900) break;
      }
    })();
    for (let round = 1; round <= 3; round += 1) {
      await appendEvents(ledger, 300);
      await until(() => words.length >= round * 300 - 150, 'some events');
      await server.kill();
      await server.start();
    }
    await done;
    expect(words).toEqual(Array.from({ length: 900 }, (_, at) => `s-root:${at + 1}`));
    expect(subscription.counts()).toMatchObject({ repeated: 0, gaps: 0 });
    expect(outbox.stats()[0]?.cursor).toBe(900);
  });

  it('NB-05 gets from now on what is published from now on, also when the server goes before it came', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    feed(ledger, natsSink({ connection: server.url, republishAfter: 0 }));
    await appendEvents(ledger, 5);
    await until(async () => (await storedEvents(server.url)).length === 5, 'the old ones');
    const client = clientOf(server.url);
    const items = take(2, { connection: client });
    // Its place is known once the server has its consumer.
    await until(async () => hasConsumer(client), 'a consumer');
    await server.kill();
    await server.start();
    await appendEvents(ledger, 2);
    expect(wordsOf(await items)).toEqual(['s-root:6', 's-root:7']);
  });

  it('NB-05 tells of a gap and fills it in order with what is stored elsewhere', async () => {
    const server = await startBus();
    await published(server, 6);
    const events = await storedEvents(server.url);
    const other = await startBus();
    const client = clientOf(other.url);
    await client.connected(AbortSignal.timeout(10_000));
    for (const at of [0, 1, 4, 2, 3, 5]) await store(client, events[at] ?? {});
    const subscription = subscribe({ connection: other.url, from: 'start' });
    const items: SubscriptionItem[] = [];
    for await (const item of subscription) {
      items.push(item);
      if (item.type === 'event' && item.event.seq === 6) break;
    }
    expect(wordsOf(items)).toEqual([
      's-root:1',
      's-root:2',
      'gap 2-5 2',
      's-root:3',
      's-root:4',
      's-root:5',
      's-root:6',
    ]);
    expect(subscription.counts()).toMatchObject({ events: 6, gaps: 1, repeated: 2 });
  });

  it('NB-05 tells of a gap that nothing fills, and goes on', async () => {
    const server = await startBus();
    await published(server, 4);
    const events = await storedEvents(server.url);
    const other = await startBus();
    const client = clientOf(other.url);
    await client.connected(AbortSignal.timeout(10_000));
    for (const at of [0, 3]) await store(client, events[at] ?? {});
    const items = await take(3, { connection: other.url, from: 'start' });
    expect(wordsOf(items)).toEqual(['s-root:1', 'gap 1-4 0 lost', 's-root:4']);
  });

  it('XC-02 drops what it was told it had handled, and what is stored twice', async () => {
    const server = await startBus();
    await published(server, 4);
    const events = await storedEvents(server.url);
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    for (const event of events) await store(client, event);
    await store(client, { ...events[3], id: 's-root:5', seq: 5, prev: 4 });
    const items = await take(2, { connection: server.url, from: 'start', known: () => 3 });
    expect(wordsOf(items)).toEqual(['s-root:4', 's-root:5']);
  });

  it('passes over what it does not know and what is no event', async () => {
    const server = await startBus();
    const client = clientOf(server.url);
    await client.connected(AbortSignal.timeout(10_000));
    await store(client, { v: 2, type: 'steering.accepted' });
    await store(client, { v: 1, type: 'tea.brewed' });
    await store(client, { v: 1, type: 'steering.accepted', seq: 'many' });
    await client.request('swm.v1.default.evt.s-root.s-root.steering.accepted', new Uint8Array([0xff, 0]));
    await published(server, 1);
    const subscription = subscribe({ connection: server.url, from: 'start' });
    for await (const item of subscription) {
      expect(wordsOf([item])).toEqual(['s-root:1']);
      break;
    }
    expect(subscription.counts()).toEqual({ events: 1, repeated: 0, gaps: 0, unknown: 2, invalid: 2 });
  });

  it('takes only what its filter names', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const outbox = feed(ledger, natsSink({ connection: server.url, republishAfter: 0 }));
    await appendEvents(ledger, 2);
    await appendEvents(ledger, 2, { session: 's-2', root: 's-root', parent: 's-root', agent: 'scout' });
    await appendEvents(ledger, 2, { session: 's-3', root: 's-3', agent: 'scout' });
    await outbox.close();
    const from = 'start';
    const connection = server.url;
    expect(wordsOf(await take(2, { connection, from, agent: 'scout', root: 's-root' }))).toEqual([
      's-2:1',
      's-2:2',
    ]);
    expect(wordsOf(await take(2, { connection, from, root: 's-3' }))).toEqual(['s-3:1', 's-3:2']);
    expect(wordsOf(await take(2, { connection, from, session: 's-2' }))).toEqual(['s-2:1', 's-2:2']);
    expect(wordsOf(await take(6, { connection, from, kind: 'steering' }))).toHaveLength(6);
  });

  it('ends with its signal, and leaves no consumer behind', async () => {
    const server = await startBus();
    await published(server, 3);
    const client = clientOf(server.url);
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const item of subscribe({ connection: client, from: 'start', signal: stop.signal })) {
      seen.push(...wordsOf([item]));
      if (seen.length === 3) stop.abort();
    }
    expect(seen).toHaveLength(3);
    await until(async () => !(await hasConsumer(client)), 'no consumer');
  });
});

async function hasConsumer(client: NatsClient): Promise<boolean> {
  await client.connected(AbortSignal.timeout(10_000));
  const answer = await client.request('$JS.API.STREAM.INFO.SWM_EVT', new Uint8Array());
  return JSON.parse(Buffer.from(answer.data).toString()).state.consumer_count > 0;
}

describe.skipIf(isNatsMissing('distribution'))("a subscriber at the distribution's older server", () => {
  it('NB-05 gets what its filter names, and resumes', async () => {
    const server = await startBus({ version: 'distribution' });
    await published(server, 6);
    const first = await take(3, {
      connection: server.url,
      from: 'start',
      kind: 'steering',
      name: 'accepted',
    });
    const after = first.at(-1)?.sequence ?? 0;
    const rest = await take(3, { connection: server.url, from: { after } });
    expect(wordsOf([...first, ...rest])).toEqual([1, 2, 3, 4, 5, 6].map((seq) => `s-root:${seq}`));
  });
});
