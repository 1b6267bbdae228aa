import { defineAgent } from '../src/agent/define-agent.ts';
import { openaiCompatible } from '../src/model/open-ai-compatible.ts';
import { connectNats } from '../src/nats/client.ts';
import { jetstreamLedger } from '../src/nats/jet-stream-ledger.ts';
import { natsPool } from '../src/nats/nats-pool.ts';
import { startWorker } from '../src/nats/worker.ts';
import { createRuntime } from '../src/runtime.ts';

// A worker in a process of its own: NATS URL, pool, provider, turns at once, lease in milliseconds. It says `ready`;
// at SIGTERM it says `draining` and does so, and at a second one it leaves at once.

const [url = '', pool = '', baseURL = '', concurrency = '4', lease = '30000'] = process.argv.slice(2);
const leaseMs = Number(lease);
const connection = connectNats(url);
const ledger = await jetstreamLedger({ connection, leaseMs });
const clerk = defineAgent({
  name: 'clerk',
  instructions: 'Answer.',
  model: openaiCompatible({ baseURL, model: 'm' }),
});
const runtime = createRuntime({ ledger, agents: { clerk }, pool: natsPool({ connection, pool }) });
const worker = await startWorker({ connection, pool, runtime, leaseMs, concurrency: Number(concurrency) });
const leave = async () => {
  await runtime.close();
  await connection.close();
  process.exit(0);
};
process.once('SIGTERM', () => {
  process.once('SIGTERM', leave);
  process.send?.('draining');
  void worker.close().then(leave);
});
// The parent may be gone without a word.
process.once('disconnect', () => process.exit());
process.send?.('ready');
