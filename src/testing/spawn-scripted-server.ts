import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { SwarmError } from '../errors.ts';
import type { RecordedRequest } from './request-log.ts';

/** A request to a server in another process. */
export type SpawnedRequest = Omit<RecordedRequest, 'ended'>;

/** What the process is asked. */
export interface ServerQuestion {
  readonly id: number;
  readonly ask: 'requests' | 'assert-played-out';
}

/** What the process tells. */
export type ServerAnswer =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'answer'; readonly id: number; readonly requests: readonly SpawnedRequest[] }
  | { readonly type: 'complaint'; readonly id: number; readonly message: string };

/** A scripted server in a process of its own, so that its work is not measured with that of the client. */
export interface SpawnedServer extends AsyncDisposable {
  readonly baseURL: string;
  readonly port: number;
  /** Every request so far. @throws SwarmError 'fault-injected' when the process is gone */
  requests(): Promise<readonly SpawnedRequest[]>;
  /** @throws SwarmError 'script-unplayed', 'fault-injected' when the process is gone */
  assertPlayedOut(): Promise<void>;
  /** Ends the process. Idempotent. */
  close(): Promise<void>;
}

/**
 * Starts a scripted server in its own process. The module exports its script as `script`; the process ends with
 * `close`, or with this one.
 *
 * @throws SwarmError 'fault-injected' when the module cannot be loaded or exports no script
 * @example
 * await using server = await spawnScriptedServer(new URL('./support/script.ts', import.meta.url));
 */
export async function spawnScriptedServer(script: URL): Promise<SpawnedServer> {
  // The built file has the suffix of this one.
  const suffix = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const main = fileURLToPath(new URL(`./scripted-server-main${suffix}`, import.meta.url));
  const child = fork(main, [script.href], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit').then(() => undefined);
  const port = await firstWord(child);
  const ask = questionsTo(child);
  const close = async () => {
    if (child.connected) child.disconnect();
    await exited;
  };
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    port,
    requests: () => ask('requests'),
    assertPlayedOut: async () => void (await ask('assert-played-out')),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The port it listens on. */
function firstWord(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new SwarmError('fault-injected', `the scripted server ${why}`));
    child.once('error', (error) => fail(`did not start: ${error.message}`));
    child.once('exit', (code) => fail(`ended with code ${code}`));
    child.once('message', (word: ServerAnswer) => {
      if (word.type === 'listening') resolve(word.port);
      else fail(word.type === 'failed' ? `failed: ${word.message}` : 'spoke out of turn');
    });
  });
}

function questionsTo(child: ChildProcess) {
  const waiting = new Map<number, PromiseWithResolvers<readonly SpawnedRequest[]>>();
  let questions = 0;
  child.on('message', (answer: ServerAnswer) => {
    if (answer.type !== 'answer' && answer.type !== 'complaint') return;
    const waiter = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (answer.type === 'answer') waiter?.resolve(answer.requests);
    else waiter?.reject(new SwarmError('script-unplayed', answer.message));
  });
  const gone = () => new SwarmError('fault-injected', 'the scripted server is gone');
  child.once('exit', () => {
    for (const waiter of waiting.values()) waiter.reject(gone());
    waiting.clear();
  });
  return (ask: ServerQuestion['ask']): Promise<readonly SpawnedRequest[]> => {
    if (!child.connected) return Promise.reject(gone());
    questions += 1;
    const waiter = Promise.withResolvers<readonly SpawnedRequest[]>();
    waiting.set(questions, waiter);
    child.send({ id: questions, ask } satisfies ServerQuestion);
    return waiter.promise;
  };
}
