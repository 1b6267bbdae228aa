// One agent, from definition to result. Run it with: npm run example -- examples/one-agent.ts
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRuntime, defineAgent, defineTool, openaiCompatible } from 'swarmwright';
import { spawnScriptedServer } from 'swarmwright/testing';
import { z } from 'zod';

// Stands in for a provider, in a process of its own: real HTTP, real streaming, and no key.
await using server = await spawnScriptedServer(new URL('one-agent/script.ts', import.meta.url));

// Any endpoint that speaks chat completions goes here; then `apiKey` is needed too.
const model = openaiCompatible({ baseURL: server.baseURL, model: 'scripted' });

const folder = import.meta.dirname;

// A tool is a name, a description, a schema and a function. What a model sends is checked against the schema
// before the function is entered, and what the function throws becomes a result that the model can read.
const listFiles = defineTool({
  name: 'list_files',
  description: 'Names of the example files.',
  inputSchema: z.object({}),
  async execute() {
    return (await readdir(folder)).filter((name) => name.endsWith('.ts')).sort();
  },
});

const readExample = defineTool({
  name: 'read_example',
  description: 'Text of one example file.',
  // No slash: the model cannot name a file outside of the folder.
  inputSchema: z.object({ name: z.string().regex(/^[\w-]+\.ts$/) }),
  execute: ({ name }, { signal }) => readFile(join(folder, name), { encoding: 'utf8', signal }),
});

// An agent is data. Nothing runs until a runtime is given it.
const guide = defineAgent({
  name: 'guide',
  instructions: 'You explain the examples of a project. Look before you answer.',
  model,
  tools: [listFiles, readExample],
});

await using runtime = createRuntime();
const run = runtime.run(guide, 'Which examples are there, and what does the first one do?', {
  // A hard bound over everything that the run causes.
  budget: { steps: 10 },
});

// Every fact of the run, in order. A slow reader delays nothing.
for await (const event of run.events({ content: ['tool'] })) {
  if (event.type === 'step.started') console.log(`step ${event.data.index}`);
  if (event.type === 'tool.called')
    console.log(`  ${event.data.toolName} ${JSON.stringify(event.data.args)}`);
  if (event.type === 'tool.settled') console.log(`  ${event.data.toolName}: ${event.data.status}`);
}

// Never rejects: what can happen to a run is a value.
const result = await run.result;
if (result.status !== 'completed') throw new Error(JSON.stringify(result));
console.log(`\n${result.text}\n`);
console.log(
  `${result.steps} steps, ${result.toolCalls} tool calls, ${result.usage.total.totalTokens} tokens`,
);
