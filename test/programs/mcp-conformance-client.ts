// A turn against the server of a conformance scenario, whose address is the last argument.
import { createRuntime, defineAgent } from 'swarmwright';
import { mcpServer } from 'swarmwright/mcp';
import { type Reply, reply, scriptedModel } from 'swarmwright/testing';

/** What the model calls, by scenario; the tools are those of the scenario's server. */
const CALLS: Readonly<Record<string, Reply>> = {
  tools_call: reply().call('conformance__add_numbers', { a: 5, b: 3 }),
  'elicitation-sep1034-client-defaults': reply().call('conformance__test_client_elicitation_defaults', {}),
  'sse-retry': reply().call('conformance__test_reconnection', {}),
};

const call = CALLS[process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''];
const model = scriptedModel({ script: [...(call === undefined ? [] : [call]), reply().text('Done.')] });
const server = mcpServer({
  name: 'conformance',
  url: process.argv.at(-1) ?? '',
  elicit: async () => ({ action: 'accept', content: {} }),
});
const agent = defineAgent({ name: 'worker', instructions: 'Work.', model, tools: [server] });
await using runtime = createRuntime();
const run = runtime.run(agent, 'Go.');
const { status } = await run.result;
for (const { type, data } of await runtime.sessions.read(run.sessionId)) {
  if (type === 'tool.settled') console.log(`${data.toolName}: ${data.status} ${JSON.stringify(data.output)}`);
}
if (status !== 'completed') process.exitCode = 1;
