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

/** Sessions after which a generation of them gives way; two are remembered. One that was forgotten is looked up again. */
const MAX_SESSIONS = 1_000;

/** Changed in place: there is one for each session, and each of its records moves it. */
interface Track {
  /** Sequence that comes next. */
  next: number;
  prev: number;
  agentPath: readonly string[];
  /** The turn that is under way and the run it belongs to. */
  turn: string | undefined;
  run: string | undefined;
}

/** Makes {@link SessionPlaces}. Cost of a look-up: one read of the session. */
export function createSessionPlaces(ledger: Pick<Ledger, 'read'>): SessionPlaces {
  const tracks = createTracks();

  const lookUp = async ({ session, seq }: LedgerRecord): Promise<Track> => {
    const track = newTrack();
    for (const earlier of await ledger.read(session)) {
      if (earlier.seq >= seq) break;
      follow(track, earlier, isObserved(earlier.type));
    }
    return track;
  };

  const placeAfter = (track: Track, record: LedgerRecord, isEvent: boolean): SessionPlace => {
    const { prev } = track;
    follow(track, record, isEvent);
    return {
      prev,
      agentPath: track.agentPath.length > 0 ? track.agentPath : [record.agent],
      run: record.turn !== undefined && record.turn === track.turn ? track.run : undefined,
    };
  };

  return {
    at(record, isEvent) {
      const { session, seq } = record;
      const known = tracks.find(session);
      if (known?.next === seq) return placeAfter(known, record, isEvent);
      if (seq === 1) return placeAfter(tracks.keep(session, newTrack()), record, isEvent);
      return lookUp(record).then((track) => placeAfter(tracks.keep(session, track), record, isEvent));
    },
  };
}

function newTrack(): Track {
  return { next: 1, prev: 0, agentPath: [], turn: undefined, run: undefined };
}

function follow(track: Track, record: LedgerRecord, isEvent: boolean): void {
  track.next = record.seq + 1;
  if (isEvent) track.prev = record.seq;
  if (record.type === 'session.opened') {
    track.agentPath = record.data.agentPath;
  } else if (record.type === 'turn.opened' || record.type === 'turn.resumed') {
    track.turn = record.turn;
    track.run = record.data.run;
  }
}

/** Keeps the sessions that moved last, roughly: to put one in its order for each of its records would cost more. */
function createTracks() {
  let young = new Map<string, Track>();
  let old = young;
  const keep = (session: string, track: Track): Track => {
    if (young.size >= MAX_SESSIONS) {
      old = young;
      young = new Map();
    }
    young.set(session, track);
    return track;
  };
  return {
    keep,
    find(session: string): Track | undefined {
      const known = young.get(session);
      if (known !== undefined) return known;
      const older = old.get(session);
      return older === undefined ? undefined : keep(session, older);
    },
  };
}
