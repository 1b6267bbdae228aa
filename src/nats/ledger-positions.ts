import type { PositionedRecord } from '../ledger/ledger.ts';
import { recordCodec } from '../ledger/record-codec.ts';
import { ownershipKind, rowOf, seqOf } from './ledger-message.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import type { SequencedMessage, StreamReader } from './stream-reader.ts';
import { readSubject } from './subject-messages.ts';

/** Messages looked at first where the newest of all is no record; four times as many each time after. */
const FIRST_SPAN = 64;

/**
 * Place of the newest record; 0 where there is none.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function newestRecordPosition(reader: StreamReader, subjects: LedgerSubjects): Promise<number> {
  const filter = subjects.sessions();
  const newest = await reader.newest(filter);
  if (newest === undefined) return 0;
  if (ownershipKind(newest) === undefined) return newest.sequence;
  // Claims and releases stand between records and are none.
  for (let span = FIRST_SPAN; ; span *= 4) {
    const from = Math.max(1, newest.sequence - span);
    let found = 0;
    for await (const message of readSubject(reader, { filter, from, atLeast: newest.sequence })) {
      if (ownershipKind(message) === undefined) found = message.sequence;
    }
    if (found > 0 || from === 1) return found;
  }
}

/** The record of a message with its place; undefined for a claim. @throws SwarmError 'ledger-corrupt' */
export function positionedRecord(
  message: SequencedMessage,
  subjects: LedgerSubjects,
): PositionedRecord | undefined {
  if (ownershipKind(message) !== undefined) return undefined;
  const session = message.subject.slice(subjects.sessions().length - 1);
  const row = rowOf(message, `session ${session}, message ${message.sequence}`);
  // The hash covers the sequence; that no record is left out is for who reads the session whole to see.
  const record = recordCodec.open(row, { session, seq: seqOf(message) });
  return { pos: message.sequence, record };
}
