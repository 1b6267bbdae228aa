import type {
  CallToolResult,
  Client,
  Tool as ListedTool,
  Progress,
  Transport,
} from '@modelcontextprotocol/client';
import { sleep, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import { loadSdk, type McpSdk } from './load-sdk.ts';
import { newClient } from './new-client.ts';
import { faultOf, isTimeout, type RequestFault } from './request-fault.ts';
import type { ServerSpec } from './server-options.ts';
import { wayTo } from './transports.ts';

export type { CallToolResult, ListedTool };

/** What a connection tells without being asked. */
export interface ConnectionEvents {
  /** The list of tools is another now. */
  onListChanged(): void;
  /** The connection is gone; nothing comes any more. At most once, and not after `close`. */
  onLost(): void;
}

/** What a call may be watched and ended by. */
export interface CallOptions {
  readonly signal: AbortSignal;
  onProgress(progress: Progress): void;
}

/** One connection to a server, from handshake to end. */
export interface Connection {
  readonly isOpen: boolean;
  /** All tools of the server. */
  list(signal: AbortSignal): Promise<readonly ListedTool[]>;
  /** Runs a tool. An abort tells the server that nobody waits any more. */
  call(tool: string, input: JsonObject, options: CallOptions): Promise<CallToolResult>;
  /** Of what `list` or `call` threw. */
  faultOf(error: unknown): RequestFault;
  /** What the program of the server wrote last to its standard error, as one line; empty for nothing. */
  lastWords(): string;
  close(): Promise<void>;
}

/** How the handshake is made; what was found out is kept for the next one. */
export interface Handshake {
  /** The server speaks only the older protocol. */
  isLegacy: boolean;
}

/** What a connection is made with beside what it leads to. */
export interface ConnectOptions {
  readonly handshake: Handshake;
  readonly events: ConnectionEvents;
  /** Gives the attempt up. */
  readonly signal: AbortSignal;
}

/**
 * Connects and shakes hands.
 * @throws SwarmError 'mcp-disconnected' with what the client or the system threw, and what the program said last
 * @throws SwarmError 'mcp-client-missing'; nothing is left behind
 */
export async function connectServer(spec: ServerSpec, options: ConnectOptions): Promise<Connection> {
  const sdk = await loadSdk();
  const { handshake, signal } = options;
  try {
    return await connectOnce(sdk, spec, options);
  } catch (error) {
    // Some programs end when they are asked what they do not know: then that is not asked.
    const cause = error instanceof SwarmError ? error.cause : error;
    const mayBeOlder = !handshake.isLegacy && !('url' in spec) && sdk.SdkError.isInstance(cause);
    if (!mayBeOlder || signal.aborted || isTimeout(sdk, cause)) throw error;
    const connection = await connectOnce(sdk, spec, { ...options, handshake: { isLegacy: true } });
    handshake.isLegacy = true;
    return connection;
  }
}

async function connectOnce(
  sdk: McpSdk,
  spec: ServerSpec,
  { handshake, events, signal }: ConnectOptions,
): Promise<Connection> {
  const client = newClient(sdk, spec, {
    isLegacy: handshake.isLegacy,
    onListChanged: () => events.onListChanged(),
  });
  const { transport, listening, lastWords } = wayTo(sdk, spec);
  let isOpen = false;
  client.onclose = () => {
    const wasOpen = isOpen;
    isOpen = false;
    if (wasOpen) events.onLost();
  };
  try {
    await shakeHands(client, transport, { signal, timeoutMs: spec.limits.connectMs });
  } catch (cause) {
    throw notConnected(cause, lastWords());
  }
  isOpen = true;
  if (client.getProtocolEra() === 'legacy') {
    handshake.isLegacy = true;
    // What is listed before the server is listened to may change without a word.
    await within(listening, LISTEN_MS);
  }
  if ('url' in spec) client.onerror = heartbeat(sdk, client, events, spec.limits.probeMs);
  return {
    ...connectionOf(sdk, client, spec),
    get isOpen() {
      return isOpen;
    },
    lastWords,
    async close() {
      if (isOpen) await endSession(transport, spec.limits.closeMs);
      isOpen = false;
      await client.close();
      await transport.close();
    },
  };
}

function notConnected(cause: unknown, words: string): SwarmError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const said = words === '' ? '' : `; it wrote last: ${words}`;
  return new SwarmError('mcp-disconnected', `${why}${said}`, { cause });
}

async function shakeHands(
  client: Client,
  transport: Transport,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<void> {
  const giveUp = () => void transport.close().catch(() => undefined);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    signal.throwIfAborted();
    await client.connect(transport, { timeout: timeoutMs, signal });
  } catch (error) {
    await transport.close().catch(() => undefined);
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** Tells a server over HTTP that its session is over; one that does not listen is left. */
async function endSession(transport: Transport, waitMs: number): Promise<void> {
  if (!('terminateSession' in transport) || typeof transport.terminateSession !== 'function') return;
  await within(
    Promise.resolve(transport.terminateSession()).catch(() => undefined),
    waitMs,
  );
}

/** Some servers do not begin their stream before they have something to say. */
const LISTEN_MS = 1_000;

/** Waits for something, but no longer than that. */
async function within(something: Promise<unknown>, waitMs: number): Promise<void> {
  const over = new AbortController();
  await Promise.race([something, sleep(systemClock, waitMs, over.signal)]);
  over.abort();
}

/** The longest a timer can be: how long a call may take is the business of whoever makes it. */
const FOREVER_MS = 0x7fffffff;

function connectionOf(
  sdk: McpSdk,
  client: Client,
  { limits }: ServerSpec,
): Omit<Connection, 'close' | 'isOpen' | 'lastWords'> {
  return {
    async list(signal) {
      const timeout = limits.listMs;
      const { tools } = await client.listTools({}, { cacheMode: 'refresh', timeout, signal });
      return tools;
    },
    call: (name, input, { signal, onProgress }) =>
      client.callTool(
        { name, arguments: input as Record<string, unknown> },
        { signal, onprogress: onProgress, timeout: FOREVER_MS },
      ),
    faultOf: (error) => faultOf(sdk, error),
  };
}

/**
 * Over HTTP nothing says that a server is gone, and a call whose stream broke would wait for ever: after each trouble
 * the server is asked for a sign of life, and given up without one. A change of its list may have been missed.
 */
function heartbeat(
  sdk: McpSdk,
  client: Client,
  events: ConnectionEvents,
  timeout: number,
): (error: Error) => void {
  let isAsking = false;
  const ask = async () => {
    try {
      if (client.getProtocolEra() === 'legacy') await client.ping({ timeout });
      else await client.discover({ timeout });
    } catch (error) {
      const isGone = faultOf(sdk, error) === 'disconnected' || isTimeout(sdk, error);
      if (isGone) await client.close().catch(() => undefined);
    } finally {
      isAsking = false;
    }
  };
  return (error) => {
    // An answer, for example that there is no stream of changes, is a sign of life.
    if (sdk.SdkHttpError.isInstance(error) && error.status < 500) return;
    events.onListChanged();
    if (isAsking) return;
    isAsking = true;
    void ask();
  };
}
