import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { connectNats, type NatsClient } from '../../src/nats/client.ts';
import { jetstreamLedger } from '../../src/nats/jet-stream-ledger.ts';
import { provision } from '../../src/nats/provision.ts';
import { type SpawnedServer, spawnScriptedServer } from '../../src/testing/spawn-scripted-server.ts';
import { type DurableLines, openLines } from '../support/durable-lines.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';
import type { World } from './agents.ts';
import type { SpyLine } from './tasks.ts';
import { type WorkerProcess, workerProcess } from './worker-process.ts';

/** What the workers hold the key of their provider to be: it may be nowhere. */
export const SECRET = 'sk-chaos-0f9a3c51d27be684';

/** A server, a provider and workers, each in a process of its own, and what watches them in this one. */
export interface Pool extends AsyncDisposable {
  readonly ns: string;
  readonly leaseMs: number;
  readonly server: NatsServer;
  readonly client: NatsClient;
  readonly ledger: Ledger;
  readonly workers: readonly WorkerProcess[];
  readonly world: World;
  /** Aborts when all of it is cleaned up: nothing is started any more. */
  readonly closing: AbortSignal;
  /** What tools and provider saw. */
  readonly spy: DurableLines<SpyLine>;
}

export interface PoolOptions {
  readonly workers: number;
  readonly leaseSeconds: number;
  readonly ns: string;
}

/** Starts everything; it is ready when all workers are. */
export async function startPool({ workers: count, leaseSeconds, ns }: PoolOptions): Promise<Pool> {
  await using parts = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'swm-chaos-'));
  parts.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const spyPath = join(folder, 'spy.jsonl');
  const server = parts.use(await startNatsServer({ isFlushing: true }));
  const provider = parts.use(await startProvider(spyPath));
  const client = parts.use(connectNats(server.url));
  await provision(client, { ledger: true });
  const leaseMs = leaseSeconds * 1_000;
  const ledger = parts.use(await jetstreamLedger({ connection: client, ns, leaseMs }));
  const world: World = { baseURL: provider.baseURL, apiKey: SECRET, spyPath };
  const plan = { url: server.url, ns, leaseSeconds, world };
  const workers = Array.from({ length: count }, () => workerProcess(plan));
  parts.defer(async () => void (await Promise.all(workers.map((worker) => worker.leave()))));
  await Promise.all(workers.map((worker) => worker.start()));
  const closing = new AbortController();
  parts.defer(() => closing.abort());
  const held = parts.move();
  return {
    ...{ ns, leaseMs, server, client, ledger, workers, world, closing: closing.signal },
    spy: openLines(spyPath),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function startProvider(spyPath: string): Promise<SpawnedServer> {
  const script = new URL('./provider.ts', import.meta.url);
  script.searchParams.set('log', spyPath);
  return spawnScriptedServer(script);
}
