// An agent whose effect says that it runs: `effectful-agent.ts <ledger path> <base URL> <session> <run|next> <stay|go>`.
// With `stay` the effect never ends, so that whoever started it can kill the process between a fact and its effect.
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool, openaiCompatible, sqliteLedger } from '../../src/index.ts';

const [path = '', baseURL = '', sessionId = '', input = '', how = ''] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);

const agent = defineAgent({
  name: 'worker',
  instructions: 'Work.',
  model: openaiCompatible({ baseURL, model: 'scripted' }),
  tools: [
    defineTool({
      name: 'work',
      description: 'Works.',
      inputSchema: z.object({ id: z.string() }),
      execute: ({ id }) => `worked ${id}`,
    }),
  ],
  hooks: {
    name: 'mail',
    async afterToolCall(fact, { id }) {
      say(`effect ${id} ${fact.type} ${fact.data.status}`);
      // The timer keeps the process alive.
      if (how === 'stay') await new Promise((wake) => setTimeout(wake, 1e9));
    },
  },
});
const runtime = createRuntime({ ledger: sqliteLedger({ path }) });
const run = runtime.run(agent, input, { sessionId });
say(`result ${(await run.result).status}`);
await runtime.close();
say('closed');
