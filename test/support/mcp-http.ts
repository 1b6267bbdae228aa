import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';

/** A real MCP server over HTTP in this process. */
export interface HttpWorld {
  readonly url: string;
  /** Headers of the requests so far. */
  readonly seen: readonly IncomingMessage['headers'][];
  /** Has another tool from now on, and tells whoever listens. */
  add(tool: string): void;
}

export interface HttpWorldOptions {
  /** What the tool `look` answers. */
  readonly text?: string;
  /** Says that its list may change, so that clients listen for it. */
  readonly hasListChanges?: boolean;
  /** Answers a request in the place of the server; false leaves it to the server. */
  readonly instead?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

/** A server of the newer protocol, which answers older clients as well. It goes with the test. */
export async function httpWorld({
  text = 'seen',
  hasListChanges = false,
  instead = () => false,
}: HttpWorldOptions = {}): Promise<HttpWorld> {
  const seen: IncomingMessage['headers'][] = [];
  const names = ['look'];
  const handler = createMcpHandler(() => {
    const world = new McpServer(
      { name: 'world', version: '1.0.0' },
      { capabilities: { tools: { listChanged: hasListChanges } } },
    );
    for (const name of names) {
      world.registerTool(name, { description: name }, async () => ({ content: [{ type: 'text', text }] }));
    }
    return world;
  });
  const server = createServer(async (request, response) => {
    seen.push(request.headers);
    if (!instead(request, response)) await answer(handler.fetch, request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  // A server on a port has an address with one.
  const { port } = server.address() as { readonly port: number };
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    add(tool) {
      names.push(tool);
      handler.notify.toolsChanged();
    },
  };
}

/** From one kind of HTTP to the other, and back. */
async function answer(
  handle: (request: Request) => Promise<Response>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = request;
  const body = await buffer(request);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const answered = await handle(
    new Request(`http://127.0.0.1${url}`, {
      method,
      headers: Object.entries(headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value]] : [],
      ),
      signal: gone.signal,
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    }),
  );
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  for await (const chunk of answered.body ?? []) response.write(chunk);
  response.end();
}
