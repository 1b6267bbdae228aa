import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** A scripted provider in a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly baseURL: string;
}

/** Starts the provider of `sse-server.ts`; each response begins after `delayMs`. */
export async function startServer(delayMs = 0): Promise<ServerProcess> {
  const child = fork(pathOf('sse-server.ts'), [String(delayMs)], { execArgv: [] });
  const [port] = await once(child, 'message');
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.kill();
      await exited;
    },
  };
}

/** Runs a measuring script in a fresh process, so that no contender warms up or fills the heap of the next. */
export function measureIn<T>(file: string, ...args: readonly string[]): Promise<T> {
  return measureUnder<T>([], file, ...args);
}

/** The same, in a process that Node is given further flags for. */
export async function measureUnder<T>(
  flags: readonly string[],
  file: string,
  ...args: readonly string[]
): Promise<T> {
  const execArgv = ['--expose-gc', '--conditions=swarmwright-source', ...flags];
  const child = fork(pathOf(file), args, { execArgv });
  let measured: T | undefined;
  // The child sends one message, of the type that its file exports.
  child.on('message', (message) => {
    measured = message as T;
  });
  const [code] = await once(child, 'exit');
  if (code !== 0 || measured === undefined) throw new Error(`${file} ${args.join(' ')} exited with ${code}`);
  return measured;
}
