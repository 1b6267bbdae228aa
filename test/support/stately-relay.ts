import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { StatelyInspectionEvent } from '@statelyai/inspect';
import { startProgram } from './child-process.ts';

/** A relay of the inspector's own package, and what its receiver hears there. */
export interface Relay {
  readonly url: string;
  readonly port: number;
  readonly messages: readonly Message[];
  /** Resolves with all messages once they hold what is looked for. */
  until(isThere: (messages: readonly Message[]) => boolean): Promise<readonly Message[]>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
}

/** Starts one on a free port, or on that of one that is gone. */
export async function startRelay(given?: number): Promise<Relay> {
  const port = given ?? (await freePort());
  const program = startProgram('programs/stately-relay.ts', [String(port)]);
  const messages: Message[] = [];
  const waiting = new Set<() => void>();
  const { stdout } = program.process;
  if (stdout === null) throw new Error('a program has its output piped');
  createInterface({ input: stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return;
    messages.push(JSON.parse(line));
    for (const look of waiting) look();
  });
  await program.said('listening');
  return {
    url: `ws://localhost:${port}`,
    port,
    messages,
    kill: () => program.kill(),
    until: (isThere) =>
      new Promise((resolve) => {
        const look = () => {
          if (!isThere(messages)) return;
          waiting.delete(look);
          resolve(messages);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** A port nobody listens at. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0), 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** A message as it is on the wire: the declared types leave out what some of them have. */
export type Message = StatelyInspectionEvent & {
  readonly name?: string;
  readonly parentId?: string;
  readonly definition?: string;
  readonly event?: { readonly type: string; readonly [field: string]: unknown };
  readonly snapshot?: {
    readonly status: string;
    readonly value: string;
    readonly context: Record<string, unknown>;
  };
};

/** Whether a session has come to its end. */
export function isStopped(messages: readonly Message[], sessionId: string): boolean {
  return messages.some(
    (one) =>
      one.type === '@xstate.snapshot' && one.sessionId === sessionId && one.snapshot?.status === 'done',
  );
}
