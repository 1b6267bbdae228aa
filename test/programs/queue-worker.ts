// A worker of a pool in a process of its own: `queue-worker.ts <nats url>#<namespace> <base URL> [manner]`. It says on
// stdout that its tools are entered; SIGTERM drains it, or at once in the manner "leave". An input with "poison" kills it
// before the model is asked; "die-at-wake" when a child has ended, before its parent is woken; "die-at-second-ask" before
// the second child is queued.
import { z } from 'zod';
import { createRuntime, defineAgent, defineTool, openaiCompatible, type WorkPool } from '../../src/index.ts';
import { jetstreamLedger, natsPool, natsSink } from '../../src/nats/index.ts';
import { startWorker } from '../../src/nats/worker.ts';

const [address = '', baseURL = '', manner = ''] = process.argv.slice(2);
const [connection = '', ns = ''] = address.split('#');
const say = (line: string) => process.stdout.write(`${line}\n`);

const tool = (name: string, act: () => Promise<void>) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.object({ id: z.string() }),
    async execute({ id }, { operationId }) {
      say(`entered ${name} ${id} ${operationId}`);
      await act();
      return `${name} ${id}`;
    },
  });
const payer = defineAgent({
  name: 'payer',
  instructions: 'Pay.',
  model: openaiCompatible({ baseURL, model: 'scripted' }),
  tools: [
    tool('pay', async () => {}),
    tool('slow', () => new Promise((resolve) => setTimeout(resolve, 1_000))),
    tool('stall', () => new Promise(() => {})),
  ],
  hooks: {
    beforeRequest(request) {
      if (JSON.stringify(request).includes('poison')) process.kill(process.pid, 'SIGKILL');
      return undefined;
    },
  },
});
const lead = defineAgent({
  name: 'lead',
  instructions: 'Let others pay.',
  model: openaiCompatible({ baseURL, model: 'scripted' }),
  agents: [payer],
});
const agents = { payer, lead };
const ledger = await jetstreamLedger({ connection, ns, leaseMs: 2_000 });
const sinks = [natsSink({ connection, ns })];
let asked = 0;
const queue = natsPool({ connection, ns });
const pool: WorkPool = {
  name: queue.name,
  submit: (run) => queue.submit(run),
  wake(wake) {
    if (manner === 'die-at-wake' && wake.child !== undefined) process.kill(process.pid, 'SIGKILL');
    asked += wake.cause === 'intended' ? 1 : 0;
    if (manner === 'die-at-second-ask' && asked === 2) process.kill(process.pid, 'SIGKILL');
    return queue.wake(wake);
  },
  close: () => queue.close(),
};
const runtime = createRuntime({ ledger, agents, sinks, pool });
const worker = await startWorker({ connection, ns, runtime, concurrency: 1, leaseMs: 3_000 });
say('ready');
process.once('SIGTERM', async () => {
  await worker.close(manner === 'leave' ? { drainMs: 0 } : {});
  say(`drained ${JSON.stringify(worker.counts())}`);
  await runtime.close();
});
