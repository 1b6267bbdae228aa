import type { Ledger, PositionedRecord } from '../ledger/ledger.ts';
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
  const { projectorOptions, start, wants } = readPlan(options);
  if (options.signal?.aborted === true) return;
  const projector = createProjector(ledger, projectorOptions);
  const end = createEnd(options, start);
  try {
    for await (const positioned of ledger.tail(start, end.signal)) {
      if (end.isPast(positioned.pos)) return;
      const event = wants(positioned) ? await projector.project(positioned) : undefined;
      if (event !== undefined) yield event;
      if (end.reached(positioned.pos)) return;
    }
  } finally {
    end.dispose();
  }
}

function readPlan(options: ReadEventsOptions) {
  const { session, root = session, tree = false, after = 0, from, content, redactor } = options;
  const wants = ({ record }: PositionedRecord) =>
    tree ? record.root === root : record.session === session && record.seq >= (from ?? 1);
  const projectorOptions = {
    ...(content !== undefined && { content }),
    ...(redactor !== undefined && { redactor }),
  };
  // A sequence says nothing of its position, so what lies before it is passed over from the beginning.
  const start = from === undefined ? after : tree ? from : 0;
  return { projectorOptions, start, wants };
}

/** Knows when reading is over: by the signal, or because the last position was passed. */
function createEnd({ until, signal }: ReadEventsOptions, start: number) {
  const controller = new AbortController();
  const stop = () => controller.abort();
  let seen = start;
  let last = Number.POSITIVE_INFINITY;
  signal?.addEventListener('abort', stop, { once: true });
  until?.then(
    (position) => {
      last = position;
      // The tail may be waiting for a record that will never come.
      if (seen >= last) stop();
    },
    () => undefined,
  );
  return {
    signal: controller.signal,
    isPast: (position: number) => position > last,
    reached(position: number): boolean {
      seen = Math.max(seen, position);
      return seen >= last;
    },
    dispose() {
      signal?.removeEventListener('abort', stop);
      stop();
    },
  };
}
