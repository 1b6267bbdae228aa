// Runs a turn with an MCP server and then has nothing more to do, without having closed anything.
import { createRuntime, defineAgent } from 'swarmwright';
import { mcpServer } from 'swarmwright/mcp';
import { reply, scriptedModel } from 'swarmwright/testing';

const [ending = '', ...args] = process.argv.slice(2);
const [url = ''] = args;
const server = mcpServer(
  url.startsWith('http')
    ? { name: 'world', url, defer: 'never' }
    : { name: 'world', command: process.execPath, args, defer: 'never' },
);
const model = scriptedModel({ script: [reply().call('world__look', {}), reply().text('Done.')] });
const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [server] });
const runtime = createRuntime();
const { status } = await runtime.run(agent, 'Go.').result;
console.log(`turn ${status}`);
// Waits for its end, which comes from outside.
if (ending === 'waits') setInterval(() => undefined, 60_000);
