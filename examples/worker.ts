// Two workers in processes of their own, and this process, which gives them runs and follows what becomes of them. Kill a
// worker while it works: the other takes its turns up.
// Run it with: npm run example -- examples/worker.ts
// NATS_URL names a server that has the streams of `swarmwright nats init --ledger`; without it there is one of its own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createRuntime } from 'swarmwright';
import { connectNats, jetstreamLedger, natsPool, provision } from 'swarmwright/nats';
import { spawnScriptedServer } from 'swarmwright/testing';
import { startOwnServer } from './nats/own-server.ts';
import { agentsOn } from './worker/agents.ts';

const named = process.env['NATS_URL'];
await using own = named === undefined ? await startOwnServer() : undefined;
const url = named ?? own?.url;
if (url === undefined) {
  console.log('There is no server: scripts/nats-server.sh fetches one, or NATS_URL names it.');
} else {
  await using connection = connectNats(url);
  if (own !== undefined) await provision(connection, { ledger: true });
  await using provider = await spawnScriptedServer(new URL('supervisor/script.ts', import.meta.url));
  await demonstrate(connection, url, provider.baseURL);
}

async function demonstrate(
  connection: ReturnType<typeof connectNats>,
  url: string,
  baseURL: string,
): Promise<void> {
  const ns = `example-${process.pid}`;
  const workers = await Promise.all(
    ['worker-1', 'worker-2'].map((name) => startWorkerProcess(url, ns, baseURL, name)),
  );
  {
    // The same definitions: what is queued is their name, and a hash that a worker compares with its own.
    const agents = agentsOn(baseURL, () => {});
    await using runtime = createRuntime({
      agents,
      ledger: jetstreamLedger({ connection, ns }),
      pool: natsPool({ connection, ns }),
    });
    const runs = ['first', 'second', 'third'].map((name) => ({
      name,
      run: runtime.run(agents.lead, `Describe this project. (${name})`),
    }));
    for (const { name, run } of runs) {
      const result = await run.result;
      if (result.status !== 'completed') throw new Error(JSON.stringify(result));
      console.log(`${name}: ${result.text}`);
    }
  }
  for (const worker of workers) worker.disconnect();
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
}

/** Resolves when the worker takes turns. */
async function startWorkerProcess(url: string, ns: string, baseURL: string, name: string) {
  const program = fileURLToPath(new URL('worker/process.ts', import.meta.url));
  const worker = fork(program, [url, ns, baseURL, name], { execArgv: ['--conditions=swarmwright-source'] });
  const [outcome] = await Promise.race([once(worker, 'message'), once(worker, 'exit')]);
  if (outcome !== 'ready') throw new Error(`${name} did not start`);
  return worker;
}
