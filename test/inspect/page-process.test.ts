import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';

/** A process that a page shows, and that has nothing to do any more once standard input ends. */
const PROGRAM = `
  import { createRuntime } from 'swarmwright';
  import { page } from 'swarmwright/inspect';
  const inspector = page();
  createRuntime({ inspect: inspector });
  console.log(await inspector.url);
  process.stdin.resume();
`;

function startProgram(): ChildProcess & { stdin: NodeJS.WritableStream; stdout: NodeJS.ReadableStream } {
  const args = ['--conditions=swarmwright-source', '--input-type=module', '--eval', PROGRAM];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

it('IN-03 keeps no process alive, also while somebody looks', { timeout: 60_000 }, async () => {
  const child = startProgram();
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  const response = await fetch(`${url}api/stream`);
  const reader = response.body?.getReader();
  await reader?.read();
  child.stdin.end();
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
  // The viewer hears of it.
  while ((await reader?.read())?.done === false);
});
