import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memoryLedger } from '../../src/ledger/memory-ledger.ts';
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { natsSink } from '../../src/nats/nats-sink.ts';
import { isNatsMissing } from '../support/nats-server.ts';
import { appendEvents, faultsIn, feed, startBus, until } from './bus.ts';
import { storedEvents } from './stored-events.ts';

const ALL_WELL = { repeated: 0, missing: 0, inverted: 0 };

function ledgerPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'swm-outage-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return join(folder, 'ledger.db');
}

describe.skipIf(isNatsMissing())('an outage of the server', () => {
  it('NB-04 three kills while events flow lose nothing, repeat nothing and change no order', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const sink = natsSink({ connection: server.url });
    const outbox = feed(ledger, sink);
    await until(() => sink.state?.().type === 'connected', 'a connection');
    const total = 6_000;
    const appended = (async () => {
      for (let done = 0; done < total; done += 100) {
        await appendEvents(ledger, 100);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    for (const share of [0.2, 0.4, 0.6]) {
      await until(() => sink.counts().stored >= total * share, `${share} of all`);
      await server.kill();
      await until(() => sink.state?.().type === 'down', 'a loss');
      await server.start();
    }
    await appended;
    await until(() => outbox.stats()[0]?.cursor === total, 'all of it');
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(total);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });

  it('NB-03 events of an outage that outlives the process arrive by the next one, none twice', async () => {
    const server = await startBus();
    const path = ledgerPath();
    const first = await sqliteLedger({ path });
    const one = feed(first, natsSink({ connection: server.url }));
    await appendEvents(first, 40);
    await until(() => one.stats()[0]?.cursor === 40, 'the first forty');
    await server.kill();
    await appendEvents(first, 60);
    await one.close({ drainMs: 50 });
    await first.close();
    await server.start();
    await using second = await sqliteLedger({ path });
    const two = feed(second, natsSink({ connection: server.url }));
    await until(() => two.stats()[0]?.cursor === 100, 'the rest');
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(100);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });

  it('NB-03 a process that died before it remembered its place repeats nothing, without the memory of the server', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const one = feed(ledger, natsSink({ connection: server.url, cursorName: 'one' }));
    await appendEvents(ledger, 300);
    await until(() => one.stats()[0]?.cursor === 300, 'all of it');
    await one.close();
    // From the beginning, as if nothing had been remembered.
    const again = natsSink({ connection: server.url, cursorName: 'one', republishAfter: 0 });
    const two = feed(ledger, again);
    await until(() => two.stats()[0]?.cursor === 300, 'all of it again');
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
    await until(() => holed.stats()[0]?.cursor === 10, 'what was let through');
    await holed.close();
    const sink = natsSink({ connection: server.url, cursorName: 'again', republishAfter: 0 });
    const outbox = feed(ledger, sink);
    await until(() => outbox.stats()[0]?.cursor === 10, 'the rest');
    const stored = (await storedEvents(server.url)).map(({ seq }) => seq).sort((a, b) => a - b);
    expect(stored).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(sink.counts()).toMatchObject({ skipped: 6, stored: 4 });
  });

  it('T27 a server that stands still is left behind, and gets everything once when it wakes', async () => {
    const server = await startBus();
    await using ledger = memoryLedger();
    const sink = natsSink({ connection: server.url });
    const outbox = feed(ledger, sink);
    await until(() => sink.state?.().type === 'connected', 'a connection');
    server.stall();
    // Commits wait for nothing of this.
    await appendEvents(ledger, 500);
    expect([await ledger.position(), sink.counts().stored]).toEqual([500, 0]);
    await until(() => (outbox.stats()[0]?.failures ?? 0) > 0, 'a complaint');
    expect(sink.state?.().type).not.toBe('connected');
    server.wake();
    await until(() => outbox.stats()[0]?.cursor === 500, 'all of it');
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(500);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });

  it('T27 two processes on one ledger publish each event once', async () => {
    const server = await startBus();
    const path = ledgerPath();
    await using one = await sqliteLedger({ path });
    await using two = await sqliteLedger({ path });
    const outboxes = [one, two].map((ledger) => feed(ledger, natsSink({ connection: server.url })));
    await until(() => outboxes.every((outbox) => outbox.stats()[0]?.activity === 'following'), 'a start');
    await appendEvents(one, 100);
    await appendEvents(two, 100, { session: 's-2', root: 's-2', agent: 'other' });
    await until(() => outboxes.every((outbox) => outbox.stats()[0]?.cursor === 200), 'all of it');
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(200);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });
});

describe.skipIf(isNatsMissing('distribution'))("an outage of the distribution's older server", () => {
  it('NB-04 a kill loses nothing, repeats nothing and changes no order', async () => {
    const server = await startBus({ version: 'distribution' });
    await using ledger = memoryLedger();
    const sink = natsSink({ connection: server.url });
    const outbox = feed(ledger, sink);
    await until(() => sink.state?.().type === 'connected', 'a connection');
    for (let round = 0; round < 4; round += 1) {
      await appendEvents(ledger, 500);
      if (round !== 1) continue;
      await server.kill();
      await until(() => sink.state?.().type === 'down', 'a loss');
      await server.start();
    }
    await until(() => outbox.stats()[0]?.cursor === 2_000, 'all of it');
    const events = await storedEvents(server.url);
    expect(events).toHaveLength(2_000);
    expect(faultsIn(events)).toEqual(ALL_WELL);
  });
});

/** A sink that does what another does. */
function wrapped(sink: ReturnType<typeof natsSink>) {
  return { name: 'holed', close: () => sink.close?.() ?? Promise.resolve() };
}
