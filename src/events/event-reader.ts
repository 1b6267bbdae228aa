import { isSwarmError } from '../errors.ts';
import type { Ledger, PositionedRecord, TailScope } from '../ledger/ledger.ts';
import { type ContentPolicy, createProjector } from './event-projector.ts';
import type { RunEvent } from './event-schemas.ts';
import type { Redactor } from './redaction.ts';

/** What to read of a ledger as events. */
export interface ReadEventsOptions {
  readonly session: string;
  /** Root of the session's tree. Default: the session itself. */
  readonly root?: string;
  /** Reads every session of the tree, in commit order. Default false: the session alone. */
  readonly tree?: boolean;
  /** Ledger position after which to read, where `from` says nothing. Default 0: from the beginning. */
  readonly after?: number;
  /** Sequence of the session at which to begin; with `tree` a ledger position after which to (an event's `cursor`). */
  readonly from?: number;
  /**
   * Resolves when nothing more is to come, with the last ledger position that belongs to it; reading ends there.
   * Never given, or rejected, = reading ends with the signal or the ledger.
   */
  readonly until?: Promise<number>;
  /** Ends the reading at once. */
  readonly signal?: AbortSignal;
  /** Which events carry content. Default none. */
  readonly content?: ContentPolicy;
  readonly redactor?: Redactor;
}

/**
 * The events of a session or of a tree of sessions, without gap or duplicate, history first and then live.
 * Pull-based: nothing is queued for a reader, so a slow one costs no memory and delays nothing; any number may
 * read at once. Beginning in the middle costs one look at what stands before.
 *
 * @throws SwarmError 'ledger-corrupt', 'ledger-unavailable', 'ledger-closed' as the ledger does
 */
export async function* readEvents(
  ledger: Ledger,
  options: ReadEventsOptions,
): AsyncGenerator<RunEvent, void> {
  const { projectorOptions, start, only, wants } = readPlan(options);
  if (options.signal?.aborted === true) return;
  const projector = createProjector(ledger, projectorOptions);
  const end = createEnd(options);
  let seen = start;
  try {
    for (const part of ['live', 'rest'] as const) {
      if (part === 'rest' && (seen >= end.last || !Number.isFinite(end.last))) return;
      const rest = { only, upTo: end.last };
      const records =
        part === 'live' ? ledger.tail(seen, end.liveSignal, { only }) : ledger.tail(seen, end.signal, rest);
      for await (const positioned of records) {
        if (positioned.pos > end.last) break;
        seen = positioned.pos;
        const event = wants(positioned) ? await projector.project(positioned) : undefined;
        if (event !== undefined) yield event;
      }
    }
  } catch (error) {
    // A ledger that is closed ends its readers, wherever they are.
    if (!isSwarmError(error, 'ledger-closed') || !Number.isFinite(end.last)) throw error;
  } finally {
    end.dispose();
  }
}

function readPlan(options: ReadEventsOptions) {
  const { session, root = session, tree = false, after = 0, from, content, redactor } = options;
  const only: TailScope = tree ? { root } : { session };
  const wants = ({ record }: PositionedRecord) => tree || record.seq >= (from ?? 1);
  const projectorOptions = {
    ...(content !== undefined && { content }),
    ...(redactor !== undefined && { redactor }),
  };
  // A sequence says nothing of its position, so what lies before it is passed over from the beginning.
  const start = from === undefined ? after : tree ? from : 0;
  return { projectorOptions, start, only, wants };
}

/** Knows when reading is over: by the signal, or because the last position is known. */
function createEnd({ until, signal }: ReadEventsOptions) {
  const over = new AbortController();
  const live = new AbortController();
  const stop = () => {
    over.abort();
    live.abort();
  };
  let last = Number.POSITIVE_INFINITY;
  signal?.addEventListener('abort', stop, { once: true });
  until?.then(
    (position) => {
      last = position;
      // What is waited for may never come.
      live.abort();
    },
    () => undefined,
  );
  return {
    signal: over.signal,
    liveSignal: live.signal,
    get last() {
      return last;
    },
    dispose() {
      signal?.removeEventListener('abort', stop);
      stop();
    },
  };
}
