import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { SwarmError } from '../errors.ts';
import type { JsonValue } from '../ledger/content.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { playResponse } from './play-response.ts';
import {
  createRequestLog,
  type EndRequest,
  type ReceivedRequest,
  type RecordedRequest,
  type RequestLog,
  refusedRequests,
} from './request-log.ts';
import { createPlayer, type Script, type ScriptPlayer } from './script.ts';
import { readBody } from './wire-request.ts';

/** Options of {@link scriptedServer}. */
export interface ScriptedServerOptions {
  readonly script: Script;
  /**
   * What happens to a request that a strict provider would refuse (a call without its result, an illegal
   * name): `reject` (default) answers 400 and plays nothing, `record` only notes it.
   */
  readonly violations?: 'reject' | 'record';
}

const OPTIONS: OptionNames<ScriptedServerOptions> = { script: true, violations: true };

/** A chat-completions server that says what its script says. */
export interface ScriptedServer extends AsyncDisposable {
  /** What `openaiCompatible` takes. */
  readonly baseURL: string;
  readonly port: number;
  /** Every request so far, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** Resolves when the request of this ordinal (from 0) has arrived, also if it has already. */
  arrived(ordinal: number): Promise<RecordedRequest>;
  /**
   * Proves that the script was played to its end and nothing else was asked.
   * @throws SwarmError 'script-unplayed' naming answers left, requests without an answer, and violations
   */
  assertPlayedOut(): void;
  /** Breaks all connections and stops. Idempotent; the port refuses connections afterwards. */
  close(): Promise<void>;
}

type HttpRequest = ReceivedRequest & Pick<RecordedRequest, 'body' | 'headers'>;

interface ServerParts {
  readonly player: ScriptPlayer;
  readonly log: RequestLog<HttpRequest>;
  readonly rejects: boolean;
  readonly stopped: AbortController;
  /** Unique over all answers of the server. */
  newCallId(): string;
}

/**
 * Starts a {@link ScriptedServer} on a free port of 127.0.0.1.
 *
 * @throws SwarmError 'fault-injected' when the machine lets nothing listen, 'invalid-definition' naming the option that is
 * unknown or no script
 * @example
 * await using server = await scriptedServer({ script: [reply().text('Hello.')] });
 * const model = openaiCompatible({ baseURL: server.baseURL, model: 'scripted' });
 * // run something with `model`, then:
 * server.assertPlayedOut();
 */
export async function scriptedServer(options: ScriptedServerOptions): Promise<ScriptedServer> {
  assertOptions('scriptedServer', options, OPTIONS);
  let calls = 0;
  const parts: ServerParts = {
    player: createPlayer('scriptedServer', options.script),
    log: createRequestLog(),
    rejects: options.violations !== 'record',
    stopped: new AbortController(),
    newCallId() {
      calls += 1;
      return `call_${calls}`;
    },
  };
  const server = createServer((request, response) => {
    handle(request, response, parts).catch((cause: unknown) => {
      parts.player.threw(cause);
      response.destroy();
    });
  });
  const port = await listen(server);
  const close = () => stop(server, parts.stopped);
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    port,
    requests: parts.log.requests,
    arrived: (ordinal) => parts.log.arrived(ordinal),
    assertPlayedOut: () => assertPlayedOut(parts),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const onError = (cause: Error) =>
      reject(new SwarmError('fault-injected', 'the scripted server cannot listen', { cause }));
    server.once('error', onError);
    server.listen(0, '127.0.0.1', () => {
      server.off('error', onError);
      resolve();
    });
  });
  // A server that listens on a TCP port has an address of this form.
  return (server.address() as AddressInfo).port;
}

async function stop(server: Server, stopped: AbortController): Promise<void> {
  stopped.abort();
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

function assertPlayedOut({ log, player }: ServerParts): void {
  player.assertPlayedOut(refusedRequests(log.requests));
}

async function handle(incoming: IncomingMessage, response: ServerResponse, parts: ServerParts) {
  const path = new URL(incoming.url ?? '/', 'http://server').pathname;
  if (incoming.method !== 'POST' || !path.endsWith('/chat/completions')) {
    return sendError(response, 404, `no such endpoint: ${incoming.method} ${path}`);
  }
  const text = await readText(incoming).catch(() => undefined);
  // The client went away while it was sending: there is nothing to answer.
  if (text === undefined) return;
  const body = parseJson(text);
  const { request, stream, violations } = readBody(body, parts.log.requests.length);
  const end = parts.log.add({ ...request, body, headers: headersOf(incoming), violations });
  const exchange = createExchange(response, parts.stopped.signal, end);
  const refusal = parts.rejects && violations.length > 0 ? `refused: ${violations.join('; ')}` : undefined;
  const answer = refusal === undefined ? await parts.player.next(request) : undefined;
  if (answer === undefined) return sendError(response, 400, refusal ?? 'the script holds no answer');
  const identity = {
    id: `chatcmpl-${request.ordinal}`,
    model: request.model,
    newCallId: parts.newCallId,
  };
  const played = await playResponse(answer, { response, stream, identity, gone: exchange.gone });
  if (played === 'break-connection') exchange.breakOff(incoming);
}

interface Exchange {
  /** Aborts when the client is gone or the server stops. */
  readonly gone: AbortSignal;
  /** Breaks the connection because the script says so. */
  breakOff(incoming: IncomingMessage): void;
}

/** Watches one response to its end: whoever ends it, `end` is told once. */
function createExchange(response: ServerResponse, stopped: AbortSignal, end: EndRequest): Exchange {
  const closed = new AbortController();
  let scripted = false;
  response.once('close', () => {
    closed.abort();
    end({ aborted: !response.writableFinished && !scripted && !stopped.aborted });
  });
  return {
    gone: AbortSignal.any([closed.signal, stopped]),
    breakOff(incoming) {
      scripted = true;
      incoming.socket.resetAndDestroy();
    },
  };
}

function sendError(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({ error: { message, type: 'invalid_request_error', code: 'scripted_server' } }),
  );
}

function parseJson(text: string): JsonValue {
  try {
    // What JSON.parse returns is JSON.
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}

function headersOf({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value ?? '')]));
}
