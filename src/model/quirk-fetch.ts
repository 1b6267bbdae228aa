import { RESPONSE_LIMITS } from '../limits.ts';
import { createLineGate, type LineGate, type LineOptions } from './sse-lines.ts';

type Fetch = typeof globalThis.fetch;
type BodyReader = ReadableStreamDefaultReader<Uint8Array>;
type Piece = Awaited<ReturnType<BodyReader['read']>>;

const END: Piece = { done: true, value: undefined };
const ignore = () => {};

export interface QuirkFetchOptions extends LineOptions {
  readonly fetch: Fetch | undefined;
}

/** A `fetch` for one model, and the way to hear of the bytes of one of its requests. */
export interface QuirkFetch {
  readonly fetch: Fetch;
  /** Calls `onActivity` for every piece of a response whose request is sent under `signal`. */
  watch(signal: AbortSignal, onActivity: () => void): void;
}

/**
 * A `fetch` that follows no redirect, holds responses to their bounds, and mends what the provider package
 * would refuse. The request is passed on untouched.
 */
export function createQuirkFetch(options: QuirkFetchOptions): QuirkFetch {
  const watchers = new WeakMap<AbortSignal, () => void>();
  const quirkFetch: Fetch = async (input, init) => {
    // Looked up for each request, as a tracer may replace the global one.
    const send = options.fetch ?? globalThis.fetch;
    const response = await send(input, { ...init, redirect: 'manual' });
    const { body } = response;
    if (body === null) return response;
    const onActivity = init?.signal ? watchers.get(init.signal) : undefined;
    const gate = response.ok ? createLineGate(options) : createHead(RESPONSE_LIMITS.maxErrorBytes);
    const reader = gatedReader(body.getReader(), gate, onActivity);
    // Whoever takes another way to the bytes finds the body locked.
    Object.defineProperty(body, 'getReader', { value: () => reader });
    return response;
  };
  return { fetch: quirkFetch, watch: (signal, onActivity) => void watchers.set(signal, onActivity) };
}

/** A gate that also ends a response: `null` = nothing more is wanted. */
type EndingGate = Omit<LineGate, 'take'> & { take(chunk: Uint8Array): Uint8Array | undefined | null };

/** An error body is read to its first bytes: what it says stands there. */
function createHead(maxBytes: number): EndingGate {
  let left: number = maxBytes;
  return {
    take(chunk) {
      if (left === 0) return null;
      const head = chunk.subarray(0, left);
      left -= head.byteLength;
      return head;
    },
    rest: () => undefined,
  };
}

/**
 * What reads the body through the gate. No stream of its own: one layer of those takes as much for each piece as all
 * that is done with it here.
 */
function gatedReader(reader: BodyReader, gate: EndingGate, onActivity: (() => void) | undefined): BodyReader {
  let isOver = false;
  const read = (): Promise<Piece> => (isOver ? Promise.resolve(END) : reader.read().then(pass));
  const pass = ({ done, value }: Piece): Piece | Promise<Piece> => {
    const passed = done ? gate.rest() : take(gate, value, reader);
    if (!done) onActivity?.();
    isOver = done || passed === null;
    if (passed === null) reader.cancel().catch(ignore);
    return passed instanceof Uint8Array && passed.byteLength > 0 ? { done: false, value: passed } : read();
  };
  return {
    get closed() {
      return reader.closed;
    },
    read,
    cancel: (reason) => reader.cancel(reason),
    releaseLock: () => reader.releaseLock(),
  };
}

function take(gate: EndingGate, chunk: Uint8Array, reader: BodyReader): Uint8Array | undefined | null {
  try {
    return gate.take(chunk);
  } catch (fault) {
    // Nobody reads on after a bound is hit, so the connection goes too.
    reader.cancel(fault).catch(ignore);
    throw fault;
  }
}
