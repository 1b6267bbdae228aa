import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { SwarmError } from '../errors.ts';

/**
 * `fetch` for a response that stays open for as long as the connection is wanted, such as the stream in which a server
 * tells of changes: it keeps this process alive no longer than until it is there. Follows no redirect.
 */
export function unheldFetch(url: URL, init: RequestInit & { readonly headers: Headers }): Promise<Response> {
  const { method = 'GET', headers, body, signal } = init;
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method,
      headers: Object.fromEntries(headers),
      // A socket of its own: one that is shared must not be let go of.
      agent: false,
      ...(signal === undefined || signal === null ? {} : { signal }),
    });
    request.once('error', reject);
    request.once('response', (answer) => {
      const status = answer.statusCode ?? 0;
      if (status >= 300 && status < 400) {
        answer.destroy();
        reject(new SwarmError('mcp-disconnected', 'the server answered with a redirect'));
        return;
      }
      answer.socket.unref();
      const given = Object.entries(answer.headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as const] : [],
      );
      const stream = hasBody(status) ? Readable.toWeb(answer) : null;
      // The stream of Node and that of the web are the same at run time.
      resolve(new Response(stream as ReadableStream | null, { status, headers: Object.fromEntries(given) }));
    });
    // The protocol sends texts only.
    request.end(typeof body === 'string' ? body : undefined);
  });
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 304;
}
