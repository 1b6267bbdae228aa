// An agent that hands the conversation over to another one, which may hand it back: they know each other by name.
// Run it with: npm run example -- examples/handoff.ts
import { createRuntime, defineAgent, defineTool, openaiCompatible } from 'swarmwright';
import { spawnScriptedServer } from 'swarmwright/testing';
import { z } from 'zod';

const orders = new Map([['A-17', 42]]);

const refund = defineTool({
  name: 'refund',
  description: 'Pays an order back.',
  inputSchema: z.object({ order: z.string() }),
  execute({ order }) {
    const amount = orders.get(order);
    if (amount === undefined) throw new Error(`there is no order ${order}`);
    orders.delete(order);
    return `${amount} EUR for ${order} are on their way`;
  },
});

await using server = await spawnScriptedServer(new URL('handoff/script.ts', import.meta.url));
const modelOf = (model: string) => openaiCompatible({ baseURL: server.baseURL, model });

const billing = defineAgent({
  name: 'billing',
  description: 'Pays orders back.',
  instructions: 'You pay orders back. Anything else goes back to the front desk.',
  model: modelOf('billing'),
  tools: [refund],
  // By name: the front desk is defined after it. The registry of the runtime knows who that is.
  handoffs: ['front-desk'],
});
const frontDesk = defineAgent({
  name: 'front-desk',
  instructions: 'You find out what people want and hand them over to whoever can do it.',
  model: modelOf('front-desk'),
  // The model sees it as the tool `transfer_to_billing`.
  handoffs: [billing],
  limits: { handoffs: 2 },
});

await using runtime = createRuntime({ agents: { 'front-desk': frontDesk, billing } });
const run = runtime.run(frontDesk, 'I want my money back for A-17.');
for await (const event of run.events({ tree: true })) {
  if (event.type === 'handoff.taken') console.log(`${event.agent} hands over to ${event.data.to}`);
  if (event.type === 'tool.settled')
    console.log(`${event.agent}: ${event.data.toolName} ${event.data.status}`);
}
const result = await run.result;
if (result.status !== 'completed') throw new Error(JSON.stringify(result));
console.log(result.text);

// Two agents that only pass a conversation on are stopped at the limit, and the error names the circle.
const circle = await runtime.run(frontDesk, 'Nobody wants me.').result;
if (circle.status !== 'failed') throw new Error(JSON.stringify(circle));
console.log(`${circle.error.kind}: ${circle.error.message}`);
