import type { SessionSummary } from '../ledger/ledger.ts';
import type { NatsClient } from './client.ts';
import { placeIn, positionOf, type SessionPlace } from './ledger-message.ts';
import { LEDGER_STREAM } from './ledger-streams.ts';
import { readLastOfEach } from './subject-messages.ts';

/** A session as its last message has it. */
export interface ListedSession {
  readonly place: SessionPlace;
  readonly summary: Omit<SessionSummary, 'owned'>;
}

/**
 * All sessions with a record, oldest first, out of the last message of each. One that is damaged there is left out, and
 * hides no other: reading it tells what is wrong with it.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function listSessions(client: NatsClient, filter: string): Promise<readonly ListedSession[]> {
  const last = await readLastOfEach(client, LEDGER_STREAM, filter);
  const prefix = filter.length - 1;
  const found = last.flatMap((message) => {
    // Ids of sessions are tokens as they are.
    const session = message.subject.slice(prefix);
    const place = placeIn(message);
    if (place === undefined) return [];
    // The append that brings the first record cannot know where it will stand.
    const openedPos = place.openedPos ?? positionOf(message.sequence, 0);
    return [{ place, summary: summaryOf(session, place), openedPos }];
  });
  return found
    .filter(({ place }) => place.seq > 0)
    .sort((left, right) => left.place.openedAt - right.place.openedAt || left.openedPos - right.openedPos);
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
