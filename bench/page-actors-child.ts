import { setTimeout as pause } from 'node:timers/promises';
import { defineAgent } from '../src/agent/define-agent.ts';
import { page } from '../src/inspect/page.ts';
import { createRuntime } from '../src/runtime.ts';
import { reply } from '../src/testing/reply.ts';
import { scriptedModel } from '../src/testing/scripted-model.ts';
import { defineTool } from '../src/tools/define-tool.ts';
import { showAndMeasure } from './page-process.ts';

// Agents that are all at work: each calls a tool again and again, which takes its time.

const [actors = '1', everyMs = '1000'] = process.argv.slice(2);

const work = defineTool({
  name: 'work',
  description: 'Takes a while.',
  inputSchema: { type: 'object', properties: {} },
  async execute(_, { signal }) {
    // Spread, so that something happens all the time and never all at once.
    await pause(Number(everyMs) * (0.5 + Math.random()), undefined, { signal });
    return 'done';
  },
});
const agent = defineAgent({
  name: 'worker',
  instructions: 'Work.',
  model: scriptedModel({ script: () => reply().call('work', { at: Math.random() }) }),
  tools: [work],
});
const inspector = page();
const runtime = createRuntime({ inspect: inspector });

showAndMeasure(await inspector.url, async (_: 'start', seen) => {
  for (let started = 0; started < Number(actors); started++) {
    runtime.run(agent, 'Go.');
    if (started % 20 === 0) await pause(20);
  }
  await seen;
  return {};
});
