// An agent in a process of its own: `paying-agent.ts <ledger path> <base URL> <session> [run|resume] [wait|pause]`.
// The path may be an address of NATS, with the namespace behind a `#`; such a process is given up after 2 seconds.
// Its tools say on stdout that they are entered, so that whoever started it can count over processes.
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool, openaiCompatible, sqliteLedger } from '../../src/index.ts';

const [path = '', baseURL = '', sessionId = '', what = 'run', onApproval = 'wait'] = process.argv.slice(2);
const inputSchema = z.object({ id: z.string() });
const say = (line: string) => process.stdout.write(`${line}\n`);

const tool = (name: string, needsApproval = false, act: () => unknown = () => undefined) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema,
    needsApproval,
    async execute({ id }, { operationId }) {
      say(`entered ${name} ${id} ${operationId}`);
      await act();
      return `${name} ${id}`;
    },
  });

const agent = defineAgent({
  name: 'payer',
  instructions: 'Pay.',
  model: openaiCompatible({ baseURL, model: 'scripted' }),
  // The timer keeps the process alive while `stall` never comes back.
  tools: [
    tool('pay'),
    tool('ask', true),
    tool('stall', false, () => new Promise((wake) => setTimeout(wake, 1e9))),
  ],
});
const runtime = createRuntime({ ledger: openLedger(), agents: { payer: agent } });
const settings = { onApproval: onApproval === 'pause' ? 'pause' : 'wait' } as const;
const run =
  what === 'resume'
    ? runtime.resume(agent, sessionId, settings)
    : runtime.run(agent, 'Go.', { ...settings, sessionId });
for await (const event of run.events({ from: 1 })) say(`event ${event.type}`);
say(`result ${JSON.stringify(await run.result)}`);
await runtime.close();

async function openLedger() {
  if (!path.startsWith('nats:')) return sqliteLedger({ path });
  const { jetstreamLedger } = await import('../../src/nats/index.ts');
  const [connection = '', ns = ''] = path.split('#');
  return jetstreamLedger({ connection, ns, leaseMs: 2_000 });
}
