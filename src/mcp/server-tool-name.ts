import { createHash } from 'node:crypto';

const MAX_CHARS = 64;
const HASH_CHARS = 8;
const PLAIN = /^[A-Za-z0-9_-]+$/;
const SERVER_NAME = /^(?!_)(?!.*__)[A-Za-z0-9_-]{1,32}(?<!_)$/;

/**
 * True for a name a server may have: `[A-Za-z0-9_-]`, at most 32 characters, no `__` and no `_` at its ends, so that
 * what stands before the first `__` of a tool's name is its server.
 */
export function isServerName(name: string): boolean {
  return SERVER_NAME.test(name);
}

/**
 * `server__tool`, as a model and a policy see it: at most 64 characters of `[A-Za-z0-9_-]`. A tool's name that does not
 * fit is its readable part and a hash of all of it: the same every time, and another for another name.
 */
export function serverToolName(server: string, tool: string): string {
  const prefix = `${server}__`;
  if (PLAIN.test(tool) && prefix.length + tool.length <= MAX_CHARS) return prefix + tool;
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARS);
  const room = MAX_CHARS - prefix.length - HASH_CHARS - 1;
  const readable = tool.slice(0, room).replace(/[^A-Za-z0-9_-]/g, '_');
  return `${prefix}${readable === '' ? 'tool' : readable}_${hash}`;
}

/** Whether a tool of this name could be one of the server's. */
export function isServerTool(server: string, toolName: string): boolean {
  return toolName.startsWith(`${server}__`);
}

const RUNNERS = /^(npx|npm|pnpm|yarn|bunx|bun|node|deno|uvx|uv|python3?|docker)$/;

/** A name for a server that was given none: that of its host, or of its package or program. */
export function serverNameOf(
  from: { readonly url: string } | { readonly command: readonly string[] },
): string {
  const source = 'url' in from ? new URL(from.url).hostname : programOf(from.command);
  const base = source.split(/[\\/]/).findLast((part) => part !== '') ?? '';
  const name = base
    .replace(/(?<=.)@[^@]*$/, '')
    .replace(/\.(js|mjs|cjs|ts|mts|py|exe|cmd)$/, '')
    .replace(/[^A-Za-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 32);
  return name === '' ? 'server' : name;
}

/** What a package runner runs, else the command itself. */
function programOf([command = '', ...args]: readonly string[]): string {
  const program = command.split(/[\\/]/).at(-1) ?? command;
  if (!RUNNERS.test(program.replace(/\.(exe|cmd)$/, ''))) return program;
  return args.find((arg) => !arg.startsWith('-') && !/^(run|exec|dlx|x)$/.test(arg)) ?? program;
}
