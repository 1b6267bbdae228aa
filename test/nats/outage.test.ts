import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import type { NatsClient } from '../../src/nats/client.ts';
import { natsSink } from '../../src/nats/nats-sink.ts';
import { isNatsMissing, type NatsServer } from '../support/nats-server.ts';
import { appendEvents, clientOf, faultsIn, feed, startBus } from './bus.ts';
import { storedEvents } from './stored-events.ts';
import { watchedSink } from './watched-sink.ts';

/** Bounds of what has to come; a test that waits so long fails. */
const LONG = { drainMs: 60_000 };
const SOON = () => AbortSignal.timeout(10_000);

/** Ends a server, and resolves when its client has noticed. */
async function killed(server: NatsServer, client: NatsClient): Promise<void> {
  const gone = once(client.life, 'abort');
  await server.kill();
  await gone;
}

const ALL_WELL = { repeated: 0, missing: 0, inverted: 0 };

function ledgerPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'swm-outage-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return join(folder, 'ledger.db');
}

describe.skipIf(isNatsMissing())('an outage of the server', () => {
  it('NB-04 three kills while events flow lose nothing, repeat nothing and change no order', async () => {
    const server = await startBus();
    const connection = clientOf(server.url);
    await using ledger = memoryLedger();
    const { sink, told } = watchedSink({ connection });
    const outbox = feed(ledger, sink);
    await connection.connected(SOON());
    const total = 6_000;
    for (const stored of [500, 2_000, 3_500]) {
      const appended = appendEvents(ledger, 1_500);
      await told(({ published }) => published >= stored);
      await killed(server, connection);
      // More comes while nobody takes it.
      await appended;
      await server.start();
    }
    await appendEvents(ledger, 1_500);
    await outbox.close(LONG);
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(total);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });

  it('NB-03 events of an outage that outlives the process arrive by the next one, none twice', async () => {
    const server = await startBus();
    const path = ledgerPath();
    const first = await sqliteLedger({ path });
    const stored = watchedSink({ connection: server.url });
    const one = feed(first, stored.sink);
    await appendEvents(first, 40);
    await stored.told(({ published }) => published === 40);
    await server.kill();
    await appendEvents(first, 60);
    await one.close({ drainMs: 50 });
    await first.close();
    await server.start();
    await using second = await sqliteLedger({ path });
    const two = feed(second, natsSink({ connection: server.url }));
    await two.close(LONG);
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(100);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });

  it('NB-03 a process that died before it remembered its place repeats nothing, without the memory of the server', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const one = feed(ledger, natsSink({ connection: server.url, cursorName: 'one' }));
    await appendEvents(ledger, 300);
    await one.close(LONG);
    // From the beginning, as if nothing had been remembered.
    const again = natsSink({ connection: server.url, cursorName: 'one', republishAfter: 0 });
    const two = feed(ledger, again);
    await two.close(LONG);
    expect(again.counts()).toMatchObject({ skipped: 300, stored: 0 });
    expect(await storedEvents(server.url)).toHaveLength(300);
  });

  it('NB-03 a hole that a refused message left is filled by the next process', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    await appendEvents(ledger, 10);
    // Some were stored, with one missing in between.
    const inner = natsSink({ connection: server.url });
    const holed = feed(ledger, {
      ...wrapped(inner),
      resumeAfter: async () => 0,
      publish: (events, signal) =>
        inner.publish(
          events.filter(({ seq }) => seq !== 4 && seq < 8),
          signal,
        ),
    });
    await holed.close(LONG);
    const sink = natsSink({ connection: server.url, cursorName: 'again', republishAfter: 0 });
    const outbox = feed(ledger, sink);
    await outbox.close(LONG);
    const stored = (await storedEvents(server.url)).map(({ seq }) => seq).sort((a, b) => a - b);
    expect(stored).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(sink.counts()).toMatchObject({ skipped: 6, stored: 4 });
  });

  it('T27 a server that stands still is left behind, and gets everything once when it wakes', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const connection = clientOf(server.url);
    const { sink, told } = watchedSink({ connection });
    const outbox = feed(ledger, sink);
    await connection.connected(SOON());
    server.stall();
    // Commits wait for nothing of this.
    await appendEvents(ledger, 500);
    expect([await ledger.position(), sink.counts().stored]).toEqual([500, 0]);
    await told(({ failures }) => failures > 0);
    expect(sink.state?.().type).not.toBe('connected');
    server.wake();
    await outbox.close(LONG);
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(500);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });

  it('T27 two processes on one ledger publish each event once', async () => {
    const server = await startBus();
    const path = ledgerPath();
    await using one = await sqliteLedger({ path });
    await using two = await sqliteLedger({ path });
    const sinks = [one, two].map(() => watchedSink({ connection: server.url }));
    const outboxes = sinks.map(({ sink }, at) => feed(at === 0 ? one : two, sink));
    await appendEvents(one, 1);
    // Both follow, and neither has more to say of what the other brought.
    await Promise.all(sinks.map(({ told }) => told(({ positions }) => positions === 0)));
    await appendEvents(one, 99);
    await appendEvents(two, 100, { session: 's-2', root: 's-2', agent: 'other' });
    await Promise.all(outboxes.map((outbox) => outbox.close(LONG)));
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(200);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });
});

describe.skipIf(isNatsMissing('distribution'))("an outage of the distribution's older server", () => {
  it('NB-04 a kill loses nothing, repeats nothing and changes no order', async () => {
    const server = await startBus({ version: 'distribution' });
    await using ledger = memoryLedger();
    const connection = clientOf(server.url);
    const outbox = feed(ledger, natsSink({ connection }));
    await connection.connected(SOON());
    for (let round = 0; round < 4; round += 1) {
      await appendEvents(ledger, 500);
      if (round !== 1) continue;
      await killed(server, connection);
      await server.start();
    }
    await outbox.close(LONG);
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(2_000);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });
});

/** A sink that does what another does. */
function wrapped(sink: ReturnType<typeof natsSink>) {
  return { name: 'holed', close: () => sink.close?.() ?? Promise.resolve() };
}
