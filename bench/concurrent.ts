import type { ConcurrentMemory } from './concurrent-child.ts';
import type { ContenderName } from './contenders.ts';
import { measureUnder, startServer } from './processes.ts';
import { median, rounded } from './statistics.ts';
import { versionsOf } from './versions.ts';

const TURNS = 1_000;
const WARM_UP_TURNS = 100;
const ROUNDS = 10;
const DELAY_MS = 200;
const MIB = 1024 * 1024;

const OURS: ContenderName = 'swarmwright, SQLite FULL';
const NAMES: readonly ContenderName[] = [
  'raw fetch loop',
  'AI SDK ToolLoopAgent',
  '@openai/agents',
  'swarmwright, memory ledger',
  OURS,
];

/**
 * Room that the old generation is told of in a second measurement of ours, in MiB. V8 collects when it is used up and not
 * before: without a word it takes what the machine has, and most of what is resident is garbage.
 */
const HEAP_MIB = 220;
const TOLD = `${OURS}, heap of ${HEAP_MIB} MiB`;

/** Resident memory that one more open turn may take, in the worst of the rounds. */
const MAX_RSS_PER_TURN = 0.17 * MIB;
/** Growth of the live heap that is still flat. The first two rounds compile and fill caches. */
const SETTLED_ROUND = 2;
const MAX_HEAP_GROWTH = MIB;

interface Measured extends ConcurrentMemory {
  /** What each turn beyond those of the warm-up adds to the resident set. */
  readonly rssPerTurnBytes: number;
  /** The same over all turns, and above the idle process: with what being busy at all takes. */
  readonly rssPerTurnFromIdleBytes: number;
  readonly heapGrowthBytes: number;
}

function summed(memory: ConcurrentMemory): Measured {
  const peakBytes = Math.max(...memory.rounds.map(({ peakRssBytes }) => peakRssBytes));
  const settledBytes = memory.rounds[SETTLED_ROUND - 1]?.heapBytes ?? Number.NaN;
  return {
    ...memory,
    rssPerTurnBytes: (peakBytes - memory.busyRssBytes) / (TURNS - WARM_UP_TURNS),
    rssPerTurnFromIdleBytes: (peakBytes - memory.idleRssBytes) / TURNS,
    heapGrowthBytes: (memory.rounds.at(-1)?.heapBytes ?? Number.NaN) - settledBytes,
  };
}

function gatesOf(ours: Measured) {
  return [
    {
      gate: `${TOLD}: at most 0.17 MB of extra RSS a turn`,
      value: rounded(ours.rssPerTurnBytes / MIB, 3),
      isMet: ours.rssPerTurnBytes <= MAX_RSS_PER_TURN,
    },
    {
      gate: `${TOLD}: heap flat from round ${SETTLED_ROUND} to ${ROUNDS}, growth in MB`,
      value: rounded(ours.heapGrowthBytes / MIB),
      isMet: ours.heapGrowthBytes <= MAX_HEAP_GROWTH,
    },
  ];
}

/**
 * Memory of 1,000 turns at once against a provider that takes 200 ms to begin, over ten rounds. The worst round
 * counts, beside a process that has had 100 turns at once. The bounds are for a process of ours that is told how much
 * room it has, as one that is deployed is.
 */
export async function run() {
  await using server = await startServer(DELAY_MS);
  const measure = async (name: ContenderName, flags: readonly string[] = []) => {
    const args = [name, server.baseURL, String(TURNS), String(ROUNDS), String(WARM_UP_TURNS)];
    return summed(await measureUnder<ConcurrentMemory>(flags, 'concurrent-child.ts', ...args));
  };
  const measured = new Map<string, Measured>();
  for (const name of NAMES) measured.set(name, await measure(name));
  const ours = await measure(OURS, [`--max-old-space-size=${HEAP_MIB}`]);
  measured.set(TOLD, ours);
  const gates = gatesOf(ours);
  const rows = [...measured].map(([name, { rounds, ...memory }]) => ({
    contender: name,
    'RSS MB a turn': rounded(memory.rssPerTurnBytes / MIB, 3),
    'from idle': rounded(memory.rssPerTurnFromIdleBytes / MIB, 3),
    'heap growth MB': rounded(memory.heapGrowthBytes / MIB),
    'round s': rounded(median(rounds.map(({ wallMs }) => wallMs)) / 1_000, 1),
    note: name === 'swarmwright, memory ledger' ? 'keeps the records of every turn in the heap' : '',
  }));
  const json = {
    turns: TURNS,
    warmUpTurns: WARM_UP_TURNS,
    rounds: ROUNDS,
    delayMs: DELAY_MS,
    versions: versionsOf(['ai', '@ai-sdk/openai-compatible', '@openai/agents', 'openai']),
    measured: Object.fromEntries(measured),
    gates,
  };
  return {
    rows,
    json,
    failed: gates.filter(({ isMet }) => !isMet).map(({ gate, value }) => `${gate} (${value})`),
  };
}
