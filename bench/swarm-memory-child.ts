import { ourSwarm } from './swarm-ours.ts';
import { checkFanOut, partsOf } from './swarm-work.ts';

/** What one process measured of one map over many children. */
export interface SwarmMemory {
  /** Resident set after one child. */
  readonly idleRssBytes: number;
  readonly peakRssBytes: number;
  /** Children whose turns were open at the same moment, by the times in their records. */
  readonly openAtOnce: number;
  readonly wallMs: number;
}

const SAMPLE_EVERY_MS = 10;

const [ledger = '', baseURL = '', children = '1'] = process.argv.slice(2);
if (ledger !== 'memory' && ledger !== 'sqlite') throw new Error(`no ledger is called ${ledger}`);

/** When a child began and when it ended, as +1 and -1. */
const moves: (readonly [atMs: number, by: 1 | -1])[] = [];

function openAtOnce(): number {
  // Where one ends in the millisecond in which another begins, they are not counted as two.
  const inOrder = moves.toSorted(([one, by], [other, otherBy]) => one - other || by - otherBy);
  let open = 0;
  let most = 0;
  for (const [, by] of inOrder) {
    open += by;
    most = Math.max(most, open);
  }
  return most;
}

const count = Number(children);
const contender = await ourSwarm(baseURL, {
  ledger,
  limits: { fanOut: count, agents: count + 1, graph: { activations: 100 } },
  onEvent(event) {
    if (event.agent !== 'worker') return;
    if (event.type === 'turn.opened') moves.push([Date.parse(event.ts), 1]);
    else if (event.type === 'turn.closed') moves.push([Date.parse(event.ts), -1]);
  },
});

checkFanOut(await contender.fanOut(partsOf(1)), partsOf(1));
moves.length = 0;
globalThis.gc?.();
const idleRssBytes = process.memoryUsage.rss();

let peakRssBytes = 0;
const sample = (): void => {
  peakRssBytes = Math.max(peakRssBytes, process.memoryUsage.rss());
};
const timer = setInterval(sample, SAMPLE_EVERY_MS);
const startedMs = performance.now();
const parts = partsOf(count);
checkFanOut(await contender.fanOut(parts), parts);
const wallMs = performance.now() - startedMs;
sample();
clearInterval(timer);

const memory: SwarmMemory = { idleRssBytes, peakRssBytes, openAtOnce: openAtOnce(), wallMs };
process.send?.(memory);
await contender[Symbol.asyncDispose]();
process.disconnect?.();
