import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import {
  createRuntime,
  defineAgent,
  defineGraph,
  defineTool,
  type LimitOptions,
  memoryLedger,
  openaiCompatible,
  type Run,
  type RunEvent,
  sqliteLedger,
} from '../src/index.ts';
import { API_KEY, joined, LEAD, LOOK, MODEL, type SwarmContender, WORKER } from './swarm-work.ts';

/** How our runtime is set up for a measurement. */
export interface OurOptions {
  readonly ledger: 'memory' | 'sqlite';
  /** Laid over the defaults, which are those of a small swarm. */
  readonly limits?: LimitOptions;
  /** Is told every event of a run, of children too. */
  readonly onEvent?: (event: RunEvent) => void;
}

function targetsOf(baseURL: string) {
  const model = openaiCompatible({ baseURL, apiKey: API_KEY, model: MODEL });
  const worker = defineAgent({ ...WORKER, model, tools: [defineTool(LOOK)] });
  const { name, instructions } = LEAD;
  const lead = defineAgent({ name, instructions, model, agents: [worker] });
  const graph = defineGraph({ name: 'parts', input: z.object({ parts: z.array(z.string()) }) })
    .map('texts', worker, { from: 'input', over: ({ parts }) => parts })
    .node('report', (texts: readonly string[]) => joined(texts), { from: 'texts' })
    .build({ output: 'report' });
  return { lead, graph };
}

async function fileFor(ledger: OurOptions['ledger']) {
  if (ledger === 'memory') return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'swarmwright-bench-'));
  return { folder, path: join(folder, 'ledger.db') };
}

/** Ours, with everything on that is on by default, and a reader of the events of the whole tree. */
export async function ourSwarm(baseURL: string, options: OurOptions): Promise<SwarmContender> {
  const { lead, graph } = targetsOf(baseURL);
  const file = await fileFor(options.ledger);
  const ledger = file === undefined ? memoryLedger() : sqliteLedger({ path: file.path });
  const runtime = createRuntime({ ledger, limits: options.limits ?? {} });
  const outputOf = async (run: Run<unknown>): Promise<string> => {
    for await (const event of run.events({ tree: true })) options.onEvent?.(event);
    const result = await run.result;
    if (result.status === 'completed') return String(result.output);
    throw new Error(`the run ended as ${JSON.stringify(result)}`);
  };
  return {
    supervise: () => outputOf(runtime.run(lead, LEAD.prompt)),
    fanOut: (parts) => outputOf(runtime.run(graph, { parts: [...parts] })),
    async [Symbol.asyncDispose]() {
      await runtime.close();
      if (file !== undefined) await rm(file.folder, { recursive: true, force: true });
    },
  };
}
