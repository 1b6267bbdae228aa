import { sleep, systemClock } from '../clock.ts';
import { parseEvent, type RunEvent } from '../events/event-schemas.ts';
import { NATS_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { createArtifactBucket } from './artifact-bucket.ts';
import type { NatsClient } from './client.ts';
import { type Connection, openConnection } from './connection.ts';
import { readJson } from './jet-stream-api.ts';
import { createSessionOrder, type SessionOrder } from './session-order.ts';
import { readAllStored, readStored, type StreamStart } from './stored-events.ts';
import { createSubjects, type EventFilter, type SubjectOptions, type Subjects } from './subjects.ts';

/** Options of {@link subscribe}. Each part of the filter that is left out stands for all. */
export interface SubscribeOptions extends SubjectOptions, EventFilter {
  readonly connection: Connection;
  /** Name of an agent. Not part of a subject: events of others are read and dropped. */
  readonly agent?: string;
  /**
   * `new` (default): from now on. `start`: all that is stored. `after`: behind a `sequence` that was handled.
   * `time`: what was stored from then on.
   */
  readonly from?: 'new' | 'start' | { readonly after: number } | { readonly time: Date };
  /**
   * `seq` of the last event of a session that was handled, out of the reader's own store. With it an event that is
   * stored twice is handled once, over restarts too.
   */
  readonly known?: (session: string) => number | undefined;
  /** Ends behind this place of the stream. Default: never. */
  readonly until?: number;
  readonly signal?: AbortSignal;
}

/** What a subscriber gets. */
export type SubscriptionItem =
  | {
      readonly type: 'event';
      readonly event: RunEvent;
      /** Place in the stream: keep it, and go on with `from: { after: sequence }`. */
      readonly sequence: number;
    }
  /**
   * Events of a session between `after` and `before` did not come in their place. Those that are stored elsewhere in the
   * stream follow next, in order; `isWhole` = that is all of them.
   */
  | {
      readonly type: 'gap';
      readonly root: string;
      readonly session: string;
      readonly after: number;
      readonly before: number;
      readonly refilled: number;
      readonly isWhole: boolean;
      readonly sequence: number;
    };

/** What a {@link Subscription} dropped. */
export interface SubscriptionCounts {
  readonly events: number;
  readonly repeated: number;
  readonly gaps: number;
  /** Of a newer version than this one. */
  readonly unknown: number;
  /** No events at all, whoever published them. */
  readonly invalid: number;
}

/** Events as they come. Leaving the loop ends it, and closes a connection of its own. */
export interface Subscription extends AsyncIterable<SubscriptionItem>, AsyncDisposable {
  counts(): SubscriptionCounts;
  /**
   * What an event refers to by `ref`, `argsRef` or `resultRef`.
   * @throws SwarmError 'artifact-missing', 'artifact-corrupt', 'nats-unavailable', 'nats-rejected'
   */
  readArtifact(reference: { readonly sha256: string }): Promise<Uint8Array>;
}

const OPTIONS: OptionNames<SubscribeOptions> = {
  ns: true,
  subjectRoot: true,
  root: true,
  session: true,
  kind: true,
  name: true,
  connection: true,
  agent: true,
  from: true,
  known: true,
  until: true,
  signal: true,
};

/**
 * Reads events at the pace of the reader: ordered by (session, seq), each once, with what is missing told of and
 * looked for. It goes on over restarts of the server. Without a filter by `kind` or `name` every gap is noticed.
 * @throws SwarmError 'invalid-definition', 'nats-insecure' at once; 'nats-rejected' while reading
 * @example
 * for await (const item of subscribe({ connection: 'nats://127.0.0.1:4222', kind: 'turn' })) {
 *   if (item.type === 'event') console.log(item.event.type, item.event.session);
 * }
 */
export function subscribe(options: SubscribeOptions): Subscription {
  assertOptions('subscribe', options, OPTIONS);
  const { client, isOwn } = openConnection(options.connection);
  const subjects = createSubjects(options);
  const counts = { events: 0, repeated: 0, gaps: 0, unknown: 0, invalid: 0 };
  return {
    counts: () => ({ ...counts }),
    async readArtifact({ sha256 }) {
      await client.connected(AbortSignal.timeout(NATS_LIMITS.requestMs));
      return createArtifactBucket(client).get(sha256);
    },
    async [Symbol.asyncDispose]() {
      if (isOwn) await client.close();
    },
    async *[Symbol.asyncIterator]() {
      try {
        yield* items({ client, subjects, options, counts });
      } finally {
        if (isOwn) await client.close();
      }
    },
  };
}

interface Reading {
  readonly client: NatsClient;
  readonly subjects: Subjects;
  readonly options: SubscribeOptions;
  readonly counts: { -readonly [K in keyof SubscriptionCounts]: number };
}

async function* items(reading: Reading): AsyncGenerator<SubscriptionItem, void> {
  const { client, subjects, options, counts } = reading;
  const { known, signal = new AbortController().signal, until = Number.POSITIVE_INFINITY } = options;
  const isWhole = options.kind === undefined && options.name === undefined;
  const order = createSessionOrder({ isWhole, known });
  for await (const { data, sequence } of readStored(
    client,
    subjects.events(options),
    startOf(options),
    signal,
  )) {
    const event = eventIn(data, counts);
    if (event !== undefined) yield* place(reading, order, event, sequence);
    if (sequence >= until) return;
  }
}

/** What an event that came is to the reader: nothing, itself, or what came before it too. */
async function* place(
  reading: Reading,
  order: SessionOrder,
  event: RunEvent,
  sequence: number,
): AsyncGenerator<SubscriptionItem, void> {
  const { counts, options } = reading;
  const standing = order.take(event);
  if (standing.type === 'repeated') {
    counts.repeated += 1;
    return;
  }
  if (options.agent !== undefined && event.agent !== options.agent) return;
  if (standing.type === 'gap') yield* refill(reading, event, standing.after, sequence - 1);
  counts.events += 1;
  yield { type: 'event', event, sequence };
}

function startOf({ from = 'new' }: SubscribeOptions): StreamStart {
  if (from === 'new') return { type: 'new' };
  if (from === 'start') return { type: 'sequence', sequence: 1 };
  return 'after' in from ? { type: 'sequence', sequence: from.after + 1 } : { type: 'time', time: from.time };
}

function eventIn(data: Uint8Array, counts: Reading['counts']): RunEvent | undefined {
  const parsed = parseEvent(readJson(data));
  if (parsed.type === 'event') return parsed.event;
  counts[parsed.type] += 1;
  return undefined;
}

/** Time between two looks for events that were published in another order than they were recorded. */
const LOOK_MS = 250;

/** `sequence` is that of the message before: who stops in the middle gets the event once more. */
async function* refill(
  reading: Reading,
  event: RunEvent,
  after: number,
  sequence: number,
): AsyncGenerator<SubscriptionItem, void> {
  const { counts } = reading;
  const { root, session, seq: before } = event;
  const found = await findBetween(reading, event, after);
  counts.gaps += 1;
  counts.events += found.events.length;
  const { isWhole, events } = found;
  yield { type: 'gap', root, session, after, before, refilled: events.length, isWhole, sequence };
  for (const missed of events) yield { type: 'event', event: missed, sequence };
}

/** The events of a session between two, once they are all there or their time is over. */
async function findBetween(
  { client, subjects, options }: Reading,
  { root, session, seq, prev }: RunEvent,
  after: number,
): Promise<{ readonly events: readonly RunEvent[]; readonly isWhole: boolean }> {
  const signal = options.signal ?? new AbortController().signal;
  const deadline = systemClock.monotonicMs() + NATS_LIMITS.gapMs;
  for (;;) {
    const events = await storedBetween(
      client,
      subjects.events({ root, session }),
      { after, before: seq },
      signal,
    );
    const isWhole = isChain(events, after, prev);
    if (isWhole || systemClock.monotonicMs() >= deadline) return { events, isWhole };
    if (!(await sleep(systemClock, LOOK_MS, signal))) return { events, isWhole };
  }
}

async function storedBetween(
  client: NatsClient,
  filter: string,
  { after, before }: { readonly after: number; readonly before: number },
  signal: AbortSignal,
): Promise<readonly RunEvent[]> {
  const bySeq = new Map<number, RunEvent>();
  try {
    for await (const { data } of readAllStored(client, filter, signal)) {
      const parsed = parseEvent(readJson(data));
      if (parsed.type !== 'event') continue;
      const { seq } = parsed.event;
      if (seq > after && seq < before) bySeq.set(seq, parsed.event);
    }
  } catch {
    // The connection is gone for the moment; what was found so far tells whether it was enough.
  }
  return [...bySeq.values()].sort((one, other) => one.seq - other.seq);
}

function isChain(events: readonly RunEvent[], after: number, last: number): boolean {
  let at = after;
  for (const { seq, prev } of events) {
    if (prev > at) return false;
    at = seq;
  }
  return at >= last;
}
