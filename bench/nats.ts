import { natsSink } from '../src/nats/nats-sink.ts';
import { besideReaders, costOfEvents, latencies, startBus, throughKills } from './nats-feed.ts';
import type { BusTurnCost } from './nats-turn-child.ts';
import { measureIn } from './processes.ts';
import { rounded } from './statistics.ts';

const EVENTS = 24_000;
const ROUNDS = 5;
const TURNS = 600;
const READERS = 100;

/** What holds a bus to its promise. */
const MAX = { turnTime: 1.05, turnCpu: 1.1, cpuUs: 100, p99: 1.5 } as const;
const MIN_PER_SECOND = 2_000;

type Situation = 'no bus' | 'bus down' | 'bus stalled' | 'bus up';

/** Rounds go over all situations in turn, so that a slow minute of the machine is everybody's. */
async function measureTurns(): Promise<ReadonlyMap<Situation, readonly BusTurnCost[]>> {
  await using up = await startBus();
  await using stalled = await startBus();
  stalled.stall();
  const urls: Readonly<Record<Situation, string>> = {
    'no bus': '',
    'bus down': 'nats://127.0.0.1:9',
    'bus stalled': stalled.url,
    'bus up': up.url,
  };
  // The keys of an object literal are its names.
  const situations = Object.keys(urls) as Situation[];
  const costs = new Map<Situation, BusTurnCost[]>(situations.map((situation) => [situation, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [situation, measured] of costs) {
      measured.push(await measureIn<BusTurnCost>('nats-turn-child.ts', urls[situation], String(TURNS)));
    }
  }
  return costs;
}

/**
 * How a situation compares with no bus, each in its quietest round: what else runs on the machine only ever adds.
 */
function ratio(
  costs: ReadonlyMap<Situation, readonly BusTurnCost[]>,
  situation: Situation,
  of: 'cpuMs' | 'wallMs',
): number {
  const least = (name: Situation) => Math.min(...(costs.get(name) ?? []).map((cost) => cost[of]));
  return rounded(least(situation) / least('no bus'), 3);
}

/** Measures the bus against the figures it has to keep. */
export async function run() {
  const turns = await measureTurns();
  const kills = await throughKills(EVENTS);
  const projected = await costOfEvents(EVENTS, () => ({
    name: 'nowhere',
    publish: async () => {},
    resumeAfter: async () => 0,
  }));
  const published = await costOfEvents(EVENTS, (url) => natsSink({ connection: url, republishAfter: 0 }));
  const p99 = await latencies(25_000, 5_000);
  const perSecond = await besideReaders(5_000, READERS);

  const rows: { figure: string; value: number; bound: number; ok: boolean }[] = [];
  const atMost = (figure: string, value: number, bound: number) =>
    void rows.push({ figure, value, bound, ok: value <= bound });
  for (const situation of ['bus down', 'bus stalled'] as const) {
    atMost(`turn time, ${situation} / no bus`, ratio(turns, situation, 'wallMs'), MAX.turnTime);
    atMost(`turn CPU, ${situation} / no bus`, ratio(turns, situation, 'cpuMs'), MAX.turnCpu);
  }
  atMost('CPU us an event, bus up', published.cpuUs, MAX.cpuUs);
  atMost(`lost of ${EVENTS} through 3 kills`, kills.lost, 0);
  atMost('repeated', kills.repeated, 0);
  atMost('out of order', kills.inverted, 0);
  atMost('p99 ms, subscriber / bare client', rounded(p99.ownP99 / p99.bareP99), MAX.p99);
  rows.push({
    figure: `events/s beside ${READERS} readers`,
    value: perSecond,
    bound: MIN_PER_SECOND,
    ok: perSecond > MIN_PER_SECOND,
  });
  const info = {
    'turn time, bus up / no bus': ratio(turns, 'bus up', 'wallMs'),
    'turn CPU, bus up / no bus': ratio(turns, 'bus up', 'cpuMs'),
    'CPU us an event, projected only': projected.cpuUs,
    'events/s, bus up': published.perSecond,
    'p99 ms, subscriber': p99.ownP99,
    'p99 ms, bare client': p99.bareP99,
    'batches sent again through 3 kills': kills.goBacks,
  };
  return {
    rows: [...rows, ...Object.entries(info).map(([figure, value]) => ({ figure, value }))],
    json: { rows, info, kills, turns: Object.fromEntries(turns) },
    failed: rows
      .filter(({ ok }) => !ok)
      .map(({ figure, value, bound }) => `${figure}: ${value}, bound ${bound}`),
  };
}
