import type { LedgerRecord } from '../../src/ledger/records.ts';
import { ownershipKind, rowsOf } from '../../src/nats/ledger-message.ts';
import { LEDGER_STREAM } from '../../src/nats/ledger-streams.ts';
import { createLedgerSubjects } from '../../src/nats/ledger-subjects.ts';
import { createStreamReader } from '../../src/nats/stream-reader.ts';
import { readSubject } from '../../src/nats/subject-messages.ts';
import type { SwarmWitness } from '../invariants/witness.ts';
import { storedEvents } from '../nats/stored-events.ts';
import { type Pool, SECRET } from './pool.ts';
import { queuedTurns } from './queue.ts';
import type { SpyLine } from './tasks.ts';
import type { Watch } from './watch.ts';

const BOUNDS = { depth: 3, fanOut: 8, gated: new Set(['erase']) };

/** Everything that was seen of a pool whose workers have ended. */
export async function witnessOf(
  pool: Pool,
  watch: Watch,
  exitCodes: readonly (number | null)[],
): Promise<SwarmWitness> {
  const { ledger, ns, server, workers } = pool;
  const summaries = await ledger.sessions();
  const sessions = new Map<string, readonly LedgerRecord[]>();
  for (const { sessionId } of summaries) sessions.set(sessionId, await ledger.read(sessionId));
  const lines = pool.spy.read();
  const openings = sessionsByInput(sessions);
  return {
    sessions,
    storedAt: await storageTimes(pool),
    told: watch.told.map(({ session, seq, hash }) => ({ session, seq, hash })),
    requests: requestsIn(lines).map(({ at, messages }) => ({
      session: openings.get(messages[0]?.text ?? '') ?? 'unknown',
      at,
      messages,
    })),
    entries: entriesIn(lines),
    events: await storedEvents(server.url, `swm.v1.${ns}.evt.>`),
    delivered: watch.delivered,
    bounds: BOUNDS,
    secrets: [SECRET],
    said: workers.map((worker) => worker.said()).join('\n'),
    remains: {
      open: (await ledger.listOpen()).map(({ sessionId }) => sessionId),
      owned: summaries.filter(({ owned }) => owned).map(({ sessionId }) => sessionId),
      queued: await queuedTurns(pool),
      exitCodes,
    },
  };
}

type Requested = Extract<SpyLine, { readonly what: 'requested' }>;
type Entered = Exclude<SpyLine, Requested>;

function requestsIn(lines: readonly SpyLine[]): readonly Requested[] {
  return lines.filter((line) => line.what === 'requested');
}

function entriesIn(lines: readonly SpyLine[]): readonly Entered[] {
  return lines.filter((line): line is Entered => line.what === 'entered');
}

/** The session that a text is the input of. */
function sessionsByInput(
  sessions: ReadonlyMap<string, readonly LedgerRecord[]>,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [session, records] of sessions) {
    for (const { type, data } of records) {
      const [part] = type === 'turn.opened' ? data.input : [];
      if (part?.type === 'text') found.set(part.text, session);
    }
  }
  return found;
}

/** When the server had each record, by its id. */
async function storageTimes({ client, ns }: Pool): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>();
  const reader = createStreamReader(client, LEDGER_STREAM);
  const filter = createLedgerSubjects({ ns }).sessions();
  for await (const message of readSubject(reader, { filter, from: 1, atLeast: 0 })) {
    if (ownershipKind(message) !== undefined) continue;
    const at = Date.parse(message.header('Nats-Time-Stamp') ?? '');
    for (const { text } of rowsOf(message, message.subject)) {
      // The ledger verified what it stored here.
      const { id } = JSON.parse(text) as Pick<LedgerRecord, 'id'>;
      times.set(id, at);
    }
  }
  reader.close();
  return times;
}
