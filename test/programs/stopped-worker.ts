// A worker that takes sessions to the places where they are stopped, and waits to be killed; one that stops none works
// like any other. argv[2]: a `WorkerOrder` as JSON.
import { createRuntime } from '../../src/index.ts';
import { jetstreamLedger, startWorker } from '../../src/nats/index.ts';
import { agentsOfOrder, type WorkerOrder } from '../chaos/worker-order.ts';
import { stopSessions } from '../recovery/fixtures/stop-sessions.ts';

// Only tests start this file.
const order = JSON.parse(process.argv[2] ?? '') as WorkerOrder;
const { url: connection, leaseMs, sessions, isStopped } = order;
const say = (line: string) => process.stdout.write(`${line}\n`);
const ledger = await jetstreamLedger({ connection, leaseMs });
const stops = stopSessions(ledger, isStopped ? sessions : [], () => say('stopped'));
const agents = agentsOfOrder(order, ledger, stops);
const runtime = createRuntime({ ledger, agents, inspect: { observe: (record) => stops.observe(record) } });
const concurrency = sessions.length;
const worker = await startWorker({ connection, runtime, concurrency, leaseMs });
say('ready');
process.once('SIGTERM', async () => {
  await worker.close();
  await runtime.close();
  say('drained');
});
