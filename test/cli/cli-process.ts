import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { type Script, type ScriptedServer, scriptedServer } from 'swarmwright/testing';
import { type GateServer, startGateServer } from './gate-server.ts';

/** The command from source, as a list of words. */
export const COMMAND: readonly string[] = [
  process.execPath,
  '--conditions=swarmwright-source',
  resolve('src/cli/main.ts'),
];

/** Options of tests that start several processes, on a machine that may be busy with others. */
export const SLOW = { timeout: 120_000 };

/** A module that exports an agent. */
export function fixture(name: string): string {
  return resolve('test/cli/fixtures', `${name}.ts`);
}

/** A folder, a model and gates of one test; all commands of it work there and share the default ledger. */
export interface Workplace extends AsyncDisposable {
  readonly folder: string;
  readonly server: ScriptedServer;
  readonly gates: GateServer;
  readonly env: Readonly<Record<string, string>>;
  /** Starts a command. */
  start(args: readonly string[], options?: StartOptions): CliProcess;
  /** Runs a command to its end. */
  run(args: readonly string[], options?: StartOptions): Promise<CliEnd>;
}

interface StartOptions {
  /** What standard input holds. Default: nothing. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface CliEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command under way. */
interface CliProcess {
  readonly pid: number;
  readonly ended: Promise<CliEnd>;
  /** The first line of standard output that matches, also if it has come already; undefined if none ever does. */
  line(pattern: RegExp): Promise<string | undefined>;
  /** As {@link line}, of standard error. */
  errorLine(pattern: RegExp): Promise<string | undefined>;
  /** Closes the reading end of standard output. */
  stopReading(): void;
  kill(signal: NodeJS.Signals): void;
}

export async function openWorkplace(script: Script): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), 'swarmwright-cli-'));
  const server = await scriptedServer({ script });
  const gates = await startGateServer();
  const running = new Set<ChildProcess>();
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
    TEST_MODEL_URL: server.baseURL,
    TEST_GATE_URL: gates.url,
  };
  const start = (args: readonly string[], options: StartOptions = {}) => {
    const [node = '', ...words] = COMMAND;
    const child = spawn(node, [...words, ...args], { cwd: folder, env: { ...env, ...options.env } });
    running.add(child);
    child.once('close', () => running.delete(child));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    return watch(child);
  };
  return {
    folder,
    server,
    gates,
    env,
    start,
    run: (args, options) => start(args, options).ended,
    async [Symbol.asyncDispose]() {
      const ends = [...running].map((child) => once(child, 'close'));
      for (const child of running) child.kill('SIGKILL');
      await Promise.all(ends);
      await gates[Symbol.asyncDispose]();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function watch(child: ReturnType<typeof spawn>): CliProcess {
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  const ended = once(child, 'close').then(([code, signal]): CliEnd => {
    out.end();
    err.end();
    return { code, signal, stdout: out.text(), stderr: err.text() };
  });
  return {
    pid: child.pid ?? 0,
    ended,
    kill: (signal) => void child.kill(signal),
    line: out.line,
    errorLine: err.line,
    stopReading: () => void child.stdout?.destroy(),
  };
}

function collect(stream: Readable | null) {
  let text = '';
  let isOver = false;
  const waiting = new Set<() => void>();
  const lookAgain = () => {
    for (const look of [...waiting]) look();
  };
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    lookAgain();
  });
  return {
    text: () => text,
    end() {
      isOver = true;
      lookAgain();
    },
    line: (pattern: RegExp) =>
      new Promise<string | undefined>((found) => {
        const look = () => {
          const line = text.split('\n').find((one) => pattern.test(one));
          if (line === undefined && !isOver) return;
          waiting.delete(look);
          found(line);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Every line of an output as JSON. */
export function jsonLines(text: string): readonly { readonly [key: string]: unknown }[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The session a run tells of in its lines or events. */
export function sessionIn(text: string): string {
  return /\bs-[a-z0-9]{26}\b/.exec(text)?.[0] ?? 'no session is named';
}
