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
  /** The same for good: none is started any more. */
  leave(): Promise<void>;
  /** SIGSTOP, then SIGCONT after a while. */
  freeze(): void;
  thaw(): void;
  /** SIGTERM. Resolves with its exit code, `null` for one that had to be killed. */
  end(withinMs: number): Promise<number | null>;
  /** All that its processes said. */
  said(): string;
}

/** Starts of a worker until one finds everything that it needs. */
const MOST_TRIES = 20;

/** `swarmwright worker` on the agents of this folder. */
export function workerProcess({ url, ns, leaseSeconds, world }: WorkerPlan): WorkerProcess {
  let child: ChildProcess | undefined;
  let said = '';
  let isLeft = false;
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
  const launch = async (): Promise<'ready' | 'ended' | 'killed'> => {
    const ready = Promise.withResolvers<'ready' | 'ended' | 'killed'>();
    const started = spawn(
      process.execPath,
      ['--conditions=swarmwright-source', ...args, '--lease', String(leaseSeconds)],
      { stdio: ['ignore', 'pipe', 'pipe'], env },
    );
    child = started;
    const hear = (chunk: Buffer) => {
      said += chunk.toString();
      if (chunk.toString().includes('works on turns')) ready.resolve('ready');
    };
    started.stdout.on('data', hear);
    started.stderr.on('data', hear);
    started.once('close', (code) => ready.resolve(code === null ? 'killed' : 'ended'));
    return ready.promise;
  };
  return {
    async start() {
      // One that does not find the broker ends by itself, and whoever keeps workers starts it again.
      for (let tries = 0; tries < MOST_TRIES && !isLeft; tries += 1) {
        if ((await launch()) !== 'ended') return;
      }
    },
    get isAlive() {
      return isAlive();
    },
    kill,
    async leave() {
      isLeft = true;
      await kill();
    },
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
