// Tools of an MCP server, with a person asked before it writes. Run it with: npm run example -- examples/mcp.ts
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineAgent, openaiCompatible } from 'swarmwright';
import { mcpServer } from 'swarmwright/mcp';
import { spawnScriptedServer } from 'swarmwright/testing';

await using model = await spawnScriptedServer(new URL('mcp/script.ts', import.meta.url));

const folder = await mkdtemp(join(tmpdir(), 'swarmwright-mcp-'));
await writeFile(join(folder, 'shopping.md'), '# Shopping\n\n- bread\n- pears\n- bread\n');

// A server is data that stands among the tools. The program is started when a turn may use its tools, and ends with the
// runtime. It gets a folder to work in, and of the environment only what every program needs.
const files = mcpServer({
  name: 'files',
  command: 'npx',
  args: ['-y', '@modelcontextprotocol/server-filesystem', folder],
  // Three of its tools, whatever else it offers; and it may look, but not write, without a person's word.
  tools: ['list_directory', 'read_text_file', 'write_file'],
  needsApproval: (tool) => tool === 'write_file',
  onFault: ({ type, message }) => console.error(`files: ${type}: ${message}`),
});

const clerk = defineAgent({
  name: 'clerk',
  instructions: 'You keep the lists in a folder.',
  model: openaiCompatible({ baseURL: model.baseURL, model: 'scripted' }),
  tools: [files],
});

await using runtime = createRuntime();
const run = runtime.run(clerk, `Take doubles out of the list in ${folder}`);

for await (const event of run.events({ content: ['tool'] })) {
  switch (event.type) {
    // In the ledger each tool stands with the hash of what it says of itself: one that changes is asked about again.
    case 'discovery.changed':
      console.log(`the server offers ${event.data.added.join(', ')}`);
      break;
    case 'tool.settled':
      console.log(`${event.data.toolName}: ${event.data.status}`);
      break;
    case 'approval.requested':
      console.log(`${event.data.toolName} asks, and may`);
      await runtime.approvals.decide(event.data.request, { decision: 'approve' });
      break;
  }
}

const result = await run.result;
if (result.status !== 'completed') throw new Error(JSON.stringify(result));
console.log(`\n${result.text}\n`);
console.log(await readFile(join(folder, 'shopping.md'), 'utf8'));
await rm(folder, { recursive: true });
