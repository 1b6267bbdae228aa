import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { type McpServer, mcpServer } from '../../src/mcp/mcp-server.ts';
import type { McpServerSettings } from '../../src/mcp/server-options.ts';

const require = createRequire(import.meta.url);
const EVERYTHING = require.resolve('@modelcontextprotocol/server-everything/dist/index.js');
const FILESYSTEM = require.resolve('@modelcontextprotocol/server-filesystem/dist/index.js');

const settings: McpServerSettings = { defer: 'never', limits: { backoffMs: 0, closeMs: 500 } };

/** The reference server that can do everything, over its standard input and output. */
export function everythingServer(more: McpServerSettings = {}): McpServer {
  const program = { command: process.execPath, args: [EVERYTHING, 'stdio'] };
  return mcpServer({ name: 'every', ...program, ...settings, ...more });
}

/** The reference server for files, bound to some folders. */
export function filesystemServer(folders: readonly string[], more: McpServerSettings = {}): McpServer {
  const program = { command: process.execPath, args: [FILESYSTEM, ...folders] };
  return mcpServer({ name: 'files', ...program, ...settings, ...more });
}

/** The reference server over HTTP, in a process that a test can kill and start again on the same port. */
export interface ServedEverything {
  readonly server: McpServer;
  readonly url: string;
  /** Ends the process at once. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export async function servedEverything(more: McpServerSettings = {}): Promise<ServedEverything> {
  const port = await freePort();
  let running: ChildProcess | undefined;
  const kill = async () => {
    const child = running;
    running = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  const start = async () => {
    const child = spawn(process.execPath, [EVERYTHING, 'streamableHttp'], {
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    running = child;
    for await (const line of createInterface(child.stderr)) if (line.includes('listening')) break;
  };
  onTestFinished(kill);
  await start();
  const url = `http://127.0.0.1:${port}/mcp`;
  return { server: mcpServer({ name: 'every', url, ...settings, ...more }), url, kill, start };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  // A server on a port has an address with one.
  return (address as { readonly port: number }).port;
}
