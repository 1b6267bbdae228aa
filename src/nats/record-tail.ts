import { type Clock, sleep, systemClock } from '../clock.ts';
import { isSwarmError } from '../errors.ts';
import type { PositionedRecord, TailOptions, TailScope } from '../ledger/ledger.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { rootIn, sequenceOf } from './ledger-message.ts';
import { positionedRecords } from './ledger-positions.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import { type PassedMessage, SessionFeed } from './session-feed.ts';
import type { SequencedMessage, StreamReader } from './stream-reader.ts';
import type { StreamWatch } from './stream-watch.ts';
import { readSubject } from './subject-messages.ts';

export interface RecordTailOptions extends TailOptions {
  readonly client: NatsClient;
  readonly reader: StreamReader;
  readonly subjects: LedgerSubjects;
  readonly watch: StreamWatch;
  /** Place after which to begin. */
  readonly after: number;
  /** Aborts with the reader, or when the ledger closes. */
  readonly end: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Records in the order of the stream, live or up to a position. While the server is away it waits.
 * @throws SwarmError 'nats-rejected', 'ledger-corrupt', 'ledger-newer-schema'
 */
export async function* tailRecords(options: RecordTailOptions): AsyncGenerator<PositionedRecord, void> {
  const { end, after, upTo = Number.POSITIVE_INFINITY, clock = systemClock } = options;
  const news = newsFor(options);
  // A message may hold more records than the one that was seen last.
  let next = Math.max(1, sequenceOf(after));
  let failures = 0;
  try {
    while (!end.aborted && next <= sequenceOf(upTo)) {
      try {
        for await (const { items, sequence } of news.from(next)) {
          failures = 0;
          next = sequence + 1;
          for (const item of items) {
            if (item.pos <= after || item.pos > upTo) continue;
            yield item;
            if (end.aborted) return;
          }
        }
      } catch (error) {
        if (end.aborted) return;
        if (!isSwarmError(error, 'nats-unavailable')) throw error;
        failures += 1;
        news.missed();
        await sleep(clock, pauseMs(failures), end);
        continue;
      }
      if (Number.isFinite(upTo)) return;
      await news.changed(end);
    }
  } finally {
    news.close();
  }
}

/** Messages that were stored and are of interest, each with what it holds. */
type Found = AsyncIterable<{ readonly sequence: number; readonly items: readonly PositionedRecord[] }>;

/** How a follower hears of what is stored. */
interface News {
  /** What is known by now from a sequence on. */
  from(next: number): Found;
  /** Resolves when there may be more than the last `from` had. */
  changed(end: AbortSignal): Promise<void>;
  /** What the last `from` had was not seen to its end. */
  missed(): void;
  close(): void;
}

function newsFor(options: RecordTailOptions): News {
  const { only, upTo } = options;
  return only !== undefined && 'session' in only && upTo === undefined
    ? newsOfSession(options, only.session)
    : newsOfMany(options);
}

/** One session: its messages are passed on, and only gaps are read. */
function newsOfSession(options: RecordTailOptions, session: string): News {
  const { client, subjects, isNew = false, clock } = options;
  const feed = new SessionFeed(client, subjects.passedOn(session), {
    isNew,
    ...(clock === undefined ? {} : { clock }),
  });
  return {
    from(next) {
      const passed = feed.take();
      if (passed === undefined) return readOn(options, next, 0);
      if (!passed.every(isBehind(next))) return readOn(options, next, passed.at(-1)?.sequence ?? 0);
      return handOn(
        passed.filter(({ sequence }) => sequence >= next),
        subjects,
      );
    },
    changed: (end) => feed.changed(end),
    missed: () => feed.lookNext(),
    close: () => feed.close(),
  };
}

/** Whether each message of a list follows on what came before it, the first one on what comes before `next`. */
function isBehind(next: number): (message: PassedMessage) => boolean {
  let wanted = next;
  return ({ sequence, before }) => {
    if (sequence < wanted) return true;
    if (before >= wanted) return false;
    wanted = sequence + 1;
    return true;
  };
}

async function* handOn(messages: readonly PassedMessage[], subjects: LedgerSubjects): Found {
  for (const message of messages) {
    yield { sequence: message.sequence, items: positionedRecords(message, subjects) };
  }
}

/** A tree or everything: who waits is woken by headers, and reads. */
function newsOfMany(options: RecordTailOptions): News {
  const watched = options.watch.on(topicOf(options.only));
  let since = watched.watch.version;
  return {
    from(next) {
      since = watched.watch.version;
      return readOn(options, next, watched.newest());
    },
    // Whatever is stored after the look began wakes it.
    changed: (end) => watched.watch.changed(since, end),
    missed: () => undefined,
    close: () => watched.release(),
  };
}

/** What is stored by now from a sequence on, with what belongs to others passed over. */
async function* readOn(
  { reader, subjects, only, upTo }: RecordTailOptions,
  from: number,
  known: number,
): Found {
  const filter =
    only !== undefined && 'session' in only ? subjects.session(only.session) : subjects.sessions();
  // The copy of the stream that answers may be behind the one that told of a position.
  const newest = upTo === undefined ? known : ((await reader.newest(filter))?.sequence ?? 0);
  for await (const message of readSubject(reader, { filter, from, atLeast: newest })) {
    const { sequence } = message;
    if (upTo !== undefined && sequence > sequenceOf(upTo)) return;
    yield { sequence, items: wantedIn(message, only, subjects) };
  }
}

function wantedIn(
  message: SequencedMessage,
  only: TailScope | undefined,
  subjects: LedgerSubjects,
): readonly PositionedRecord[] {
  if (only === undefined || 'session' in only) return positionedRecords(message, subjects);
  // Mostly the header tells, and records of other trees need not be looked into.
  const root = rootIn(message);
  if (root !== undefined && root !== only.root) return [];
  const items = positionedRecords(message, subjects);
  return items[0]?.record.root === only.root ? items : [];
}

/** What those wait for who follow all records. */
const RECORDS = 'records';

/** By what a record wakes its followers. The last message of an append says which tree it belongs to. */
export function topicsOf(message: Pick<SequencedMessage, 'header'>): readonly string[] {
  const root = rootIn(message);
  return root === undefined ? [RECORDS] : [RECORDS, topicOf({ root })];
}

export function topicOf(only: TailScope | undefined): string {
  if (only === undefined) return RECORDS;
  return 'session' in only ? `session ${only.session}` : `root ${only.root}`;
}

function pauseMs(failures: number): number {
  return Math.min(NATS_LIMITS.maxLedgerBackoffMs, NATS_LIMITS.ledgerBackoffMs * 2 ** failures);
}
