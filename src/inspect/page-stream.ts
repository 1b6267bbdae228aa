import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
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
  /** As in `PageSource`. */
  readonly trouble?: () => string | undefined;
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
  const hello = {
    now: Date.now(),
    start,
    head,
    controls,
    canFork,
    hasToken: settings.token !== undefined,
    content: settings.content !== false,
    instances,
  };
  await sender.send('hello', `${start}.${state.move}`, JSON.stringify(hello));
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
  let batch: string[] = [];
  let chars = 0;
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
    const texts = batch;
    batch = [];
    chars = 0;
    state.cursor = read;
    if (texts.length > 0) await sender.send('facts', position(), `[${texts.join(',')}]`);
    if (isCaughtUp || read < head) return;
    isCaughtUp = true;
    await sender.send('ready', position(), '{}');
  };
  // While a viewer has not taken what it was sent, events wait in the batch, and a full one in the ledger.
  const timer = setInterval(
    () => void (batch.length === 0 || sending > 0 ? undefined : flush()),
    PAGE_LIMITS.flushMs,
  ).unref();
  try {
    if (head <= read) await flush();
    for await (const { position: at, text, missed = 0 } of source.facts(state.cursor, signal)) {
      read = at;
      if (missed > 0) await sender.send('missed', position(), JSON.stringify({ facts: missed }));
      if (text !== undefined) batch.push(text);
      chars += text?.length ?? 0;
      const isFull = batch.length >= PAGE_LIMITS.batch || chars >= PAGE_LIMITS.batchChars;
      if (isFull || (!isCaughtUp && read >= head)) await flush();
    }
    await flush();
  } finally {
    clearInterval(timer);
  }
}

async function sendMoves(sender: Sender, loop: Loop): Promise<void> {
  const { ring, live, state, position, signal, trouble } = loop;
  let told: string | undefined;
  let hasHole = false;
  for (let quietMs = 0; !signal.aborted; quietMs += PAGE_LIMITS.flushMs) {
    const now = trouble?.();
    if (now !== told) {
      told = now;
      await sender.send('trouble', position(), JSON.stringify({ words: now ?? null }));
    }
    const { moves, last, dropped } = ring.after(state.move, PAGE_LIMITS.batch);
    state.move = last;
    if (moves.length > 0) {
      quietMs = 0;
      hasHole ||= dropped > 0;
      // What was missed may have been an end: the viewer is told anew what is live, as soon as it has caught up.
      const isMended: boolean = hasHole && last === ring.last;
      const alive = isMended ? live().slice(0, PAGE_LIMITS.instances) : undefined;
      hasHole &&= !isMended;
      const instances = alive === undefined ? '' : `,"instances":${JSON.stringify(alive)}`;
      await sender.send(
        'moves',
        position(),
        `{"moves":[${moves.join(',')}],"dropped":${dropped}${instances}}`,
      );
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

/**
 * Writes messages one after another, no faster than the viewer reads, and each in a turn of the event loop of its own:
 * a viewer with much to catch up on takes its time from no agent.
 */
class Sender {
  readonly #response: ServerResponse;
  readonly #signal: AbortSignal;
  #last: Promise<void> = Promise.resolve();

  constructor(response: ServerResponse, signal: AbortSignal) {
    this.#response = response;
    this.#signal = signal;
  }

  /** `data` is JSON. */
  send(event: string, id: string, data: string): Promise<void> {
    return this.#write(`event: ${event}\nid: ${id}\ndata: ${data}\n\n`);
  }

  comment(text: string): Promise<void> {
    return this.#write(`: ${text}\n\n`);
  }

  #write(text: string): Promise<void> {
    this.#last = this.#last.then(() => this.#writeNow(text));
    return this.#last;
  }

  async #writeNow(text: string): Promise<void> {
    if (this.#signal.aborted) return;
    this.#response.write(text);
    // A socket that takes it at once says so within this turn of the loop.
    await setImmediate();
    if (this.#response.writableNeedDrain && !this.#signal.aborted) await this.#drained();
  }

  #drained(): Promise<void> {
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
