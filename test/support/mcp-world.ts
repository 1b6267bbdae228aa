import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type McpServer, mcpServer } from '../../src/mcp/mcp-server.ts';
import type { StdioServerOptions } from '../../src/mcp/server-options.ts';

const PROGRAM = fileURLToPath(new URL('../programs/mcp-world.ts', import.meta.url));

/** A tool as the server lists it; without a schema it takes anything. */
export interface WorldTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: object;
}

/** A real MCP server whose tools and answers a test changes while it runs. */
export interface McpWorld {
  readonly server: McpServer;
  /** Offers these from the next list on; a call of `announce` says that it changed. */
  offer(...tools: readonly (WorldTool | string)[]): void;
  /** Every list fails from now on. */
  failLists(message: string): void;
  answer(name: string, result: object): void;
  /** What was asked of it, over all its lives. */
  log(): readonly string[];
  /** Process ids of its lives so far. */
  pids(): readonly number[];
  /** How it is started: for a program that starts it. */
  readonly args: readonly string[];
  /** Resolves when a line of the log matches; bounded by the time of the test. */
  logged(pattern: RegExp): Promise<void>;
}

export function mcpWorld(
  tools: readonly (WorldTool | string)[],
  options: Partial<StdioServerOptions> = {},
  kind: 'older' | 'newer' | 'stubborn' = 'newer',
): McpWorld {
  const folder = mkdtempSync(join(tmpdir(), 'swarmwright-mcp-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const statePath = join(folder, 'state.json');
  const logPath = join(folder, 'log.txt');
  let state: object = { tools: tools.map(asTool) };
  const write = (more: object) => {
    state = { ...state, ...more };
    writeFileSync(statePath, JSON.stringify(state));
  };
  write({});
  writeFileSync(logPath, '');
  const log = () => readFileSync(logPath, 'utf8').split('\n').slice(0, -1);
  const answers: Record<string, object> = {};
  const args = [PROGRAM, statePath, logPath, kind];
  return {
    args,
    server: mcpServer({
      name: 'world',
      command: process.execPath,
      args,
      limits: { backoffMs: 0, closeMs: 500 },
      defer: 'never',
      ...options,
    }),
    offer: (...next) => write({ tools: next.map(asTool) }),
    failLists: (listFault) => write({ listFault }),
    answer(name, result) {
      answers[name] = result;
      write({ answers });
    },
    log,
    pids: () => log().flatMap((line) => (line.startsWith('start ') ? [Number(line.slice(6))] : [])),
    logged: (pattern) =>
      new Promise((resolve) => {
        const look = () => {
          if (!log().some((line) => pattern.test(line))) return;
          watcher.close();
          resolve();
        };
        const watcher = watch(logPath, look);
        onTestFinished(() => watcher.close());
        look();
      }),
  };
}

function asTool(tool: WorldTool | string): WorldTool {
  const listed = typeof tool === 'string' ? { name: tool } : tool;
  return { inputSchema: { type: 'object' }, ...listed };
}
