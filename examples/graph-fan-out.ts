// A graph: one agent a part of the project, all at the same time, beside plain code that counts; what one of them cannot
// do is a value for the join. A report that is too long is shortened, three rounds at most.
// Run it with: npm run example -- examples/graph-fan-out.ts
import { readdir, readFile } from 'node:fs/promises';
import { createRuntime, defineAgent, defineGraph, openaiCompatible } from 'swarmwright';
import { spawnScriptedServer } from 'swarmwright/testing';
import { z } from 'zod';

const root = new URL('../', import.meta.url);

await using server = await spawnScriptedServer(new URL('graph-fan-out/script.ts', import.meta.url));
const modelOf = (model: string) => openaiCompatible({ baseURL: server.baseURL, model });

const surveyor = defineAgent({
  name: 'surveyor',
  instructions: 'You say in one sentence what a folder is for.',
  model: modelOf('surveyor'),
});
const editor = defineAgent({
  name: 'editor',
  instructions: 'You shorten a report and keep its facts.',
  model: modelOf('editor'),
});

const survey = defineGraph({ name: 'survey', input: z.object({ folders: z.array(z.string()) }) })
  // Dynamic fan-out: one surveyor a folder, in sessions of their own; the results keep the order of the folders.
  .map('parts', surveyor, { from: 'input', over: ({ folders }) => folders, maxConcurrency: 3 })
  .map('sizes', async (folder: string) => (await readdir(new URL(`${folder}/`, root))).length, {
    from: 'input',
    over: ({ folders }) => folders,
    recovery: 'replay_safe',
  })
  .node('license', async () => (await readFile(new URL('COPYING', root), 'utf8')).length, { from: 'input' })
  .join(
    'report',
    { from: ['parts', 'sizes', 'license'], onError: 'collect' },
    ({ parts, sizes, license }) => {
      const lines =
        parts.ok && sizes.ok ? parts.output.map((text, at) => `${text} (${sizes.output[at]})`) : [];
      return [...lines, license.ok ? 'It has a license.' : 'There is no file COPYING.'].join('\n');
    },
  )
  .node('short', editor, { from: 'report' })
  .loop('final', { from: 'short', back: 'short', while: (text) => text.split('\n').length > 2, max: 3 })
  .build({ output: 'final' });

console.log(survey.toMermaid());

await using runtime = createRuntime();
const run = runtime.run(survey, { folders: ['src', 'test', 'bench'] }, { budget: { steps: 20 } });
for await (const event of run.events({ tree: true })) {
  if (event.type === 'node.started') console.log(`${event.data.work} begins`);
  if (event.type === 'node.finished') console.log(`${event.data.work} ${event.data.status}`);
}
const result = await run.result;
if (result.status !== 'completed') throw new Error(JSON.stringify(result));
console.log(`\n${result.output}`);
