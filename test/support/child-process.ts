import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** A program of this repository in a process of its own, which says what it does line by line. */
export interface Program {
  readonly process: ChildProcess;
  /** Resolves with the rest of the first line that begins so; rejects when the program ends without it. */
  said(beginning: string): Promise<string>;
  /** Ends it by SIGKILL, as a crash would, and waits until it is gone. */
  kill(): Promise<void>;
  /** Resolves with its exit code, `null` for a signal. */
  readonly ended: Promise<number | null>;
}

/** Starts `test/<path>` with arguments; it goes with the test at the latest. */
export function startProgram(path: string, args: readonly string[]): Program {
  const program = launchProgram(path, args);
  onTestFinished(program.kill);
  return program;
}

/** Starts `test/<path>` with arguments for whoever ends it. */
export function launchProgram(path: string, args: readonly string[]): Program {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  const child = spawn(process.execPath, ['--conditions=swarmwright-source', file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const one of waiting) one();
  };
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    wake();
  });
  const ended = once(child, 'close').then(([code]: (number | null)[]) => {
    wake();
    return code ?? null;
  });
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  const said = (beginning: string) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const line = lines.find((one) => one.startsWith(beginning));
        if (line !== undefined) resolve(line.slice(beginning.length).trim());
        else if (child.exitCode !== null || child.signalCode !== null) {
          reject(new Error(`${path} ended without “${beginning}”: ${lines.join(' | ')} ${errors}`));
        } else return;
        waiting.delete(look);
      };
      waiting.add(look);
      look();
    });
  return { process: child, said, kill, ended };
}
