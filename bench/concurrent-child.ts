import { checkedTurn, contend } from './contenders.ts';

/** What one round of turns at once took. */
export interface Round {
  readonly peakRssBytes: number;
  /** Live heap after the round, everything collected. */
  readonly heapBytes: number;
  readonly wallMs: number;
}

/** What one process measured of one contender. */
export interface ConcurrentMemory {
  /** Resident set after one turn. */
  readonly idleRssBytes: number;
  /** Resident set after rounds of `warmUpTurns` at once. */
  readonly busyRssBytes: number;
  readonly rounds: readonly Round[];
}

const SAMPLE_EVERY_MS = 10;
const WARM_UP_ROUNDS = 5;
const [name = '', baseURL = '', turns = '1', rounds = '1', warmUpTurns = '1'] = process.argv.slice(2);

/** Collects until weak references and finalizers of the first pass are gone as well. */
async function collect(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function runAtOnce(count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => checkedTurn(contender)));
}

async function measureRound(): Promise<Round> {
  let peakBytes = 0;
  const sample = (): void => {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
  };
  const timer = setInterval(sample, SAMPLE_EVERY_MS);
  const startedMs = performance.now();
  await runAtOnce(Number(turns));
  const wallMs = performance.now() - startedMs;
  sample();
  clearInterval(timer);
  await collect();
  return { peakRssBytes: peakBytes, heapBytes: process.memoryUsage().heapUsed, wallMs };
}

const contender = await contend(name, baseURL);
await checkedTurn(contender);
await collect();
const idleRssBytes = process.memoryUsage.rss();

// A young generation, sockets and compiled code belong to a process that is busy at all, not to one more turn.
for (let i = 0; i < WARM_UP_ROUNDS; i++) await runAtOnce(Number(warmUpTurns));
await collect();
const busyRssBytes = process.memoryUsage.rss();

const measured: Round[] = [];
for (let i = 0; i < Number(rounds); i++) measured.push(await measureRound());
const memory: ConcurrentMemory = { idleRssBytes, busyRssBytes, rounds: measured };
process.send?.(memory);
await contender[Symbol.asyncDispose]();
process.disconnect?.();
