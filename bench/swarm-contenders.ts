import { BRANCHES, type SwarmContender } from './swarm-work.ts';

/** Sets a contender up against a provider, loading only the packages it needs. */
type Contend = (baseURL: string) => Promise<SwarmContender>;

// Where a graph is to have all of its branches at work at once.
const limits = { fanOut: BRANCHES };

const langGraph = async (baseURL: string, way: 'invoke' | 'stream'): Promise<SwarmContender> =>
  (await import('./swarm-langgraph.ts')).langGraphSwarm(baseURL, way);

const ours = async (baseURL: string, ledger: 'memory' | 'sqlite'): Promise<SwarmContender> =>
  (await import('./swarm-ours.ts')).ourSwarm(baseURL, { ledger, limits });

/** Every contender by the name under which the table shows it. */
export const swarmContenders = {
  'raw fetch loop': async (baseURL) => (await import('./swarm-raw.ts')).rawSwarm(baseURL),
  'LangGraph.js, invoke': (baseURL) => langGraph(baseURL, 'invoke'),
  'LangGraph.js, MemorySaver, stream': (baseURL) => langGraph(baseURL, 'stream'),
  'swarmwright, memory ledger': (baseURL) => ours(baseURL, 'memory'),
  'swarmwright, SQLite FULL': (baseURL) => ours(baseURL, 'sqlite'),
} as const satisfies Readonly<Record<string, Contend>>;

/** A name of {@link swarmContenders}. */
export type SwarmContenderName = keyof typeof swarmContenders;

/** The contender of that name against that provider. */
export function contendSwarm(name: string, baseURL: string): Promise<SwarmContender> {
  if (Object.hasOwn(swarmContenders, name)) return swarmContenders[name as SwarmContenderName](baseURL);
  throw new Error(`no contender is called ${name}`);
}
