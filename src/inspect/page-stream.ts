import type { ServerResponse } from 'node:http';
import type { RunEvent } from '../events/event-schemas.ts';
import type { InstanceSnapshot } from '../lifecycle/registry.ts';
import { PAGE_LIMITS } from '../limits.ts';
import type { FactSource } from './fact-source.ts';
import type { MoveRing } from './move-ring.ts';
import type { PageSettings } from './page-options.ts';

/** What a stream shows, and from where. */
export interface StreamOptions {
  readonly source: FactSource;
  readonly ring: MoveRing;
  readonly live: () => readonly InstanceSnapshot[];
  readonly settings: PageSettings;
  /** What a viewer has seen already, or where it wants to begin. */
  readonly from: StreamPosition | undefined;
  readonly controls: boolean;
  readonly canFork: boolean;
}

/** Place in the ledger and number of a transition of this process. */
export interface StreamPosition {
  readonly cursor: number;
  /** Undefined where a viewer asks for a place in the ledger only. */
  readonly move: number | undefined;
}

/** Reads `Last-Event-ID`. Anything else than what this server wrote begins anew. */
export function parsePosition(id: string | undefined): StreamPosition | undefined {
  const found = /^(\d{1,15})(?:\.(\d{1,15}))?$/.exec(id ?? '');
  if (found === null) return undefined;
  return { cursor: Number(found[1]), move: found[2] === undefined ? undefined : Number(found[2]) };
}

/**
 * Sends what happens as server-sent events until the response is closed. Facts are pulled out of the ledger as fast as
 * the viewer takes them, so none is ever dropped; of transitions a viewer that is too slow misses the oldest, and is
 * told how many. The id of each message says where to go on after a cut.
 */
export async function streamTo(response: ServerResponse, options: StreamOptions): Promise<void> {
  const stop = new AbortController();
  response.once('close', () => stop.abort());
  // Facts may take a while to be had: who went away meanwhile says nothing any more.
  if (response.destroyed) stop.abort();
  const sender = new Sender(response, stop.signal);
  const { source, ring, live, from } = options;
  const head = await source.position();
  const start = from?.cursor ?? Math.max(0, head - PAGE_LIMITS.historyRecords);
  // Read before the snapshot: what happens in between is told twice, and a state is only taken over again.
  const state = { cursor: start, move: Math.min(from?.move ?? ring.last, ring.last) };
  const instances = live().slice(0, PAGE_LIMITS.instances);
  const { controls, canFork, settings } = options;
  await sender.send('hello', `${start}.${state.move}`, {
    now: Date.now(),
    start,
    head,
    controls,
    canFork,
    hasToken: settings.token !== undefined,
    content: settings.content !== false,
    instances,
  });
  const position = () => `${state.cursor}.${state.move}`;
  try {
    await Promise.all([
      sendMoves(sender, { ...options, state, position, signal: stop.signal }),
      sendFacts(sender, { ...options, state, position, head, signal: stop.signal }),
    ]);
  } finally {
    stop.abort();
    response.end();
  }
}

interface Loop extends StreamOptions {
  readonly state: { cursor: number; move: number };
  readonly position: () => string;
  readonly signal: AbortSignal;
}

async function sendFacts(sender: Sender, loop: Loop & { readonly head: number }): Promise<void> {
  const { source, state, position, signal, head } = loop;
  let batch: RunEvent[] = [];
  let read = state.cursor;
  let isCaughtUp = false;
  let sending = 0;
  const flush = async () => {
    sending += 1;
    await send().finally(() => {
      sending -= 1;
    });
  };
  const send = async () => {
    const events = batch;
    batch = [];
    state.cursor = read;
    if (events.length > 0) await sender.send('facts', position(), events);
    if (isCaughtUp || read < head) return;
    isCaughtUp = true;
    await sender.send('ready', position(), {});
  };
  // While a viewer has not taken what it was sent, events wait in the batch, and a full one in the ledger.
  const timer = setInterval(
    () => void (batch.length === 0 || sending > 0 ? undefined : flush()),
    PAGE_LIMITS.flushMs,
  ).unref();
  try {
    if (head <= read) await flush();
    for await (const { position: at, event } of source.facts(state.cursor, signal)) {
      read = at;
      if (event !== undefined) batch.push(event);
      if (batch.length >= PAGE_LIMITS.batch || (!isCaughtUp && read >= head)) await flush();
    }
    await flush();
  } finally {
    clearInterval(timer);
  }
}

async function sendMoves(sender: Sender, { ring, live, state, position, signal }: Loop): Promise<void> {
  for (let quietMs = 0; !signal.aborted; quietMs += PAGE_LIMITS.flushMs) {
    const { moves, last, dropped } = ring.after(state.move, PAGE_LIMITS.batch * 4);
    state.move = last;
    if (moves.length > 0) {
      quietMs = 0;
      // What was missed may have been an end: the viewer is told anew what is live.
      const instances = dropped > 0 ? { instances: live().slice(0, PAGE_LIMITS.instances) } : {};
      await sender.send('moves', position(), { moves, dropped, ...instances });
    } else if (quietMs >= PAGE_LIMITS.heartbeatMs) {
      quietMs = 0;
      await sender.comment('alive');
    }
    if (moves.length === 0 || last === ring.last) await pause(PAGE_LIMITS.flushMs, signal);
  }
}

/** Waits without keeping the process alive. */
function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, delayMs).unref();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
}

/** Writes messages one after another, no faster than the viewer reads. */
class Sender {
  readonly #response: ServerResponse;
  readonly #signal: AbortSignal;
  #last: Promise<void> = Promise.resolve();

  constructor(response: ServerResponse, signal: AbortSignal) {
    this.#response = response;
    this.#signal = signal;
  }

  send(event: string, id: string, data: unknown): Promise<void> {
    return this.#write(() => `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  comment(text: string): Promise<void> {
    return this.#write(() => `: ${text}\n\n`);
  }

  #write(text: () => string): Promise<void> {
    this.#last = this.#last.then(() => this.#writeNow(text()));
    return this.#last;
  }

  #writeNow(text: string): Promise<void> | undefined {
    if (this.#signal.aborted) return undefined;
    if (this.#response.write(text)) return undefined;
    return new Promise((resolve) => {
      const done = () => {
        this.#response.off('drain', done);
        this.#signal.removeEventListener('abort', done);
        resolve();
      };
      this.#response.once('drain', done);
      this.#signal.addEventListener('abort', done, { once: true });
    });
  }
}
