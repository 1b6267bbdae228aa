import { RESPONSE_LIMITS } from '../limits.ts';
import { createLineGate, type LineGate, type LineOptions } from './sse-lines.ts';

type Fetch = typeof globalThis.fetch;

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
    const { status, statusText, headers } = response;
    return new Response(through(body, gate, onActivity), { status, statusText, headers });
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

/** One layer only, pulled by its reader: a transform stream costs several times as much for each piece. */
function through(
  body: ReadableStream<Uint8Array>,
  gate: EndingGate,
  onActivity: (() => void) | undefined,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    for (;;) {
      const { done, value } = await reader.read();
      const passed = done ? gate.rest() : take(gate, value, reader);
      if (passed !== undefined && passed !== null && passed.byteLength > 0) controller.enqueue(passed);
      if (!done) onActivity?.();
      if (passed === null) await reader.cancel();
      if (done || passed === null) controller.close();
      if (done || passed !== undefined) return;
    }
  };
  return new ReadableStream<Uint8Array>(
    { pull, cancel: (reason) => reader.cancel(reason) },
    { highWaterMark: 0 },
  );
}

function take(
  gate: EndingGate,
  chunk: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Uint8Array | undefined | null {
  try {
    return gate.take(chunk);
  } catch (fault) {
    // Nobody reads on after a bound is hit, so the connection goes too.
    reader.cancel(fault).catch(() => {});
    throw fault;
  }
}
