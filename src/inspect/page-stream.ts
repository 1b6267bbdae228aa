import type { ServerResponse } from 'node:http';
import type { InstanceSnapshot } from '../lifecycle/registry.ts';
import { PAGE_LIMITS } from '../limits.ts';
import type { FactFrame } from './fact-frame.ts';
import type { FactFrames } from './fact-frames.ts';
import type { MoveRing } from './move-ring.ts';
import { MoveTeller } from './move-teller.ts';
import type { PageSettings } from './page-options.ts';
import { StreamSender } from './stream-sender.ts';

/** What a stream shows, and from where. */
export interface StreamOptions {
  readonly frames: FactFrames;
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
 * Sends what happens as server-sent events until the response is closed, all that is new at a time in one piece. Facts
 * are taken as fast as the viewer takes them, so none is ever dropped; of transitions a viewer that is too slow misses
 * the oldest, and is told how many. The id of each message says where to go on after a cut.
 */
export async function streamTo(response: ServerResponse, options: StreamOptions): Promise<void> {
  const stop = new AbortController();
  response.once('close', () => stop.abort());
  // Facts may take a while to be had: who went away meanwhile says nothing any more.
  if (response.destroyed) stop.abort();
  const sender = new StreamSender(response, stop.signal);
  const { frames, ring, live, from, trouble } = options;
  const head = await frames.position();
  const start = from?.cursor ?? Math.max(0, head - PAGE_LIMITS.historyRecords);
  // Read before the snapshot: what happens in between is told twice, and a state is only taken over again.
  const moves = new MoveTeller({ ring, live, told: Math.min(from?.move ?? ring.last, ring.last) });
  const hello = JSON.stringify(helloOf(options, { start, head }));
  const place = { cursor: start, moves };
  const leave = keepAlive(sender, trouble, place);
  try {
    await sender.send(message('hello', place, hello) + (start < head ? '' : message('ready', place, '{}')));
    for await (const frame of frames.follow(start, stop.signal)) {
      const isReady = place.cursor < head && frame.last >= head;
      await sendFrame(sender, { frame, place, isReady });
    }
  } finally {
    leave();
    stop.abort();
    response.end();
  }
}

function helloOf(
  { live, settings, controls, canFork }: StreamOptions,
  span: { readonly start: number; readonly head: number },
) {
  return {
    now: Date.now(),
    ...span,
    controls,
    canFork,
    hasToken: settings.token !== undefined,
    content: settings.content !== false,
    instances: live().slice(0, PAGE_LIMITS.instances),
  };
}

/** How far a viewer is. */
interface ViewerPlace {
  cursor: number;
  readonly moves: MoveTeller;
}

interface Sending {
  readonly frame: FactFrame;
  readonly place: ViewerPlace;
  /** The viewer has all that was there when it came. */
  readonly isReady: boolean;
}

async function sendFrame(sender: StreamSender, { frame, place, isReady }: Sending): Promise<void> {
  place.cursor = frame.last;
  let text = frame.missed > 0 ? message('missed', place, JSON.stringify({ facts: frame.missed })) : '';
  if (frame.text !== undefined) text += message('facts', place, frame.text);
  if (isReady) text += message('ready', place, '{}');
  do {
    const moves = place.moves.next();
    if (moves !== undefined) text += message('moves', place, moves);
    if (text !== '') await sender.send(text);
    text = '';
  } while (place.moves.hasMore && !sender.isOver);
}

/** `data` is JSON. */
function message(event: string, { cursor, moves }: ViewerPlace, data: string): string {
  return `event: ${event}\nid: ${cursor}.${moves.told}\ndata: ${data}\n\n`;
}

/** Says from time to time that the connection is alive, and at once what troubles the source. Returns how to end it. */
function keepAlive(sender: StreamSender, trouble: StreamOptions['trouble'], place: ViewerPlace): () => void {
  let told: string | undefined;
  const tell = () => {
    const words = trouble?.();
    if (words === told || sender.isStalled) return;
    told = words;
    void sender.send(message('trouble', place, JSON.stringify({ words: words ?? null })));
  };
  const timers = [setInterval(() => sender.beat(), PAGE_LIMITS.heartbeatMs)];
  if (trouble !== undefined) timers.push(setInterval(tell, PAGE_LIMITS.flushMs));
  for (const timer of timers) timer.unref();
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}
