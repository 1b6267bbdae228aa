import { type Clock, sleep, systemClock } from '../clock.ts';
import { isSwarmError } from '../errors.ts';
import type { PositionedRecord, TailOptions, TailScope } from '../ledger/ledger.ts';
import { NATS_LIMITS } from '../limits.ts';
import { rootIn, sequenceOf } from './ledger-message.ts';
import { positionedRecords } from './ledger-positions.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import type { SequencedMessage, StreamReader } from './stream-reader.ts';
import type { StreamWatch } from './stream-watch.ts';
import { readSubject } from './subject-messages.ts';

export interface RecordTailOptions extends TailOptions {
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
  const { watch, end, only, after, upTo = Number.POSITIVE_INFINITY, clock = systemClock } = options;
  const watched = watch.on(topicOf(only));
  // A message may hold more records than the one that was seen last.
  let next = Math.max(1, sequenceOf(after));
  let failures = 0;
  try {
    while (!end.aborted && next <= sequenceOf(upTo)) {
      const since = watched.watch.version;
      try {
        for await (const { items, sequence } of readOn(options, next, watched.newest())) {
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
        await sleep(clock, pauseMs(failures), end);
        continue;
      }
      if (Number.isFinite(upTo)) return;
      // Whatever is stored after this look began wakes it.
      await watched.watch.changed(since, end);
    }
  } finally {
    watched.release();
  }
}

/** What is stored by now from a sequence on, with what belongs to others passed over. */
async function* readOn({ reader, subjects, only, upTo }: RecordTailOptions, from: number, known: number) {
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
export function topicsOf(
  message: Pick<SequencedMessage, 'subject' | 'header'>,
  subjects: LedgerSubjects,
): readonly string[] {
  const session = message.subject.slice(subjects.sessions().length - 1);
  const root = rootIn(message);
  const own = [RECORDS, topicOf({ session })];
  return root === undefined ? own : [...own, topicOf({ root })];
}

export function topicOf(only: TailScope | undefined): string {
  if (only === undefined) return RECORDS;
  return 'session' in only ? `session ${only.session}` : `root ${only.root}`;
}

function pauseMs(failures: number): number {
  return Math.min(NATS_LIMITS.maxLedgerBackoffMs, NATS_LIMITS.ledgerBackoffMs * 2 ** failures);
}
