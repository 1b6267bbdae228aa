import { type ContenderName, contenders } from './contenders.ts';
import { measureIn, startServer } from './processes.ts';
import { median, rounded } from './statistics.ts';
import type { TurnCost } from './turn-child.ts';
import { versionsOf } from './versions.ts';

const ROUNDS = 5;
const WARM_UP_TURNS = 20;
const TURNS = 100;

const RAW: ContenderName = 'raw fetch loop';
const PROVIDER: ContenderName = 'doStream alone';
const PEERS: readonly ContenderName[] = ['AI SDK ToolLoopAgent', '@openai/agents'];
const MEMORY: ContenderName = 'swarmwright, memory ledger';
const SQLITE: ContenderName = 'swarmwright, SQLite FULL';

/** Share of the lower peer that a turn of ours may cost above the raw loop. */
const MAX_SHARE = 1 / 3;
const AIM_SHARE = 1 / 4;

type Costs = ReadonlyMap<ContenderName, readonly TurnCost[]>;

/** Rounds go over all contenders in turn, so that a slow minute of the machine is everybody's. */
async function measure(): Promise<Costs> {
  await using server = await startServer();
  // The keys of an object literal are its names.
  const names = Object.keys(contenders) as ContenderName[];
  const costs = new Map<ContenderName, TurnCost[]>(names.map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, measured] of costs) {
      const args = [name, server.baseURL, String(WARM_UP_TURNS), String(TURNS)];
      measured.push(await measureIn<TurnCost>('turn-child.ts', ...args));
    }
  }
  return costs;
}

/** CPU above the raw loop of the same round, the median over the rounds. */
function aboveRaw(costs: Costs, name: ContenderName): number {
  const raw = costs.get(RAW) ?? [];
  const own = costs.get(name) ?? [];
  return median(own.map(({ cpuMs }, round) => cpuMs - (raw[round]?.cpuMs ?? Number.NaN)));
}

function gatesOf(above: ReadonlyMap<ContenderName, number>, lowerPeerMs: number) {
  const memory = above.get(MEMORY) ?? Number.NaN;
  const sqlite = above.get(SQLITE) ?? Number.NaN;
  const share = memory / lowerPeerMs;
  return [
    {
      gate: `${MEMORY}: at most a third of the lower peer`,
      value: rounded(share, 3),
      isMet: share <= MAX_SHARE,
    },
    {
      gate: `${SQLITE}: below both peers`,
      value: rounded(sqlite / lowerPeerMs, 3),
      isMet: sqlite < lowerPeerMs,
    },
  ];
}

/** Says where most of a contender's cost is the provider package's, which no loop around it can save. */
function noteOn(name: ContenderName, aboveMs: number, providerMs: number): string {
  if (name === RAW || name === PROVIDER || name === '@openai/agents') return '';
  const share = Math.round((100 * providerMs) / aboveMs);
  return share > 50 ? `the provider package is the larger part (${share} %)` : '';
}

/** CPU of one turn (3 steps of 20 deltas, 2 calls) above a raw fetch loop, beside two other runtimes. */
export async function run() {
  const costs = await measure();
  const above = new Map([...costs.keys()].map((name) => [name, aboveRaw(costs, name)]));
  const lowerPeerMs = Math.min(...PEERS.map((peer) => above.get(peer) ?? Number.NaN));
  const providerMs = above.get(PROVIDER) ?? Number.NaN;
  const gates = gatesOf(above, lowerPeerMs);
  const rows = [...costs].map(([name, measured]) => {
    const aboveMs = above.get(name) ?? Number.NaN;
    return {
      contender: name,
      'CPU ms': rounded(median(measured.map(({ cpuMs }) => cpuMs))),
      'above raw ms': name === RAW ? '' : rounded(aboveMs),
      'of lower peer': name === RAW ? '' : `${Math.round((100 * aboveMs) / lowerPeerMs)} %`,
      'wall ms': rounded(median(measured.map(({ wallMs }) => wallMs))),
      note: noteOn(name, aboveMs, providerMs),
    };
  });
  const json = {
    rounds: ROUNDS,
    warmUpTurns: WARM_UP_TURNS,
    turns: TURNS,
    versions: versionsOf(['ai', '@ai-sdk/openai-compatible', '@openai/agents', 'openai']),
    costs: Object.fromEntries(costs),
    aboveRawMs: Object.fromEntries(above),
    aimShare: AIM_SHARE,
    gates,
  };
  return {
    rows,
    json,
    failed: gates.filter(({ isMet }) => !isMet).map(({ gate, value }) => `${gate} (${value})`),
  };
}
