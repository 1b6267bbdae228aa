import { measureIn, measureUnder, startServer } from './processes.ts';
import { median, rounded } from './statistics.ts';
import type { SwarmCost } from './swarm-child.ts';
import { type SwarmContenderName, swarmContenders } from './swarm-contenders.ts';
import type { SwarmMemory } from './swarm-memory-child.ts';
import { SHAPES, type Shape } from './swarm-work.ts';
import { versionsOf } from './versions.ts';

const ROUNDS = 5;
const WARM_UP_RUNS = 12;
const RUNS = 12;

const RAW: SwarmContenderName = 'raw fetch loop';
/** The peer that does what ours does: it keeps what happened, and lets every delta be read, of children too. */
const PEER: SwarmContenderName = 'LangGraph.js, MemorySaver, stream';
const OURS: SwarmContenderName = 'swarmwright, memory ledger';

const NOTES: Readonly<Partial<Record<SwarmContenderName, string>>> = {
  'LangGraph.js, invoke': 'keeps nothing, shows nothing before the end',
};

const CHILDREN = 1_000;
const MEMORY_ROUNDS = 2;
const DELAY_MS = 200;
const MIB = 1024 * 1024;
const MAX_RSS_BYTES = 512 * MIB;

/**
 * A process is told of the room it has, as one is that runs in so little; by itself V8 collects later, the more memory
 * the machine has, and most of what it then holds is garbage. That is shown beside it, and no gate.
 */
const MEMORY_CASES = [
  { ledger: 'memory', heapMiB: 320 },
  { ledger: 'sqlite', heapMiB: 320 },
  { ledger: 'memory', heapMiB: undefined },
  { ledger: 'sqlite', heapMiB: undefined },
] as const;

type MemoryCase = (typeof MEMORY_CASES)[number];

type Costs = ReadonlyMap<SwarmContenderName, readonly SwarmCost[]>;
type Memories = ReadonlyMap<MemoryCase, readonly SwarmMemory[]>;

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
  const memories = new Map(MEMORY_CASES.map((each): [MemoryCase, SwarmMemory[]] => [each, []]));
  for (let round = 0; round < MEMORY_ROUNDS; round++) {
    for (const [{ ledger, heapMiB }, measured] of memories) {
      const flags = heapMiB === undefined ? [] : [`--max-old-space-size=${heapMiB}`];
      const args = [ledger, server.baseURL, String(CHILDREN)];
      measured.push(await measureUnder<SwarmMemory>(flags, 'swarm-memory-child.ts', ...args));
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

function nameOf({ ledger, heapMiB }: MemoryCase): string {
  return `${ledger} ledger, heap ${heapMiB === undefined ? 'as V8 sees fit' : `of ${heapMiB} MB`}`;
}

function memoryRows(memories: Memories) {
  return [...memories].map(([each, measured]) => ({
    measured: `map of ${CHILDREN} children`,
    contender: `swarmwright, ${nameOf(each)}`,
    'open at once': openOf(measured),
    'peak RSS MB': rounded(peakOf(measured) / MIB, 0),
    'wall ms': rounded(median(measured.map(({ wallMs }) => wallMs)), 0),
  }));
}

/** All children have to be open at the same moment, or what they take together would not be known. */
function memoryGates(memories: Memories) {
  const told = [...memories].filter(([{ heapMiB }]) => heapMiB !== undefined);
  return told.flatMap(([each, measured]) => [
    {
      gate: `${nameOf(each)}: ${CHILDREN} children open at once`,
      value: openOf(measured),
      isMet: openOf(measured) === CHILDREN,
    },
    {
      gate: `${nameOf(each)}: peak RSS of ${CHILDREN} children below 512 MB`,
      value: rounded(peakOf(measured) / MIB, 0),
      isMet: peakOf(measured) < MAX_RSS_BYTES,
    },
  ]);
}

/**
 * CPU above raw fetch loops of a supervisor with eight children, and of a graph of sixteen branches and a join, beside
 * LangGraph.js; then the memory of 1,000 children at once in one process, in the worst of the rounds.
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
    memory: Object.fromEntries([...memories].map(([each, measured]) => [nameOf(each), measured])),
    gates,
  };
  return {
    rows: [...[...costs].flatMap(([shape, ofShape]) => costRows(shape, ofShape)), ...memoryRows(memories)],
    json,
    failed: gates.filter(({ isMet }) => !isMet).map(({ gate, value }) => `${gate} (${value})`),
  };
}
