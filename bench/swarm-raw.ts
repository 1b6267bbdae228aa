import { z } from 'zod';
import { type RawAgent, rawLoop } from './raw-loop.ts';
import { API_KEY, ASK, joined, LEAD, LOOK, MODEL, type SwarmContender, WORKER } from './swarm-work.ts';

interface Named {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: z.ZodType;
}

function definitionOf({ name, description, inputSchema }: Named): object {
  return { type: 'function', function: { name, description, parameters: z.toJSONSchema(inputSchema) } };
}

/** The floor of both shapes: loops of requests, run at the same time by `Promise.all`. */
export async function rawSwarm(baseURL: string): Promise<SwarmContender> {
  const provider = {
    url: `${baseURL}/chat/completions`,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${API_KEY}` },
    model: MODEL,
  };
  const look = { definition: definitionOf(LOOK), execute: (json: string) => LOOK.execute(JSON.parse(json)) };
  const worker: RawAgent = {
    ...provider,
    instructions: WORKER.instructions,
    tools: { [LOOK.name]: look },
  };
  const ask = {
    definition: definitionOf(ASK),
    execute: (json: string) => rawLoop(worker, JSON.parse(json).task),
  };
  const lead: RawAgent = { ...provider, instructions: LEAD.instructions, tools: { [ASK.name]: ask } };
  return {
    supervise: () => rawLoop(lead, LEAD.prompt),
    fanOut: async (parts) => joined(await Promise.all(parts.map((part) => rawLoop(worker, part)))),
    async [Symbol.asyncDispose]() {},
  };
}
