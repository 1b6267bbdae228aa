import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNatsServer } from '../test/support/nats-server.ts';

/** Three servers that hold three copies of every stream. */
export interface Cluster extends AsyncDisposable {
  /** Addresses of all of them. */
  readonly servers: readonly string[];
  /** Ends one by SIGKILL, by its name. */
  kill(name: string): Promise<void>;
  /** Starts it again, on its files. */
  start(name: string): void;
}

/** Ports that were free a moment ago: all members have to know them before the first one starts. */
async function freePorts(count: number): Promise<readonly number[]> {
  const held = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = held.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(held.map((server) => once(server.close(), 'close')));
  return ports;
}

/** Starts a {@link Cluster}; it is ready once a stream with three copies can be made. */
export async function startCluster(): Promise<Cluster> {
  const binary = findNatsServer();
  if (binary === undefined) throw new Error('no nats-server: run scripts/nats-server.sh');
  const folder = mkdtempSync(join(tmpdir(), 'swm-cluster-'));
  const ports = await freePorts(6);
  const names = ['n0', 'n1', 'n2'];
  const running = new Map<string, ChildProcess>();
  const routes = names.map((_, at) => `nats://127.0.0.1:${ports[at + 3]}`);
  for (const [at, name] of names.entries()) {
    writeFileSync(
      join(folder, `${name}.conf`),
      `server_name: ${name}
       listen: "127.0.0.1:${ports[at]}"
       jetstream { store_dir: ${JSON.stringify(join(folder, name))}, max_file_store: 32GB }
       cluster { name: bench, listen: "127.0.0.1:${ports[at + 3]}", routes: ${JSON.stringify(routes)} }\n`,
    );
  }
  const start = (name: string) => {
    running.set(name, spawn(binary, ['-c', join(folder, `${name}.conf`)], { stdio: 'ignore' }));
  };
  const kill = async (name: string) => {
    const child = running.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  for (const name of names) start(name);
  return {
    servers: names.map((_, at) => `nats://127.0.0.1:${ports[at]}`),
    kill,
    start,
    async [Symbol.asyncDispose]() {
      await Promise.all(names.map(kill));
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
