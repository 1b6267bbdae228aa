import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { World } from './agents.ts';

/** What a worker needs to know. */
export interface WorkerPlan {
  readonly url: string;
  readonly ns: string;
  readonly leaseSeconds: number;
  readonly world: World;
}

/** A place for one worker process after the other. */
export interface WorkerProcess {
  /** Resolves once it works on turns. */
  start(): Promise<void>;
  readonly isAlive: boolean;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** SIGSTOP, then SIGCONT after a while. */
  freeze(): void;
  thaw(): void;
  /** SIGTERM. Resolves with its exit code, `null` for one that had to be killed. */
  end(withinMs: number): Promise<number | null>;
  /** All that its processes said. */
  said(): string;
}

/** `swarmwright worker` on the agents of this folder. */
export function workerProcess({ url, ns, leaseSeconds, world }: WorkerPlan): WorkerProcess {
  let child: ChildProcess | undefined;
  let said = '';
  const args = ['src/cli/main.ts', 'worker', 'test/programs/chaos-agents.ts', '--nats', url, '--ns', ns];
  const env = {
    ...process.env,
    CHAOS_PROVIDER: world.baseURL,
    CHAOS_SECRET: world.apiKey,
    CHAOS_SPY: world.spyPath,
  };
  const isAlive = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const kill = async () => {
    if (child === undefined || !isAlive()) return;
    const gone = once(child, 'close');
    child.kill('SIGKILL');
    await gone;
  };
  return {
    async start() {
      const ready = Promise.withResolvers<void>();
      const started = spawn(
        process.execPath,
        ['--conditions=swarmwright-source', ...args, '--lease', String(leaseSeconds)],
        { stdio: ['ignore', 'pipe', 'pipe'], env },
      );
      child = started;
      const hear = (chunk: Buffer) => {
        said += chunk.toString();
        if (chunk.toString().includes('works on turns')) ready.resolve();
      };
      started.stdout.on('data', hear);
      started.stderr.on('data', hear);
      // One that is killed while it starts is started once more by whoever killed it.
      started.once('close', () => ready.resolve());
      await ready.promise;
    },
    get isAlive() {
      return isAlive();
    },
    kill,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    async end(withinMs) {
      if (child === undefined || !isAlive()) return child?.exitCode ?? null;
      const gone = once(child, 'close');
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      const late = setTimeout(() => child?.kill('SIGKILL'), withinMs);
      await gone;
      clearTimeout(late);
      return child.exitCode;
    },
    said: () => said,
  };
}
