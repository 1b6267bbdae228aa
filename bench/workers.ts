import { spawnSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { findNatsServer, type NatsServer } from '../test/support/nats-server.ts';
import { median, rounded } from './statistics.ts';
import { versionsOf } from './versions.ts';
import { bareQueueMs, PLACES, startDispatch, WORKERS } from './workers-dispatch.ts';
import { cpuMsOfTurn, startLedgerServer } from './workers-processes.ts';
import { MODEL_MS, turnsPerSecond } from './workers-rate.ts';
import { handoverMs, LEASE_MS, takeoverMs } from './workers-takeover.ts';

const ROUNDS = 2;
/** Of dispatch: five of five hundred turns that wait for a busy neighbour of the machine make the figure. */
const DISPATCH_ROUNDS = 5;
/** The pace that is promised, and one at which a turn never waits for a processor. */
const PER_SECOND = 100;
const SLOW_PER_SECOND = 10;

/** What holds a pool to its promise. */
const MAX = { dispatchP99Ms: 20, takeoverMs: LEASE_MS + 2_000, handoverMs: 1_000 } as const;
const MIN_SPEED_UP = 1.7;

/** Of a server that acknowledges what is not on the disk yet, as three copies allow. */
const UNFLUSHED = ', not flushed first';

function natsServerVersion(): string {
  return String(spawnSync(findNatsServer() ?? '', ['--version']).stdout).trim();
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Rounds go over both in turn, so that a slow minute of the machine is everybody's; the quietest one counts. */
async function measureDispatch(perSecond: number, conf: 'project' | 'plain', note = '') {
  const own: (readonly number[])[] = [];
  const bare: (readonly number[])[] = [];
  await using server = await startLedgerServer(conf);
  await using dispatch = await startDispatch(server);
  for (let round = 0; round < DISPATCH_ROUNDS; round++) {
    bare.push(await bareQueueMs(perSecond));
    own.push(await dispatch.round(perSecond));
  }
  const quietest = (rounds: readonly (readonly number[])[], share: number) =>
    Math.min(...rounds.map((round) => percentile(round, share)));
  const p99 = quietest(own, 0.99);
  const bareP99 = quietest(bare, 0.99);
  return {
    p99,
    rounds: own.map((round) => rounded(percentile(round, 0.99))),
    info: {
      [`dispatch p50 ms, ${perSecond} turns/s${note}`]: rounded(quietest(own, 0.5)),
      [`bare work queue p50 ms, ${perSecond} messages/s${note}`]: rounded(quietest(bare, 0.5)),
      [`bare work queue p99 ms, ${perSecond} messages/s${note}`]: rounded(bareP99),
      [`p99 of dispatch / bare work queue, ${perSecond}/s${note}`]: rounded(p99 / bareP99),
    },
  };
}

async function measureRates(server: NatsServer) {
  const rates = new Map<number, number[]>([
    [2, []],
    [4, []],
  ]);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [workers, measured] of rates) measured.push(await turnsPerSecond(server, workers));
  }
  return { two: median(rates.get(2) ?? []), four: median(rates.get(4) ?? []) };
}

/** Measures workers against the figures they have to keep. What else the machine does is in every one of them. */
export async function run() {
  const loadBefore = loadavg()[0] ?? Number.NaN;
  await using server = await startLedgerServer();
  const slow = await measureDispatch(SLOW_PER_SECOND, 'project');
  const fast = await measureDispatch(PER_SECOND, 'project');
  await using plain = await startLedgerServer('plain');
  const unflushed = await measureDispatch(PER_SECOND, 'plain', UNFLUSHED);
  const cpu = await cpuMsOfTurn(server);
  const plainCpu = await cpuMsOfTurn(plain);
  const rates = await measureRates(server);
  const killed = await takeoverMs(server);
  const left = await handoverMs(server);

  const rows: { figure: string; value: number; bound: number; ok: boolean }[] = [];
  const atMost = (figure: string, value: number, bound: number) =>
    void rows.push({ figure, value: rounded(value), bound, ok: value <= bound });
  for (const [perSecond, { p99 }] of [[SLOW_PER_SECOND, slow] as const, [PER_SECOND, fast] as const]) {
    atMost(`dispatch p99 ms, ${WORKERS} workers, ${perSecond} turns/s`, p99, MAX.dispatchP99Ms);
  }
  atMost(
    `dispatch p99 ms, ${WORKERS} workers, ${PER_SECOND} turns/s${UNFLUSHED}`,
    unflushed.p99,
    MAX.dispatchP99Ms,
  );
  const speedUp = rounded(rates.four / rates.two);
  rows.push({
    figure: 'turns/s, 4 workers / 2 workers',
    value: speedUp,
    bound: MIN_SPEED_UP,
    ok: speedUp >= MIN_SPEED_UP,
  });
  atMost(`takeover ms after kill -9, lease ${LEASE_MS} ms`, Math.max(...killed), MAX.takeoverMs);
  atMost('takeover ms after SIGTERM, median', median(left), MAX.handoverMs);
  const info = {
    ...slow.info,
    ...fast.info,
    ...unflushed.info,
    [`turns/s, 2 workers of ${PLACES} places, model ${MODEL_MS} ms`]: rounded(rates.two),
    [`turns/s, 4 workers of ${PLACES} places, model ${MODEL_MS} ms`]: rounded(rates.four),
    'CPU ms a turn, worker': rounded(cpu.worker),
    'CPU ms a turn, nats-server': rounded(cpu.server),
    [`CPU ms a turn, nats-server${UNFLUSHED}`]: rounded(plainCpu.server),
    'CPU ms a turn, runtime that gives it': rounded(cpu.client),
    'load of the machine before': rounded(loadBefore),
    'load of the machine after': rounded(loadavg()[0] ?? Number.NaN),
  };
  return {
    rows: [...rows, ...Object.entries(info).map(([figure, value]) => ({ figure, value }))],
    json: {
      rows,
      info,
      killed,
      left,
      dispatchP99Ms: { slow: slow.rounds, fast: fast.rounds, unflushed: unflushed.rounds },
      versions: versionsOf([]),
      natsServer: natsServerVersion(),
    },
    failed: rows
      .filter(({ ok }) => !ok)
      .map(({ figure, value, bound }) => `${figure}: ${value}, bound ${bound}`),
  };
}
