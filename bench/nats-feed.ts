import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createOutbox } from '../src/events/outbox.ts';
import type { Sink } from '../src/events/sink.ts';
import type { Ledger } from '../src/ledger/ledger.ts';
import { memoryLedger } from '../src/ledger/memory-ledger.ts';
import { connectNats } from '../src/nats/client.ts';
import { readJson } from '../src/nats/jet-stream-api.ts';
import { natsSink } from '../src/nats/nats-sink.ts';
import { provision } from '../src/nats/provision.ts';
import { readAllStored } from '../src/nats/stored-events.ts';
import { subscribe } from '../src/nats/subscribe.ts';
import { type NatsServer, startNatsServer } from '../test/support/nats-server.ts';
import { rounded } from './statistics.ts';

const FILTER = 'swm.v1.default.evt.>';
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A server with its streams. */
export async function startBus(): Promise<NatsServer> {
  const server = await startNatsServer();
  await using admin = connectNats(server.url);
  await provision(admin);
  return server;
}

/** Appends events, each of about 400 bytes on the bus, `batch` at a time; `onAppended` gets the last sequence. */
export async function appendEvents(
  ledger: Ledger,
  count: number,
  options: { readonly batch?: number; readonly perSecond?: number; onAppended?(seq: number): void } = {},
): Promise<void> {
  const { batch = 50, perSecond, onAppended } = options;
  const writer = await ledger.acquire({ session: 's-bench', root: 's-bench', agent: 'bench' });
  const startedMs = performance.now();
  for (let done = 0; done < count; done += batch) {
    const records = Array.from({ length: batch }, (_, at) => ({
      type: 'steering.accepted' as const,
      data: { id: `t${done + at}`, text: 'x'.repeat(100) },
    }));
    onAppended?.(writer.head.seq + batch);
    const result = await writer.append(writer.head.seq, records);
    if (result.type !== 'committed') throw new Error(JSON.stringify(result));
    if (perSecond !== undefined) {
      const dueMs = ((done + batch) / perSecond) * 1_000;
      const early = dueMs - (performance.now() - startedMs);
      if (early > 0) await pause(early);
    } else await new Promise((resolve) => setImmediate(resolve));
  }
  await writer.release();
}

/** What is wrong with what is stored. */
export async function storedFaults(url: string, expected: number) {
  await using client = connectNats(url);
  const signal = AbortSignal.timeout(120_000);
  await client.connected(signal);
  let [stored, repeated, inverted, last] = [0, 0, 0, 0];
  const seen = new Set<number>();
  for await (const { data } of readAllStored(client, FILTER, signal)) {
    // What the sink wrote.
    const { seq } = readJson(data) as { seq: number };
    stored += 1;
    if (seen.has(seq)) repeated += 1;
    else if (seq < last) inverted += 1;
    seen.add(seq);
    last = Math.max(last, seq);
  }
  return { stored, lost: expected - seen.size, repeated, inverted };
}

/** Events through three kills of the server. */
export async function throughKills(total: number) {
  await using server = await startBus();
  await using ledger = memoryLedger();
  const sink = natsSink({ connection: server.url });
  await using outbox = createOutbox({ ledger, sinks: [sink] });
  while (sink.state?.().type !== 'connected') await pause(10);
  const appending = appendEvents(ledger, total, { perSecond: 2_000 });
  for (const share of [0.25, 0.5, 0.75]) {
    while (sink.counts().stored < total * share) await pause(10);
    await server.kill();
    await pause(1_000);
    await server.start();
  }
  await appending;
  while ((outbox.stats()[0]?.cursor ?? 0) < total) await pause(20);
  return { ...(await storedFaults(server.url, total)), goBacks: sink.counts().goBacks };
}

/** CPU of this process for one event, from the ledger to its acknowledgement, and events a second. */
export async function costOfEvents(total: number, makeSink: (url: string) => Sink) {
  await using server = await startBus();
  await using ledger = memoryLedger();
  await appendEvents(ledger, total);
  const inner = makeSink(server.url);
  await pause(200);
  globalThis.gc?.();
  const startedMs = performance.now();
  const before = process.cpuUsage();
  await using outbox = createOutbox({ ledger, sinks: [inner] });
  while ((outbox.stats()[0]?.cursor ?? 0) < total) await pause(2);
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - startedMs) / 1_000;
  return { cpuUs: rounded((user + system) / total, 1), perSecond: Math.round(total / seconds) };
}

/** 99th percentile of the time from append to arrival, ours and that of a bare subscription beside it. */
export async function latencies(total: number, perSecond: number) {
  await using server = await startBus();
  await using ledger = memoryLedger();
  await using outbox = createOutbox({ ledger, sinks: [natsSink({ connection: server.url })] });
  await using bare = connectNats(server.url);
  await using own = connectNats(server.url);
  await Promise.all([bare, own].map((client) => client.connected(AbortSignal.timeout(10_000))));
  const appendedMs: number[] = [];
  const [bareMs, ownMs]: [number[], number[]] = [[], []];
  const note = (into: number[], seq: number) =>
    into.push(performance.now() - (appendedMs[seq] ?? Number.NaN));
  bare.subscribe(FILTER, ({ data }) => {
    const { seq } = readJson(data) as { seq: number };
    note(bareMs, seq);
  });
  const following = (async () => {
    for await (const item of subscribe({ connection: own, from: 'start' })) {
      if (item.type === 'event') note(ownMs, item.event.seq);
      if (ownMs.length === total) break;
    }
  })();
  await pause(500);
  await appendEvents(ledger, total, {
    batch: 25,
    perSecond,
    onAppended(seq) {
      const now = performance.now();
      for (let at = seq - 24; at <= seq; at += 1) appendedMs[at] = now;
    },
  });
  await following;
  void outbox;
  return { bareP99: p99(bareMs), ownP99: p99(ownMs) };
}

function p99(values: readonly number[]): number {
  // The first second warms up.
  const sorted = values.slice(Math.floor(values.length / 5)).sort((one, other) => one - other);
  return rounded(sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN);
}

/** Events a second that are stored while many in another process read along. */
export async function besideReaders(total: number, readers: number) {
  await using server = await startBus();
  await using ledger = memoryLedger();
  const file = fileURLToPath(new URL('nats-readers-child.ts', import.meta.url));
  const child = fork(file, [server.url, String(readers)], { execArgv: [] });
  await once(child, 'message');
  await pause(1_000);
  const sink = natsSink({ connection: server.url });
  await using outbox = createOutbox({ ledger, sinks: [sink] });
  while (sink.state?.().type !== 'connected') await pause(10);
  const startedMs = performance.now();
  await appendEvents(ledger, total);
  while ((outbox.stats()[0]?.cursor ?? 0) < total) await pause(5);
  const seconds = (performance.now() - startedMs) / 1_000;
  child.kill('SIGKILL');
  await once(child, 'exit');
  return Math.round(total / seconds);
}
