import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A running `ledger-child.ts`. */
export interface LedgerChild extends AsyncDisposable {
  /** What it printed, line by line; ends with the process. */
  readonly lines: AsyncIterableIterator<string>;
  signal(name: NodeJS.Signals): void;
  /** Kills it without a chance to do anything, and waits until it is gone. */
  kill(): Promise<void>;
  /** Its exit code, once it came to its own end. */
  ended(): Promise<number | null>;
}

export function spawnLedgerChild(...args: readonly string[]): LedgerChild {
  const script = new URL('./ledger-child.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--conditions=swarmwright-source', script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // One that does not end by itself fails its test instead of holding up all of them.
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  const kill = async () => {
    child.kill('SIGKILL');
    await ended(child);
  };
  return {
    lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](),
    signal: (name) => void child.kill(name),
    kill,
    ended: () => ended(child),
    [Symbol.asyncDispose]: kill,
  };
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}
