import { connect } from 'node:net';
import { createRuntime, defineAgent, defineTool, memoryLedger, type Sink } from 'swarmwright';
import { natsSink, subscribe } from 'swarmwright/nats';
import { reply, scriptedModel } from 'swarmwright/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { appendEvents, faultsIn, feed, startBus, until } from './bus.ts';
import { storedEvents } from './stored-events.ts';

/** The same turn each time: three steps, two tools at once. `between` happens in the middle of it. */
async function play(sinks: readonly Sink[], between: () => Promise<void> = async () => {}) {
  const ledger = memoryLedger();
  const count = defineTool({
    name: 'count',
    description: 'Counts.',
    inputSchema: z.object({ to: z.number() }),
    execute: async ({ to }) => {
      if (to === 2) await between();
      return to;
    },
  });
  const model = scriptedModel({
    script: [
      reply().call('count', { to: 1 }).call('count', { to: 2 }),
      reply().call('count', { to: 3 }),
      reply().text('Counted.'),
    ],
  });
  const agent = defineAgent({ name: 'counter', instructions: 'Count.', model, tools: [count] });
  const runtime = createRuntime({ ledger, sinks, limits: { toolConcurrency: 1 } });
  onTestFinished(() => runtime.close());
  const run = runtime.run(agent, 'Count.', { sessionId: 's-count' });
  const result = await run.result;
  const records = await ledger.read(run.sessionId);
  return { runtime, result, facts: records.map(({ type, call }) => [type, call]) };
}

/** A sink that takes every batch and says that it did not, once each. */
function repeating(sink: Sink): Sink {
  const offered = new Set<string>();
  return {
    name: 'repeating',
    publish: async (events, signal) => {
      await sink.publish(events, signal);
      const [first] = events;
      if (first === undefined || offered.has(first.id)) return;
      offered.add(first.id);
      throw new TypeError('the answer was lost');
    },
    close: () => sink.close?.() ?? Promise.resolve(),
  };
}

describe.skipIf(isNatsMissing())('a turn and the bus', () => {
  it.each<[string, (server: NatsServer) => { sink: Sink; between?: () => Promise<void> }]>([
    ['well', (server) => ({ sink: natsSink({ connection: server.url }) })],
    [
      'down before the turn',
      (server) => {
        void server.kill();
        return { sink: natsSink({ connection: server.url }) };
      },
    ],
    [
      'down from the middle of the turn on',
      (server) => ({ sink: natsSink({ connection: server.url }), between: () => server.kill() }),
    ],
    [
      'standing still',
      (server) => ({ sink: natsSink({ connection: server.url }), between: async () => server.stall() }),
    ],
    ['repeating', (server) => ({ sink: repeating(natsSink({ connection: server.url })) })],
  ])('GS-23 NB-03 with a bus that is %s the turn does the same', async (_, arrange) => {
    const server = await startBus();
    const alone = await play([]);
    const { sink, between } = arrange(server);
    const beside = await play([sink], between);
    expect(beside.facts).toEqual(alone.facts);
    expect(beside.result).toMatchObject({ status: 'completed', text: 'Counted.' });
    server.wake();
  });

  it('NB-03 every event of a turn in an outage arrives once the server is back, none twice', async () => {
    const server = await startBus();
    const sink = natsSink({ connection: server.url });
    const { runtime, facts } = await play([sink], () => server.kill());
    expect(sink.state?.().type).toBe('down');
    await server.start();
    await until(() => runtime.sinkStats()[0]?.lag === 0, 'all of it');
    const events = await storedEvents(server.url);
    expect(faultsIn(events)).toEqual({ repeated: 0, missing: 0, inverted: 0 });
    expect(events.filter(({ type }) => type === 'tool.settled')).toHaveLength(3);
    expect(events.at(-1)?.seq).toBe(facts.length);
  });
});

describe.skipIf(isNatsMissing())('a slow subscriber', () => {
  it('NB-06 holds up neither the sink nor another subscriber, and gets everything in the end', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const sink = natsSink({ connection: server.url, republishAfter: 0 });
    const outbox = feed(ledger, sink);
    await appendEvents(ledger, 10);
    const slow = subscribe({ connection: server.url, from: 'start' })[Symbol.asyncIterator]();
    const first = await slow.next();
    // A client that listens and never reads.
    const deaf = connect(server.port, '127.0.0.1');
    onTestFinished(() => void deaf.destroy());
    deaf.on('error', () => {});
    deaf.pause();
    deaf.write('CONNECT {"verbose":false}\r\nSUB > 1\r\n');
    await appendEvents(ledger, 4_990);
    let fast = 0;
    for await (const item of subscribe({ connection: server.url, from: 'start' })) {
      if (item.type === 'event') fast += 1;
      if (fast === 5_000) break;
    }
    await until(() => sink.counts().stored === 5_000, 'all of it');
    expect([outbox.stats()[0]?.lag, sink.counts().goBacks]).toEqual([0, 0]);
    const seen = first.value?.type === 'event' ? [first.value.event.seq] : [];
    while (seen.length < 5_000) {
      const { value } = await slow.next();
      if (value?.type === 'event') seen.push(value.event.seq);
    }
    await slow.return?.();
    expect(seen).toEqual(Array.from({ length: 5_000 }, (_, at) => at + 1));
  });
});
