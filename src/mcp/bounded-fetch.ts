import { SwarmError } from '../errors.ts';
import { unheldFetch } from './unheld-fetch.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * `fetch` for one server: with its headers, without redirects, and with an end to a response that holds one message of
 * more than `maxBytes`. An event stream is bounded event by event, since it may stay open for days.
 */
export function boundedFetch(headersOf: () => Promise<Readonly<Record<string, string>>>, maxBytes: number) {
  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(await headersOf())) headers.set(name, value);
    const response = isStanding(init.method, headers)
      ? await unheldFetch(new URL(url), { ...init, headers })
      : await fetch(url, { ...init, headers, redirect: 'error' });
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') === true;
    const body = response.body.pipeThrough(boundedBody(maxBytes, isStream));
    const { status, statusText } = response;
    return new Response(body, { status, statusText, headers: response.headers });
  };
}

/** True for a request whose answer is the stream of what changes, by either protocol. */
export function isStanding(method: string | undefined, headers: Headers): boolean {
  return (method ?? 'GET') === 'GET' || headers.get('mcp-method') === 'subscriptions/listen';
}

/** Passes bytes on and fails over the bound; where `perEvent`, an empty line begins the count anew. */
function boundedBody(maxBytes: number, perEvent: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let isLineEmpty = false;
  const count = (chunk: Uint8Array) => {
    if (!perEvent) {
      bytes += chunk.byteLength;
      return;
    }
    for (const byte of chunk) {
      bytes += 1;
      if (byte === LINE_FEED) {
        if (isLineEmpty) bytes = 0;
        isLineEmpty = true;
      } else if (byte !== CARRIAGE_RETURN) isLineEmpty = false;
    }
  };
  return new TransformStream({
    transform(chunk, controller) {
      count(chunk);
      if (bytes <= maxBytes) controller.enqueue(chunk);
      else controller.error(new SwarmError('response-too-large', `a message is over ${maxBytes} bytes`));
    },
  });
}
