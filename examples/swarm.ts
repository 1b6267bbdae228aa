// A supervisor whose model schedules the work while it runs: three agents at the same time, a fourth one that is given
// what they found, and turns of the supervisor only where there is news.
// Run it with: npm run example -- examples/swarm.ts
import { readdir, readFile } from 'node:fs/promises';
import { createRuntime, defineAgent, defineSwarm, defineTool, openaiCompatible } from 'swarmwright';
import { spawnScriptedServer } from 'swarmwright/testing';
import { z } from 'zod';

const root = new URL('../', import.meta.url);

const measureFolder = defineTool({
  name: 'measure_folder',
  description: 'Counts the TypeScript files of a folder and their lines.',
  inputSchema: z.object({ folder: z.enum(['machines', 'src/graph', 'src/turn']) }),
  async execute({ folder }) {
    const names = (await readdir(new URL(`${folder}/`, root))).filter((name) => name.endsWith('.ts'));
    const texts = await Promise.all(
      names.map((name) => readFile(new URL(`${folder}/${name}`, root), 'utf8')),
    );
    const lines = texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0);
    return `${folder}: ${names.length} files, ${lines} lines`;
  },
});

await using server = await spawnScriptedServer(new URL('swarm/script.ts', import.meta.url));
const modelOf = (model: string) => openaiCompatible({ baseURL: server.baseURL, model });

const surveyor = defineAgent({
  name: 'surveyor',
  description: 'Measures folders of the project.',
  instructions: 'You measure one folder and say how large it is.',
  model: modelOf('surveyor'),
  tools: [measureFolder],
});
const editor = defineAgent({
  name: 'editor',
  description: 'Merges what others found.',
  instructions: 'You merge results into one text.',
  model: modelOf('editor'),
});
const lead = defineAgent({
  name: 'lead',
  instructions: 'You have a project measured.',
  model: modelOf('lead'),
});

// In the mode `swarm` the lead is woken when all is settled, or something needs it; in `graph` at each work that ends.
const survey = defineSwarm({
  name: 'survey',
  supervisor: lead,
  agents: [surveyor, editor],
  mode: 'swarm',
  limits: { fanOut: 3, agents: 8 },
});

await using runtime = createRuntime({ agents: { survey } });
const run = runtime.run(survey, 'How large is the project?', { budget: { steps: 30 } });
for await (const event of run.events({ tree: true })) {
  const who = event.agentPath.join(' > ');
  if (event.type === 'turn.opened')
    console.log(`${who}: ${event.data.wake === undefined ? 'began' : 'was woken'}`);
  if (event.type === 'graph.updated') console.log(`${who}: scheduled ${event.data.works.length} works`);
  if (event.type === 'node.finished') console.log(`${who}: ${event.data.work} ${event.data.status}`);
  if (event.type === 'turn.closed') console.log(`${who}: ${event.data.status}`);
}
const result = await run.result;
if (result.status !== 'completed') throw new Error(JSON.stringify(result));
console.log(`\n${result.text}\n`);
for (const [agent, usage] of Object.entries(result.usage.byAgent)) {
  console.log(`${agent}: ${usage.inputTokens ?? 0} tokens in, ${usage.outputTokens ?? 0} out`);
}
