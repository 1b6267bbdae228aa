import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { sleep, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { createLastWords, type LastWords } from './last-words.ts';
import type { McpSdk } from './load-sdk.ts';
import { letGo, type ProcessKeeper, signalGroup, watchGroup } from './process-keeper.ts';

/** How the program of a server is started. */
export interface ProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Values of `env` that may be secrets. */
  readonly secrets: readonly string[];
  readonly cwd: string | undefined;
  readonly stderr: 'ignore' | 'inherit';
  readonly maxMessageBytes: number;
  readonly closeMs: number;
}

/** Time that what a program wrote before it ended may take to be read; longer only if another holds its output. */
const PIPE_MS = 500;

/**
 * Speaks with a program over its standard input and output. The program leads a process group of its own, which ends
 * with this transport and, where the machine has a shell, with this process, whatever ends it. It never keeps this
 * process alive.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  /** With `pid` what the client knows a transport over pipes by. */
  readonly stderr = null;
  readonly #sdk: McpSdk;
  readonly #options: ProcessOptions;
  readonly #buffer: InstanceType<McpSdk['ReadBuffer']>;
  #child: ChildProcess | undefined;
  #keeper: ProcessKeeper | undefined;
  #closed = false;
  readonly #words: LastWords;
  /** One wait for all that is sent meanwhile. */
  #draining: Promise<void> | undefined;

  constructor(sdk: McpSdk, options: ProcessOptions) {
    this.#sdk = sdk;
    this.#options = options;
    this.#words = createLastWords(options.secrets);
    this.#buffer = new sdk.ReadBuffer({ maxBufferSize: options.maxMessageBytes });
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** The end of what the program wrote to its standard error, as one line; empty where nobody but its reader has it. */
  lastWords(): string {
    return this.#words.text();
  }

  async start(): Promise<void> {
    const { command, args, env, cwd, stderr } = this.#options;
    const child = spawn(command, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env,
      stdio: ['pipe', 'pipe', stderr === 'inherit' ? 'inherit' : 'pipe'],
      // Leads a group; where there are none, it would open a window.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    this.#child = child;
    child.once('exit', () => this.#ended(child));
    for (const pipe of [child.stdin, child.stdout, child.stderr]) {
      pipe?.on('error', (error) => this.onerror?.(error));
    }
    child.stdout?.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr?.on('data', (chunk: Buffer) => this.#words.add(chunk));
    await once(child, 'spawn');
    child.on('error', (error) => this.onerror?.(error));
    if (child.pid !== undefined && child.exitCode === null) this.#keeper = watchGroup(child.pid);
    letGo(child);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (this.#closed || stdin === null || stdin === undefined || !stdin.writable) {
      throw new SwarmError('mcp-disconnected', 'the program of the server has ended');
    }
    if (stdin.writableLength > this.#options.maxMessageBytes) {
      // It asks and asks, say, and reads none of the answers.
      void this.close();
      throw new SwarmError('mcp-disconnected', 'the program of the server does not read what it is sent');
    }
    if (stdin.write(this.#sdk.serializeMessage(message))) return;
    this.#draining ??= this.#drained(stdin).finally(() => {
      this.#draining = undefined;
    });
    await this.#draining;
  }

  /** Ends the input of the program, then its group: by SIGTERM, then by SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || this.#closed) return;
    // Whoever closes waits for the end.
    child.ref();
    const exited = told(child, 'exit');
    child.stdin?.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await endsWithin(exited, this.#options.closeMs)) break;
      signalGroup(child.pid, signal);
    }
    await exited;
  }

  /** What the program left of its group ends with it. */
  #ended(child: ChildProcess): void {
    if (this.#closed) return;
    this.#closed = true;
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
    this.#keeper?.dismiss();
    child.stdin?.destroy();
    // What it wrote before it ended is still in the pipe.
    void endsWithin(told(child, 'close'), PIPE_MS).then(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
      this.#buffer.clear();
      this.onclose?.();
    });
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      this.onerror?.(asError(error));
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        // A line that is no message is skipped: programs print what they like.
        this.onerror?.(asError(error));
      }
    }
  }

  #drained(stdin: NonNullable<ChildProcess['stdin']>): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (end: () => void) => () => {
        stdin.off('drain', onDrain);
        stdin.off('close', onClose);
        end();
      };
      const onDrain = settle(resolve);
      const onClose = settle(() =>
        reject(new SwarmError('mcp-disconnected', 'the program of the server has ended')),
      );
      stdin.once('drain', onDrain);
      stdin.once('close', onClose);
    });
  }
}

/** Never rejects, whatever else the child tells. */
function told(child: ChildProcess, event: 'exit' | 'close'): Promise<void> {
  return new Promise((resolve) => child.once(event, () => resolve()));
}

async function endsWithin(exited: Promise<unknown>, ms: number): Promise<boolean> {
  const over = new AbortController();
  const isOver = sleep(systemClock, ms, over.signal);
  const first = await Promise.race([exited.then(() => true), isOver.then(() => false)]);
  over.abort();
  return first;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new SwarmError('response-too-large', String(error));
}
