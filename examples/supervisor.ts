// A lead that asks two agents at the same time and merges what they found: each works in a session of its own, with
// its own tools, and shares nothing with the other but the budget of the run.
// Run it with: npm run example -- examples/supervisor.ts
import { readdir, readFile } from 'node:fs/promises';
import { createRuntime, defineAgent, defineTool, openaiCompatible } from 'swarmwright';
import { spawnScriptedServer } from 'swarmwright/testing';
import { z } from 'zod';

const root = new URL('../', import.meta.url);

const listFolder = defineTool({
  name: 'list_folder',
  description: 'Lists the files of a folder.',
  inputSchema: z.object({ folder: z.enum(['src', 'test', 'docs']) }),
  async execute({ folder }) {
    const names = await readdir(new URL(`${folder}/`, root));
    return `${folder} holds ${names.length} entries`;
  },
});

const countLines = defineTool({
  name: 'count_lines',
  description: 'Counts the lines of a file.',
  inputSchema: z.object({ file: z.enum(['README.md', 'CHANGELOG.md']) }),
  async execute({ file }) {
    const text = await readFile(new URL(file, root), 'utf8');
    return `${file} has ${text.split('\n').length} lines`;
  },
});

await using server = await spawnScriptedServer(new URL('supervisor/script.ts', import.meta.url));
const modelOf = (model: string) => openaiCompatible({ baseURL: server.baseURL, model });

const surveyor = defineAgent({
  name: 'surveyor',
  description: 'Knows the folders of the project.',
  instructions: 'You look at folders and say what is in them.',
  model: modelOf('surveyor'),
  tools: [listFolder],
});
const reader = defineAgent({
  name: 'reader',
  description: 'Knows the documents of the project.',
  instructions: 'You look at documents and say how long they are.',
  model: modelOf('reader'),
  tools: [countLines],
});
const lead = defineAgent({
  name: 'lead',
  instructions: 'You ask others and merge what they find.',
  model: modelOf('lead'),
  // The model sees them as the tools `ask_surveyor` and `ask_reader`.
  agents: [surveyor, reader],
  limits: { fanOut: 2 },
});

await using runtime = createRuntime();
const run = runtime.run(lead, 'Describe this project.', { budget: { steps: 20, agents: 3 } });
for await (const event of run.events({ tree: true })) {
  const who = event.agentPath.join(' > ');
  if (event.type === 'turn.opened') console.log(`${who}: began`);
  if (event.type === 'tool.settled') console.log(`${who}: ${event.data.toolName} ${event.data.status}`);
  if (event.type === 'turn.closed') console.log(`${who}: ${event.data.status}`);
}
const result = await run.result;
if (result.status !== 'completed') throw new Error(JSON.stringify(result));
console.log(result.text);
for (const [agent, usage] of Object.entries(result.usage.byAgent)) {
  console.log(`${agent}: ${usage.inputTokens ?? 0} tokens in, ${usage.outputTokens ?? 0} out`);
}
