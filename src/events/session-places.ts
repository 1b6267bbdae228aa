import type { Ledger } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { isObserved } from './event-table.ts';

/** What the history of a session says about the place of one of its records. */
export interface SessionPlace {
  /** `seq` of the event before it; 0 if it is the first. */
  readonly prev: number;
  readonly agentPath: readonly string[];
  readonly run: string | undefined;
}

/** Follows sessions record by record, and looks up their beginning where reading starts in the middle. */
export interface SessionPlaces {
  /** A promise only where something must be looked up. */
  at(record: LedgerRecord, isEvent: boolean): SessionPlace | Promise<SessionPlace>;
}

/** Sessions remembered at once; one that was forgotten is looked up again. */
const MAX_SESSIONS = 1_000;

interface Track {
  /** Sequence that comes next. */
  readonly next: number;
  readonly prev: number;
  readonly agentPath: readonly string[];
  /** The turn that is under way and the run it belongs to. */
  readonly turn: string | undefined;
  readonly run: string | undefined;
}

const START: Track = { next: 1, prev: 0, agentPath: [], turn: undefined, run: undefined };

/** Makes {@link SessionPlaces}. Cost of a look-up: one read of the session. */
export function createSessionPlaces(ledger: Pick<Ledger, 'read'>): SessionPlaces {
  const tracks = new Map<string, Track>();

  const known = ({ session, seq }: LedgerRecord): Track | undefined => {
    const track = tracks.get(session);
    if (track?.next === seq) return track;
    return seq === 1 ? START : undefined;
  };

  const lookUp = async ({ session, seq }: LedgerRecord): Promise<Track> => {
    let track = START;
    for (const earlier of await ledger.read(session)) {
      if (earlier.seq >= seq) break;
      track = follow(track, earlier, isObserved(earlier.type));
    }
    return track;
  };

  const placeAfter = (before: Track, record: LedgerRecord, isEvent: boolean): SessionPlace => {
    const after = follow(before, record, isEvent);
    remember(tracks, record.session, after);
    return {
      prev: before.prev,
      agentPath: after.agentPath.length > 0 ? after.agentPath : [record.agent],
      run: record.turn !== undefined && record.turn === after.turn ? after.run : undefined,
    };
  };

  return {
    at(record, isEvent) {
      const before = known(record);
      if (before !== undefined) return placeAfter(before, record, isEvent);
      return lookUp(record).then((track) => placeAfter(track, record, isEvent));
    },
  };
}

function follow(track: Track, record: LedgerRecord, isEvent: boolean): Track {
  const next = { ...track, next: record.seq + 1, prev: isEvent ? record.seq : track.prev };
  switch (record.type) {
    case 'session.opened':
      return { ...next, agentPath: record.data.agentPath };
    case 'turn.opened':
    case 'turn.resumed':
      return { ...next, turn: record.turn, run: record.data.run };
    default:
      return next;
  }
}

/** Keeps the sessions that moved last. */
function remember(tracks: Map<string, Track>, session: string, track: Track): void {
  tracks.delete(session);
  tracks.set(session, track);
  if (tracks.size <= MAX_SESSIONS) return;
  for (const oldest of tracks.keys()) {
    tracks.delete(oldest);
    return;
  }
}
