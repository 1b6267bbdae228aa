import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Waits for the end of its input, which comes when whoever holds the other side is gone, however it went; leaves the
 * group of the server a moment to end by itself, which the end of its own input asks it to; then kills all of it.
 */
const SCRIPT = 'read -r _; sleep 1; kill -s KILL -- "-$1" 2>/dev/null';

/** What outlives this process to end a process group that this process cannot end any more. */
export interface ProcessKeeper {
  /** The group is ended: nothing is left to wait for. */
  dismiss(): void;
}

/** Watches over the group of `pid`. Where the machine has no shell, nothing watches. */
export function watchGroup(pid: number): ProcessKeeper {
  const keeper = spawn('/bin/sh', ['-c', SCRIPT, 'swarmwright-keeper', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Out of the terminal's group: what interrupts this process must not interrupt what looks after it.
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
  });
  keeper.on('error', () => undefined);
  keeper.stdin.on('error', () => undefined);
  letGo(keeper);
  return { dismiss: () => void keeper.kill('SIGKILL') };
}

/** A child and its pipes keep this process alive no longer. */
export function letGo(child: ChildProcess): void {
  child.unref();
  for (const pipe of [child.stdin, child.stdout, child.stderr]) {
    // Pipes of a child are sockets, which the types do not say.
    if (pipe !== null && 'unref' in pipe && typeof pipe.unref === 'function') pipe.unref();
  }
}

/** Sends a signal to every process of a group. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    // Where there are no groups, the process itself.
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch (error) {
    // Ended before, or out of reach: there is nobody to tell.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}
