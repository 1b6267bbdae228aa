import { isSwarmError } from '../errors.ts';
import type { PositionedRecord } from '../ledger/ledger.ts';
import { recordCodec } from '../ledger/record-codec.ts';
import { ownershipKind, positionOf, rowsIn, rowsOf, seqOf } from './ledger-message.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import type { SequencedMessage, StreamReader } from './stream-reader.ts';
import { readSubject } from './subject-messages.ts';

/**
 * Messages looked at first where the newest of all is no record; four times as many each time after. Of those of a turn
 * every third is none, and every run looks.
 */
const FIRST_SPAN = 4;

/**
 * Place of the newest record; 0 where there is none.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function newestRecordPosition(reader: StreamReader, subjects: LedgerSubjects): Promise<number> {
  const filter = subjects.sessions();
  const newest = await reader.newest(filter);
  const last = newest === undefined ? 0 : lastPositionIn(newest);
  if (newest === undefined || last > 0) return last;
  // Claims and releases stand between records and are none.
  for (let span = FIRST_SPAN; ; span *= 4) {
    const from = Math.max(1, newest.sequence - span);
    let found = 0;
    for await (const message of readSubject(reader, { filter, from, atLeast: newest.sequence })) {
      found = lastPositionIn(message) || found;
    }
    if (found > 0 || from === 1) return found;
  }
}

/** 0 for a message without records. */
function lastPositionIn(message: SequencedMessage): number {
  const rows = ownershipKind(message) === undefined ? rowsIn(message) : undefined;
  return rows === undefined ? 0 : positionOf(message.sequence, rows.length - 1);
}

/**
 * The records of a message with their positions; none for a claim, and for what is damaged: who reads its session is
 * told, and all others are read on.
 * @throws SwarmError 'ledger-newer-schema'
 */
export function positionedRecords(
  message: SequencedMessage,
  subjects: LedgerSubjects,
): readonly PositionedRecord[] {
  if (ownershipKind(message) !== undefined) return [];
  const { sequence } = message;
  const session = message.subject.slice(subjects.sessions().length - 1);
  const first = seqOf(message);
  // That no record is left out is for who reads the session whole to see.
  try {
    return rowsOf(message, `session ${session}, message ${sequence}`).map((row, index) => ({
      pos: positionOf(sequence, index),
      record: recordCodec.open(row, { session, seq: first + index }),
    }));
  } catch (error) {
    if (isSwarmError(error, 'ledger-corrupt')) return [];
    throw error;
  }
}
