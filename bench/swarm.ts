import { measureIn, startServer } from './processes.ts';
import { median, rounded } from './statistics.ts';
import type { SwarmCost } from './swarm-child.ts';
import { type SwarmContenderName, swarmContenders } from './swarm-contenders.ts';
import type { SwarmMemory } from './swarm-memory-child.ts';
import { SHAPES, type Shape } from './swarm-work.ts';
import { versionsOf } from './versions.ts';

const ROUNDS = 5;
const WARM_UP_RUNS = 15;
const RUNS = 25;

const RAW: SwarmContenderName = 'raw fetch loop';
/** The peer that does what ours does: it keeps what happened, and lets every delta be read, of children too. */
const PEER: SwarmContenderName = 'LangGraph.js, MemorySaver, stream';
const OURS: SwarmContenderName = 'swarmwright, memory ledger';

const NOTES: Readonly<Partial<Record<SwarmContenderName, string>>> = {
  'LangGraph.js, invoke': 'keeps nothing, shows nothing before the end',
};

const CHILDREN = 1_000;
const MEMORY_ROUNDS = 3;
const DELAY_MS = 200;
const MIB = 1024 * 1024;
const MAX_RSS_BYTES = 512 * MIB;
const LEDGERS = ['memory', 'sqlite'] as const;

type Costs = ReadonlyMap<SwarmContenderName, readonly SwarmCost[]>;
type Memories = ReadonlyMap<(typeof LEDGERS)[number], readonly SwarmMemory[]>;

/** Rounds go over all contenders in turn, so that a slow minute of the machine is everybody's. */
async function measureCosts(): Promise<ReadonlyMap<Shape, Costs>> {
  await using server = await startServer();
  // The keys of an object literal are its names.
  const names = Object.keys(swarmContenders) as SwarmContenderName[];
  const costs = new Map(SHAPES.map((shape) => [shape, new Map(names.map((name) => [name, noCosts()]))]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [shape, ofShape] of costs) {
      for (const [name, measured] of ofShape) {
        const args = [name, shape, server.baseURL, String(WARM_UP_RUNS), String(RUNS)];
        measured.push(await measureIn<SwarmCost>('swarm-child.ts', ...args));
      }
    }
  }
  return costs;
}

function noCosts(): SwarmCost[] {
  return [];
}

async function measureMemory(): Promise<Memories> {
  await using server = await startServer(DELAY_MS);
  const memories = new Map(LEDGERS.map((ledger): [typeof ledger, SwarmMemory[]] => [ledger, []]));
  for (let round = 0; round < MEMORY_ROUNDS; round++) {
    for (const [ledger, measured] of memories) {
      const args = [ledger, server.baseURL, String(CHILDREN)];
      measured.push(await measureIn<SwarmMemory>('swarm-memory-child.ts', ...args));
    }
  }
  return memories;
}

/** CPU above the raw loop of the same round, the median over the rounds. */
function aboveRaw(costs: Costs, name: SwarmContenderName): number {
  const raw = costs.get(RAW) ?? [];
  const own = costs.get(name) ?? [];
  return median(own.map(({ cpuMs }, round) => cpuMs - (raw[round]?.cpuMs ?? Number.NaN)));
}

function costRows(shape: Shape, costs: Costs) {
  const peerMs = aboveRaw(costs, PEER);
  return [...costs].map(([name, measured]) => {
    const aboveMs = aboveRaw(costs, name);
    return {
      measured: shape,
      contender: name,
      'CPU ms': rounded(median(measured.map(({ cpuMs }) => cpuMs))),
      'above raw ms': name === RAW ? '' : rounded(aboveMs),
      'of the peer': name === RAW ? '' : `${Math.round((100 * aboveMs) / peerMs)} %`,
      'wall ms': rounded(median(measured.map(({ wallMs }) => wallMs))),
      note: NOTES[name] ?? '',
    };
  });
}

function costGate(shape: Shape, costs: Costs) {
  const share = aboveRaw(costs, OURS) / aboveRaw(costs, PEER);
  return { gate: `${shape}: ${OURS} below ${PEER}`, value: rounded(share, 3), isMet: share < 1 };
}

const peakOf = (measured: readonly SwarmMemory[]): number =>
  Math.max(...measured.map(({ peakRssBytes }) => peakRssBytes));

const openOf = (measured: readonly SwarmMemory[]): number =>
  Math.min(...measured.map(({ openAtOnce }) => openAtOnce));

function memoryRows(memories: Memories) {
  return [...memories].map(([ledger, measured]) => ({
    measured: `map of ${CHILDREN} children`,
    contender: `swarmwright, ${ledger} ledger`,
    'open at once': openOf(measured),
    'peak RSS MB': rounded(peakOf(measured) / MIB, 0),
    'wall ms': rounded(median(measured.map(({ wallMs }) => wallMs)), 0),
  }));
}

/** All children have to be open at the same moment, or what they take together would not be known. */
function memoryGates(memories: Memories) {
  return [...memories].flatMap(([ledger, measured]) => [
    {
      gate: `${ledger} ledger: ${CHILDREN} children open at once`,
      value: openOf(measured),
      isMet: openOf(measured) === CHILDREN,
    },
    {
      gate: `${ledger} ledger: peak RSS of ${CHILDREN} children below 512 MB`,
      value: rounded(peakOf(measured) / MIB, 0),
      isMet: peakOf(measured) < MAX_RSS_BYTES,
    },
  ]);
}

/**
 * CPU above raw fetch loops of a supervisor with eight children, and of a graph of sixteen branches and a join, beside
 * LangGraph.js; then the memory of 1,000 children at once in one process, the worst round of each ledger.
 */
export async function run() {
  const costs = await measureCosts();
  const memories = await measureMemory();
  const gates = [...[...costs].map(([shape, ofShape]) => costGate(shape, ofShape)), ...memoryGates(memories)];
  const peers = ['@langchain/langgraph', '@langchain/core', '@langchain/openai', 'openai'];
  const json = {
    rounds: ROUNDS,
    warmUpRuns: WARM_UP_RUNS,
    runs: RUNS,
    versions: versionsOf([...peers, 'ai', '@ai-sdk/openai-compatible']),
    costs: Object.fromEntries([...costs].map(([shape, ofShape]) => [shape, Object.fromEntries(ofShape)])),
    children: CHILDREN,
    delayMs: DELAY_MS,
    memory: Object.fromEntries(memories),
    gates,
  };
  return {
    rows: [...[...costs].flatMap(([shape, ofShape]) => costRows(shape, ofShape)), ...memoryRows(memories)],
    json,
    failed: gates.filter(({ isMet }) => !isMet).map(({ gate, value }) => `${gate} (${value})`),
  };
}
