// Two hundred tools, of which a turn sees what it needs. Run it with: npm run example -- examples/many-tools.ts
import { createRuntime, defineAgent, openaiCompatible } from 'swarmwright';
import { spawnScriptedServer } from 'swarmwright/testing';
import { createToolbox } from './many-tools/toolbox.ts';

await using server = await spawnScriptedServer(new URL('many-tools/script.ts', import.meta.url));

const tools = createToolbox();
const clerk = defineAgent({
  name: 'clerk',
  instructions: 'You run the back office of a shop.',
  model: openaiCompatible({ baseURL: server.baseURL, model: 'scripted', contextWindow: 32_000 }),
  // Each says `defer: 'auto'`: so many of them would take more than a tenth of the window, so none is in the request.
  // Their names are in the system text, and the model finds them with `tool_search`.
  tools,
});
console.log(`${tools.length} tools`);

await using runtime = createRuntime();
const run = runtime.run(clerk, 'Order 1042 arrived broken. Refund it, and open a ticket.');

for await (const event of run.events({ content: ['tool'] })) {
  switch (event.type) {
    case 'step.started':
      console.log(
        `step ${event.data.index}: ${event.data.visible.length} tools, ${event.data.schemaChars} characters`,
      );
      break;
    case 'discovery.searched':
      console.log(`  found ${event.data.activated.join(', ')}`);
      break;
    case 'tool.called':
      if (event.data.toolName !== 'tool_search') {
        console.log(`  ${event.data.toolName} ${JSON.stringify(event.data.args)}`);
      }
      break;
    // What the turn found is gone with it; what it was worth is a fact.
    case 'discovery.measured': {
      const { calledDeferred, exposedDeferred, recallAtK } = event.data;
      console.log(
        `used ${calledDeferred.length} of ${exposedDeferred.length} found, recall ${100 * (recallAtK ?? 0)} %`,
      );
      break;
    }
  }
}

const result = await run.result;
if (result.status !== 'completed') throw new Error(JSON.stringify(result));
console.log(`\n${result.text}`);
