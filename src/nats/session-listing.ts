import type { SessionSummary } from '../ledger/ledger.ts';
import type { NatsClient } from './client.ts';
import { placeIn, positionOf, type SessionPlace } from './ledger-message.ts';
import { LEDGER_STREAM } from './ledger-streams.ts';
import type { SequencedMessage } from './stream-reader.ts';
import { readLastOfEach } from './subject-messages.ts';

/** A session as its last message has it. */
export interface ListedSession {
  readonly place: SessionPlace;
  readonly summary: Omit<SessionSummary, 'owned'>;
  readonly openedPos: number;
  /** Of that message. */
  readonly sequence: number;
}

/**
 * All sessions with a record, oldest first, out of the last message of each. One that is damaged there is left out, and
 * hides no other: reading it tells what is wrong with it.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function listSessions(client: NatsClient, filter: string): Promise<readonly ListedSession[]> {
  const last = await readLastOfEach(client, LEDGER_STREAM, filter);
  const prefix = filter.length - 1;
  // Ids of sessions are tokens as they are.
  const found = last.flatMap((message) => listedSession(message.subject.slice(prefix), message) ?? []);
  return found.sort(oldestFirst);
}

export function oldestFirst(left: ListedSession, right: ListedSession): number {
  return left.place.openedAt - right.place.openedAt || left.openedPos - right.openedPos;
}

/** A session by its last message; undefined where it has no record, or is damaged there. */
export function listedSession(session: string, last: SequencedMessage): ListedSession | undefined {
  const place = placeIn(last);
  if (place === undefined || place.seq === 0) return undefined;
  // The append that brings the first record cannot know where it will stand.
  const openedPos = place.openedPos ?? positionOf(last.sequence, 0);
  return { place, summary: summaryOf(session, place), openedPos, sequence: last.sequence };
}

function summaryOf(sessionId: string, place: SessionPlace): Omit<SessionSummary, 'owned'> {
  const { root, parent, agent, seq, hash, epoch, openedAt, updatedAt, openTurn } = place;
  return {
    sessionId,
    rootId: root,
    ...(parent === undefined ? {} : { parentId: parent }),
    agent,
    head: { seq, hash, epoch },
    openedAt,
    updatedAt,
    ...(openTurn === undefined ? {} : { openTurn }),
  };
}
