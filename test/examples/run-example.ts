import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** The folder of the project. */
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** What came of a program. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly cwd?: string;
  /** Beside what this process has, without anything that names a model or a ledger. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a TypeScript program with the source of the project behind its name, without any input. */
export function startProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions = {},
): ChildProcess {
  return spawn(process.execPath, ['--conditions=swarmwright-source', file, ...args], {
    cwd: options.cwd ?? PROJECT,
    env: { ...cleanEnvironment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs such a program to its end. */
export async function runProgram(
  file: string,
  args: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<Ended> {
  return endOf(startProgram(file, args, options));
}

/** All that a program says, and how it ends. */
export async function endOf(child: ChildProcess): Promise<Ended> {
  const { stdout: out, stderr: err } = child;
  const [exit, stdout, stderr] = await Promise.all([
    once(child, 'close'),
    out === null ? '' : readText(out),
    err === null ? '' : readText(err),
  ]);
  // `close` comes with the code and the signal.
  const [code, signal] = exit as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}

/** The environment without what would choose a model, a key or a ledger. */
export function cleanEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(OPENAI_|SWARMWRIGHT_|NODE_OPTIONS$)/.test(entry[0]),
  );
  return Object.fromEntries(entries);
}
