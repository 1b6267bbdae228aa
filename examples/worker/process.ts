// One worker of examples/worker.ts, in a process of its own: `process.ts URL NAMESPACE MODEL_URL NAME`. It works until
// whoever started it is gone, or takes leave: then it lets the turns under way end.
import { createRuntime } from 'swarmwright';
import { connectNats, jetstreamLedger, natsPool, startWorker } from 'swarmwright/nats';
import { agentsOn } from './agents.ts';

const [url = '', ns = '', baseURL = '', name = ''] = process.argv.slice(2);
const say = (what: string) => console.log(`${name} ${what}`);

await using connection = connectNats(url);
const ledger = await jetstreamLedger({ connection, ns });
await using runtime = createRuntime({
  agents: agentsOn(baseURL, say),
  ledger,
  // Children of what it works on go into the same queue.
  pool: natsPool({ connection, ns }),
  hooks: {
    beforeTurn({ agentPath, sessionId }) {
      say(`begins ${agentPath.join(' > ')} in ${sessionId}`);
      return undefined;
    },
    // Its place is free for others meanwhile.
    onTurnPaused: ({ session }) => say(`leaves ${session} to wait`),
    onTurnResumed: ({ session }) => say(`goes on in ${session}`),
  },
});
const worker = await startWorker({ connection, ns, runtime, concurrency: 1 });
process.send?.('ready');
await new Promise((resolve) => process.once('disconnect', resolve));
await worker.close();
say(`is done: ${worker.counts().worked} turns`);
