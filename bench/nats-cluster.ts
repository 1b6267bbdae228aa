import { createOutbox } from '../src/events/outbox.ts';
import { memoryLedger } from '../src/ledger/memory-ledger.ts';
import { connectNats, type NatsClient } from '../src/nats/client.ts';
import { askJetStream } from '../src/nats/jet-stream-api.ts';
import { natsSink } from '../src/nats/nats-sink.ts';
import { provision } from '../src/nats/provision.ts';
import { appendEvents, storedFaults } from './nats-feed.ts';
import { startCluster } from './nats-servers.ts';

const EVENTS = 24_000;
const PER_SECOND = 1_500;
const READY_WITHIN_MS = 60_000;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Makes the streams as soon as the cluster is one. */
async function provisioned(client: NatsClient): Promise<void> {
  for (const deadline = Date.now() + READY_WITHIN_MS; ; ) {
    try {
      const { verdict } = await provision(client, { replicas: 3 });
      if (verdict !== 'unfit') return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await pause(500);
  }
}

/** The server that leads the stream of events. */
async function leaderOf(client: NatsClient): Promise<string> {
  for (;;) {
    await client.connected(AbortSignal.timeout(READY_WITHIN_MS));
    const info = await askJetStream(client, 'STREAM.INFO.SWM_EVT').catch(() => undefined);
    // Part of the answer of a clustered server.
    const body = (info?.type === 'answer' ? info.body : {}) as { cluster?: { leader?: string } };
    const leader = body.cluster?.leader;
    if (leader !== undefined && leader !== '') return leader;
    await pause(100);
  }
}

/** Publishes to three copies while the leader is killed three times. */
export async function run() {
  await using cluster = await startCluster();
  await using client = connectNats({ servers: cluster.servers });
  await client.connected(AbortSignal.timeout(READY_WITHIN_MS));
  await provisioned(client);
  await using ledger = memoryLedger();
  const sink = natsSink({ connection: { servers: cluster.servers } });
  await using outbox = createOutbox({ ledger, sinks: [sink] });
  while (sink.state?.().type !== 'connected') await pause(10);
  const startedMs = performance.now();
  const appending = appendEvents(ledger, EVENTS, { perSecond: PER_SECOND });
  let longestLag = 0;
  const watching = setInterval(() => {
    longestLag = Math.max(longestLag, outbox.stats()[0]?.lag ?? 0);
  }, 50);
  for (const share of [0.2, 0.45, 0.7]) {
    while (sink.counts().stored < EVENTS * share) await pause(10);
    const leader = await leaderOf(client);
    await cluster.kill(leader);
    await pause(2_000);
    cluster.start(leader);
  }
  await appending;
  while ((outbox.stats()[0]?.cursor ?? 0) < EVENTS) await pause(20);
  clearInterval(watching);
  const seconds = (performance.now() - startedMs) / 1_000;
  const [url = ''] = cluster.servers;
  const faults = await storedFaults(url, EVENTS);
  const bounds = { lost: 0, repeated: 0, inverted: 0 };
  const rows = Object.keys(bounds).map((figure) => {
    // The keys are those of the bounds.
    const value = faults[figure as keyof typeof bounds];
    return {
      figure: `${figure} of ${EVENTS} through 3 kills of the leader`,
      value,
      bound: 0,
      ok: value === 0,
    };
  });
  const info = { seconds: Math.round(seconds), longestLag, ...sink.counts() };
  return {
    rows: [...rows, ...Object.entries(info).map(([figure, value]) => ({ figure, value }))],
    json: { faults, info },
    failed: rows.filter(({ ok }) => !ok).map(({ figure, value }) => `${figure}: ${value}`),
  };
}
