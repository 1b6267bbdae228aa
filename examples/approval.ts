// A tool that waits for a person: the first runtime asks and closes, the second one decides and goes on.
// Run it with: npm run example -- examples/approval.ts
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineAgent, defineTool, openaiCompatible, sqliteLedger } from 'swarmwright';
import { spawnScriptedServer } from 'swarmwright/testing';
import { z } from 'zod';

const folder = await mkdtemp(join(tmpdir(), 'swarmwright-approval-'));
const notes = join(folder, 'notes.txt');
const ledgerFile = join(folder, 'ledger.db');

const addNote = defineTool({
  name: 'add_note',
  description: 'Appends a line to the notes.',
  inputSchema: z.object({ line: z.string().max(200) }),
  needsApproval: true,
  async execute({ line }) {
    await appendFile(notes, `${line}\n`);
    return 'noted';
  },
});

await using server = await spawnScriptedServer(new URL('approval/script.ts', import.meta.url));
const clerk = defineAgent({
  name: 'clerk',
  instructions: 'You keep notes.',
  model: openaiCompatible({ baseURL: server.baseURL, model: 'scripted' }),
  tools: [addNote],
});

/** Asks for a note and closes. With 'pause' a run that waits for nothing but a person resolves. */
async function ask(): Promise<string> {
  await using runtime = createRuntime({ ledger: sqliteLedger({ path: ledgerFile }) });
  const run = runtime.run(clerk, 'Note that the build is green.', { onApproval: 'pause' });
  const { status } = await run.result;
  console.log(`first runtime: ${status}`);
  return run.sessionId;
}

/** All that is known here is the file. The process that asked may be gone, and the machine restarted. */
async function decideAndResume(sessionId: string): Promise<void> {
  await using runtime = createRuntime({
    ledger: sqliteLedger({ path: ledgerFile }),
    // Where a session and its decisions find the definition of its agent.
    agents: { clerk },
  });
  for (const { id, toolName, input } of await runtime.approvals.pending({ sessionId })) {
    console.log(`second runtime: ${toolName} asks with ${JSON.stringify(input)}`);
    // What a person changes is validated again, and is what runs.
    const editedInput = { line: 'The build is green, says the clerk.' };
    await runtime.approvals.decide(id, { decision: 'approve', editedInput, actor: 'you' });
  }
  const result = await runtime.resume('clerk', sessionId).result;
  if (result.status !== 'completed') throw new Error(JSON.stringify(result));
  console.log(`second runtime: ${result.status}: ${result.text}`);
}

try {
  await decideAndResume(await ask());
  console.log(`notes: ${(await readFile(notes, 'utf8')).trim()}`);
} finally {
  await rm(folder, { recursive: true });
}
