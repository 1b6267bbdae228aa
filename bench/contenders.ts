import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Inspector } from '../src/lifecycle/inspector.ts';
import { rawLoop } from './raw-loop.ts';

/** One way to run the scripted turn. `turn` resolves to the text of the last step. */
export interface Contender extends AsyncDisposable {
  turn(): Promise<string>;
}

/** Sets a contender up against a provider, loading only the packages it needs. */
export type Contend = (baseURL: string) => Promise<Contender>;

const MODEL = 'bench';
const API_KEY = 'none';
const NAME = 'weather';
const DESCRIPTION = 'Tells the weather of a city.';
const INSTRUCTIONS = 'Ask for the weather of both cities, then sum up.';
const PROMPT = 'How is the weather in both cities?';
const inputSchema = z.object({ city: z.string().describe('Name of the city.') });
const execute = async ({ city }: { readonly city: string }): Promise<string> => `${city}: sunny, 21 degrees`;

const nothing = async (): Promise<void> => {};

/** What the runtime of JavaScript itself takes for three requests and their parsing. */
const raw: Contend = async (baseURL) => {
  const parameters = z.toJSONSchema(inputSchema);
  const definition = { type: 'function', function: { name: NAME, description: DESCRIPTION, parameters } };
  const agent = {
    url: `${baseURL}/chat/completions`,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${API_KEY}` },
    model: MODEL,
    instructions: INSTRUCTIONS,
    tools: { [NAME]: { definition, execute: (json: string) => execute(JSON.parse(json)) } },
  };
  return { turn: () => rawLoop(agent, PROMPT), [Symbol.asyncDispose]: nothing };
};

const aiSdkModel = async (baseURL: string) => {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ name: 'bench', baseURL, apiKey: API_KEY }).chatModel(MODEL);
};

/** The provider package by itself, in the smallest loop that makes the turn. */
const doStream: Contend = async (baseURL) => {
  const model = await aiSdkModel(baseURL);
  type Prompt = Parameters<typeof model.doStream>[0]['prompt'];
  // Zod writes JSON Schema 2020-12; the provider's type is of draft 7, which for this schema is the same.
  const schema = z.toJSONSchema(inputSchema) as object;
  const tools = [{ type: 'function' as const, name: NAME, description: DESCRIPTION, inputSchema: schema }];
  return {
    async turn() {
      const prompt: Prompt = [
        { role: 'system', content: INSTRUCTIONS },
        { role: 'user', content: [{ type: 'text', text: PROMPT }] },
      ];
      for (;;) {
        const { stream } = await model.doStream({ prompt, tools });
        let text = '';
        const calls: { toolCallId: string; input: string }[] = [];
        for await (const part of stream) {
          if (part.type === 'text-delta') text += part.delta;
          else if (part.type === 'tool-call') calls.push(part);
        }
        if (calls.length === 0) return text;
        const asked = calls.map(({ toolCallId, input }) => ({
          type: 'tool-call' as const,
          toolCallId,
          toolName: NAME,
          input: JSON.parse(input),
        }));
        prompt.push({ role: 'assistant', content: [{ type: 'text', text }, ...asked] });
        for (const { toolCallId, input } of asked) {
          const output = { type: 'text' as const, value: await execute(input) };
          prompt.push({
            role: 'tool',
            content: [{ type: 'tool-result', toolCallId, toolName: NAME, output }],
          });
        }
      }
    },
    [Symbol.asyncDispose]: nothing,
  };
};

const toolLoopAgent: Contend = async (baseURL) => {
  const { ToolLoopAgent, tool } = await import('ai');
  const weather = tool({ description: DESCRIPTION, inputSchema, execute });
  const model = await aiSdkModel(baseURL);
  const agent = new ToolLoopAgent({ model, instructions: INSTRUCTIONS, tools: { [NAME]: weather } });
  return {
    async turn() {
      const result = await agent.stream({ prompt: PROMPT });
      for await (const _ of result.fullStream);
      return result.text;
    },
    [Symbol.asyncDispose]: nothing,
  };
};

const openaiAgents: Contend = async (baseURL) => {
  const { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } = await import('@openai/agents');
  const { OpenAI } = await import('openai');
  setTracingDisabled(true);
  const model = new OpenAIChatCompletionsModel(new OpenAI({ baseURL, apiKey: API_KEY }), MODEL);
  const weather = tool({ name: NAME, description: DESCRIPTION, parameters: inputSchema, execute });
  const agent = new Agent({ name: 'forecaster', instructions: INSTRUCTIONS, model, tools: [weather] });
  return {
    async turn() {
      const result = await run(agent, PROMPT, { stream: true });
      for await (const _ of result);
      await result.completed;
      return result.finalOutput ?? '';
    },
    [Symbol.asyncDispose]: nothing,
  };
};

/** What of ours a measurement varies. */
interface OurOptions {
  /** A SQLite ledger there; else one in memory. */
  readonly path?: string;
  readonly inspect?: Inspector;
}

/** Ours, with everything on that is on by default, and a reader of the events. */
export async function swarmwright(baseURL: string, options: OurOptions = {}): Promise<Contender> {
  const { path, inspect } = options;
  const { createRuntime, defineAgent, defineTool, memoryLedger, openaiCompatible, sqliteLedger } =
    await import('../src/index.ts');
  const weather = defineTool({ name: NAME, description: DESCRIPTION, inputSchema, execute });
  const model = openaiCompatible({ baseURL, apiKey: API_KEY, model: MODEL });
  const agent = defineAgent({ name: 'forecaster', instructions: INSTRUCTIONS, model, tools: [weather] });
  const ledger = path === undefined ? memoryLedger() : sqliteLedger({ path });
  const runtime = createRuntime({ ledger, ...(inspect === undefined ? {} : { inspect }) });
  return {
    async turn() {
      const run = runtime.run(agent, PROMPT);
      for await (const _ of run.events());
      const result = await run.result;
      if (result.status === 'completed') return result.text;
      throw new Error(`the run ended as ${JSON.stringify(result)}`);
    },
    [Symbol.asyncDispose]: () => runtime.close(),
  };
}

const swarmwrightSqlite: Contend = async (baseURL) => {
  const folder = await mkdtemp(join(tmpdir(), 'swarmwright-bench-'));
  const contender = await swarmwright(baseURL, { path: join(folder, 'ledger.db') });
  return {
    turn: () => contender.turn(),
    async [Symbol.asyncDispose]() {
      await contender[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** Every contender by the name under which the tables show it. */
export const contenders = {
  'raw fetch loop': raw,
  'doStream alone': doStream,
  'AI SDK ToolLoopAgent': toolLoopAgent,
  '@openai/agents': openaiAgents,
  'swarmwright, memory ledger': (baseURL) => swarmwright(baseURL),
  'swarmwright, SQLite FULL': swarmwrightSqlite,
} as const satisfies Readonly<Record<string, Contend>>;

/** A name of {@link contenders}. */
export type ContenderName = keyof typeof contenders;

const LAST_TEXT = Array.from({ length: 20 }, (_, i) => `step 2 delta ${i} `).join('');

/** Runs one turn and holds it to its outcome: a contender that skipped a step would only look fast. */
export async function checkedTurn(contender: Contender): Promise<void> {
  const text = await contender.turn();
  if (!text.endsWith(LAST_TEXT.trimEnd()) && !text.endsWith(LAST_TEXT)) {
    throw new Error(`a turn ended with ${JSON.stringify(text)}`);
  }
}

/** The contender of that name against that provider. */
export function contend(name: string, baseURL: string): Promise<Contender> {
  if (Object.hasOwn(contenders, name)) return contenders[name as ContenderName](baseURL);
  throw new Error(`no contender is called ${name}`);
}
