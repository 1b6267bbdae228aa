import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** One request as it arrived. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The body, parsed. */
  readonly body: { readonly [key: string]: unknown };
}

/** Answers one request. */
export type Reply = (response: ServerResponse, request: Received) => void;

/** A provider on a port of its own that answers from a script and keeps what it was asked. */
export interface SseServer extends AsyncDisposable {
  readonly origin: string;
  readonly requests: Received[];
  /** Adds replies for the requests to come, in order. Requests beyond the script get a 599. */
  script(...replies: Reply[]): void;
  openSockets(): number;
  /** Resolves when the client closed the connection of a request in the middle of its response. */
  clientLeft(): Promise<void>;
}

export async function startSseServer(): Promise<SseServer> {
  const replies: Reply[] = [];
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  const left = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    const received: Received = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: text === '' ? {} : JSON.parse(text),
    };
    requests.push(received);
    response.on('close', () => {
      if (!response.writableFinished) left.resolve();
    });
    const reply = replies.shift() ?? status(599, 'unscripted');
    reply(response, received);
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server that listens on a port has an address of this shape.
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    script: (...added) => void replies.push(...added),
    openSockets: () => sockets.size,
    clientLeft: () => left.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const EVENT_STREAM = { 'content-type': 'text/event-stream' };

/** A stream of `data:` events, one for each chunk, then `[DONE]`. Strings are sent as they are. */
export function sse(chunks: readonly unknown[], headers: { [name: string]: string } = {}): Reply {
  return raw(`${eventLines(chunks)}data: [DONE]\n\n`, headers);
}

/** A stream of events without `[DONE]`. */
export function sseWithoutDone(chunks: readonly unknown[]): Reply {
  return raw(eventLines(chunks));
}

export function eventLines(chunks: readonly unknown[]): string {
  return chunks
    .map((chunk) => `data: ${typeof chunk === 'string' ? chunk : JSON.stringify(chunk)}\n\n`)
    .join('');
}

/** Any body as an event stream. */
export function raw(body: string | Uint8Array, headers: { [name: string]: string } = {}): Reply {
  return (response) => {
    response.writeHead(200, { ...EVENT_STREAM, ...headers });
    response.end(body);
  };
}

/** A body sent in the given pieces, each in a packet of its own where the system lets it. */
export function inPieces(pieces: readonly Uint8Array[]): Reply {
  return async (response) => {
    response.writeHead(200, EVENT_STREAM);
    for (const piece of pieces) {
      await new Promise<void>((resolve) => response.write(piece, () => resolve()));
    }
    response.end();
  };
}

export function status(code: number, body: unknown = '', headers: { [name: string]: string } = {}): Reply {
  return (response) => {
    const isText = typeof body === 'string';
    response.writeHead(code, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
    response.end(isText ? body : JSON.stringify(body));
  };
}

/** Sends the chunks and then nothing more, with the connection open. */
export function stall(chunks: readonly unknown[]): Reply {
  return (response) => {
    response.writeHead(200, EVENT_STREAM);
    response.flushHeaders();
    response.write(eventLines(chunks));
  };
}

/** Sends the chunks and then breaks the connection. */
export function breakOff(chunks: readonly unknown[]): Reply {
  return (response) => {
    response.writeHead(200, EVENT_STREAM);
    response.write(eventLines(chunks), () => response.socket?.destroy());
  };
}

/** Breaks the connection before a header is sent. */
export const reset: Reply = (response) => void response.socket?.destroy();

/** Never answers. */
export const silence: Reply = () => {};

/** The messages of a chat-completions request, by default of the last one. */
export function messagesOf(server: SseServer, at = -1): { role: string; [key: string]: unknown }[] {
  // The body of such a request holds its messages here.
  return server.requests.at(at)?.body['messages'] as { role: string }[];
}
