import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineAgent } from '../src/agent/define-agent.ts';
import { openaiCompatible } from '../src/model/open-ai-compatible.ts';
import { connectNats } from '../src/nats/client.ts';
import { jetstreamLedger } from '../src/nats/jet-stream-ledger.ts';
import { natsPool } from '../src/nats/nats-pool.ts';
import { provision } from '../src/nats/provision.ts';
import { createRuntime } from '../src/runtime.ts';
import { type NatsServer, startNatsServer } from '../test/support/nats-server.ts';
import type { Requests } from './workers-provider.ts';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Starts one of the programs of the measurements, and waits for its first message. */
export async function startProgram(file: string, ...args: readonly (string | number)[]) {
  const child = fork(pathOf(file), args.map(String), { execArgv: ['--conditions=swarmwright-source'] });
  const [first] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  if (child.exitCode !== null) throw new Error(`${file} exited with ${child.exitCode}`);
  return { child, first: first as unknown };
}

/** Ends a program by SIGKILL. */
export async function endProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** A provider that takes its time, and tells when it was asked. */
export interface Provider extends AsyncDisposable {
  readonly baseURL: string;
  requests(): Promise<Requests>;
}

export async function startProvider(delayMs: number): Promise<Provider> {
  const { child, first } = await startProgram('workers-provider.ts', delayMs);
  return {
    baseURL: `http://127.0.0.1:${first}/v1`,
    async requests() {
      const answer = once(child, 'message');
      child.send('requests');
      // The one thing it says once it has begun.
      return ((await answer) as [Requests])[0];
    },
    [Symbol.asyncDispose]: () => endProgram(child),
  };
}

/**
 * A server with the streams of a ledger. `project` is as `nats.conf` has it: what it acknowledges is on the disk. What a
 * `plain` one acknowledges is with the operating system, as in a cluster of three that does not flush first.
 */
export async function startLedgerServer(conf: 'project' | 'plain' = 'project'): Promise<NatsServer> {
  const server = await startNatsServer({ conf });
  await using admin = connectNats(server.urlOf('provisioner'));
  await provision(admin, { ledger: true });
  return server;
}

let pools = 0;

/** Workers in processes of their own, and a runtime of this one that gives them runs. */
export async function startPool(
  server: NatsServer,
  provider: Provider,
  options: { readonly workers: number; readonly concurrency: number; readonly leaseMs?: number },
) {
  const { workers: count, concurrency, leaseMs = 30_000 } = options;
  pools += 1;
  // The project's users have one namespace; each pool is a queue of its own in it.
  const pool = `bench-${pools}`;
  const url = server.urlOf('worker');
  const workers: ChildProcess[] = [];
  const startAnother = async () => {
    const args = [url, pool, provider.baseURL, concurrency, leaseMs] as const;
    workers.push((await startProgram('workers-child.ts', ...args)).child);
  };
  await Promise.all(Array.from({ length: count }, startAnother));
  const connection = connectNats(url);
  const clerk = defineAgent({
    name: 'clerk',
    instructions: 'Answer.',
    model: openaiCompatible({ baseURL: provider.baseURL, model: 'm' }),
  });
  const runtime = createRuntime({
    ledger: jetstreamLedger({ connection, leaseMs }),
    agents: { clerk },
    pool: natsPool({ connection, pool }),
  });
  return {
    workers,
    startAnother,
    runtime,
    clerk,
    async [Symbol.asyncDispose]() {
      await runtime.close();
      await connection.close();
      await Promise.all(workers.map(endProgram));
    },
  };
}

/** Processor time of one turn of one step, in each process that has a part in it. */
export async function cpuMsOfTurn(server: NatsServer) {
  const turns = 200;
  await using provider = await startProvider(0);
  await using pool = await startPool(server, provider, { workers: 1, concurrency: 4 });
  const play = async (count: number) => {
    for (let turn = 0; turn < count; turn += 4) {
      const given = Array.from({ length: 4 }, (_, at) => pool.runtime.run(pool.clerk, `turn ${turn + at}`));
      await Promise.all(given.map(({ result }) => result));
    }
  };
  await play(turns / 2);
  const pids = { worker: pool.workers[0]?.pid ?? 0, server: server.pid, client: process.pid };
  const used = () => Object.values(pids).map(cpuMsOf);
  const before = used();
  await play(turns);
  const [worker = 0, nats = 0, client = 0] = used().map((after, at) => (after - (before[at] ?? 0)) / turns);
  return { worker, server: nats, client };
}

/** Hundredths of a second, which is what the system counts in. */
const TICK_MS = 10;

/** Processor time a process has used so far, as Linux tells. */
function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
