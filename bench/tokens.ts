import {
  createRuntime,
  type DiscoveryPreset,
  defineAgent,
  defineTool,
  type JsonObject,
  type StepRequest,
  type Tool,
} from '../src/index.ts';
import { reply } from '../src/testing/reply.ts';
import { scriptedModel } from '../src/testing/scripted-model.ts';
import type { SearchableTool } from '../src/tools/search-index.ts';
import { readRetrievalData } from './retrieval-data.ts';
import { rounded } from './statistics.ts';

const INSTRUCTIONS = 'Work.';
/** Deferred tools of a turn, and how many sets of so many are drawn. */
const SIZES: readonly { readonly tools: number; readonly draws: number }[] = [
  { tools: 5, draws: 40 },
  { tools: 10, draws: 40 },
  { tools: 15, draws: 40 },
  { tools: 50, draws: 15 },
  { tools: 200, draws: 5 },
  { tools: 1_000, draws: 2 },
];
const ACTIVATED = 5;

const IDLE_PERCENT = 92;
const ACTIVE_PERCENT = 65;

/** Draws the same on every machine. */
function createDraw(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Beyond the number of real tools they come again, for other tenants. */
function drawTools(
  real: readonly SearchableTool[],
  count: number,
  draw: (below: number) => number,
): readonly SearchableTool[] {
  const drawn: SearchableTool[] = [];
  for (let round = 0; drawn.length < count; round += 1) {
    const left = [...real];
    while (left.length > 0 && drawn.length < count) {
      const [tool] = left.splice(draw(left.length), 1);
      if (tool === undefined) break;
      const tenant = `t${round}`;
      drawn.push(
        round === 0 ? tool : { ...tool, name: `${tenant}_${tool.name}`, group: `${tenant}_${tool.group}` },
      );
    }
  }
  return drawn;
}

function toTool({ name, description, inputSchema, group }: SearchableTool): Tool<unknown> {
  return defineTool<JsonObject, unknown, unknown>({
    name,
    description,
    // The catalogue holds what servers listed.
    inputSchema: inputSchema as JsonObject,
    defer: 'always',
    ...(group === undefined ? {} : { group }),
    execute: () => 'done',
  });
}

/** Characters as a server lists its tools: what a request costs that passes them on. */
function listedChars(tools: readonly SearchableTool[]): number {
  return tools.reduce(
    (sum, { name, description, inputSchema }) =>
      sum + JSON.stringify({ name, description, inputSchema }).length,
    0,
  );
}

/** Everything of a request that discovery costs: definitions, what the system text says of tools, searches. */
function discoveryChars({ tools, system = '', messages }: StepRequest): number {
  const definitions = tools.reduce((sum, tool) => sum + JSON.stringify(tool).length, 0);
  const searches = messages.flatMap((message) => {
    if (message.role === 'tool') return message.results.map(({ output }) => JSON.stringify(output));
    if (message.role !== 'assistant') return [];
    return message.content.flatMap((part) =>
      part.type === 'call' ? [JSON.stringify({ name: part.toolName, arguments: part.args })] : [],
    );
  });
  return definitions + (system.length - INSTRUCTIONS.length) + searches.join('').length;
}

/** The requests of one turn in which the model searches for these tools and then answers; none = it just answers. */
async function playTurn(
  preset: DiscoveryPreset,
  tools: readonly SearchableTool[],
  wanted: readonly string[],
): Promise<readonly number[]> {
  const search = reply().call('tool_search', { query: wanted.join(', '), limit: ACTIVATED });
  const done = reply().text('Done.');
  const model = scriptedModel({ script: wanted.length === 0 ? [done] : [search, done] });
  const agent = defineAgent({
    name: 'worker',
    instructions: INSTRUCTIONS,
    model,
    tools: tools.map(toTool),
    discovery: { preset },
    limits: { visibleTools: Number.POSITIVE_INFINITY },
  });
  await using runtime = createRuntime();
  const result = await runtime.run(agent, 'Go.').result;
  if (result.status !== 'completed') throw new Error(`the turn ended as ${JSON.stringify(result)}`);
  model.assertPlayedOut();
  const last = model.requests.at(-1)?.request.tools.map(({ name }) => name) ?? [];
  for (const name of preset === 'off' ? [] : wanted) {
    if (!last.includes(name)) throw new Error(`${name} was searched for and is not there`);
  }
  return model.requests.map(({ request }) => discoveryChars(request));
}

/** Characters of one draw. */
interface Costs {
  /** Every tool in the request, as its server lists it. */
  readonly listed: number;
  /** Every tool in the request, as this runtime writes it. */
  readonly inline: number;
  /** A request of a turn that uses none of them. */
  readonly idle: number;
  /** The largest request of a turn that activates five. */
  readonly active: number;
  /** The mean request of that turn: it searches in the first, without them, and has them in the second. */
  readonly mean: number;
}

async function costsOf(tools: readonly SearchableTool[], draw: (below: number) => number): Promise<Costs> {
  const left = tools.filter(({ name }) => /^[\w-]{1,64}$/.test(name)).map(({ name }) => name);
  const wanted = Array.from({ length: Math.min(ACTIVATED, left.length) }, () =>
    left.splice(draw(left.length), 1),
  ).flat();
  const [inline = 0] = await playTurn('off', tools, []);
  const [idle = 0] = await playTurn('search', tools, []);
  const requests = await playTurn('search', tools, wanted);
  return {
    listed: listedChars(tools),
    inline,
    idle,
    active: Math.max(...requests),
    mean: requests.reduce((sum, chars) => sum + chars, 0) / requests.length,
  };
}

type Sums = { readonly [K in keyof Costs]: number };

async function measure(real: readonly SearchableTool[], tools: number, draws: number): Promise<Sums> {
  const draw = createDraw(tools);
  const sums = { listed: 0, inline: 0, idle: 0, active: 0, mean: 0 };
  for (let at = 0; at < draws; at += 1) {
    const costs = await costsOf(drawTools(real, tools, draw), draw);
    for (const key of Object.keys(sums) as (keyof Costs)[]) sums[key] += costs[key] / draws;
  }
  return sums;
}

const saved = (cost: number, whole: number) => rounded(100 * (1 - cost / whole), 1);

function rowOf(tools: number, { listed, inline, idle, active, mean }: Sums) {
  return {
    tools,
    'all listed': Math.round(listed),
    'all inline here': Math.round(inline),
    idle: Math.round(idle),
    'with five': Math.round(active),
    'idle, % less than listed': saved(idle, listed),
    'idle, % less than inline': saved(idle, inline),
    'with five, % less than listed': saved(active, listed),
    'with five, % less than inline': saved(active, inline),
    'mean request with five, % less than listed': saved(mean, listed),
    'mean request with five, % less than inline': saved(mean, inline),
  };
}

/**
 * Characters of everything discovery costs a request (definitions, inventory, search tool, searches and their results),
 * beside all tools in it: as their servers list them, and as this runtime writes them, which is shorter. Tools are
 * drawn from the open catalogue of real servers. A turn that activates five has a request more than one that has them
 * all: the one in which the model searches. Figures are of single requests.
 */
export async function run() {
  const real = readRetrievalData().catalogues.get('npm-open') ?? [];
  const sums = new Map<number, Sums>();
  for (const { tools, draws } of SIZES) sums.set(tools, await measure(real, tools, draws));
  const of = (tools: number): Sums => {
    const found = sums.get(tools);
    if (found === undefined) throw new Error(`${tools} tools were not measured`);
    return found;
  };
  const gates = [
    { gate: 'idle at 15, % less than inline', value: saved(of(15).idle, of(15).inline), least: IDLE_PERCENT },
    {
      gate: 'with five at 15, % less than listed',
      value: saved(of(15).active, of(15).listed),
      least: ACTIVE_PERCENT,
    },
    {
      gate: 'mean request with five at 15, % less than inline',
      value: saved(of(15).mean, of(15).inline),
      least: ACTIVE_PERCENT,
    },
    {
      gate: '1,000 tools, % less than ten inline',
      value: saved(of(1_000).idle, of(10).inline),
      least: 0,
    },
  ];
  console.table(gates);
  const rows = [...sums].map(([tools, costs]) => rowOf(tools, costs));
  return {
    rows,
    json: { rows, gates },
    failed: gates
      .filter(({ value, least }) => !(value >= least))
      .map(({ gate, value }) => `${gate}: ${value}`),
  };
}
