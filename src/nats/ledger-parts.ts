import type { Limits } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { createGuardedPublisher } from './guarded-publish.ts';
import { createLedgerArtifactStore, type LedgerArtifactStore } from './ledger-artifact-store.ts';
import { LedgerCursors } from './ledger-cursors.ts';
import { LedgerInbox } from './ledger-inbox.ts';
import { LedgerOwner } from './ledger-owner.ts';
import { LEDGER_STREAM, MAILBOX_STREAM, OWNER_STREAM } from './ledger-streams.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import { OpenSessions } from './open-sessions.ts';
import { topicsOf } from './record-tail.ts';
import { SessionClaims } from './session-claims.ts';
import { createSteady, type Steady } from './steady.ts';
import { createStreamReader, type StreamReader } from './stream-reader.ts';
import { StreamWatch } from './stream-watch.ts';

export interface LedgerPartsOptions {
  readonly client: NatsClient;
  readonly subjects: LedgerSubjects;
  readonly limits: Limits;
  readonly leaseMs: number;
  /** Aborts when the ledger closes. */
  readonly closing: AbortSignal;
  /** Called when others may take over the sessions of this process. */
  onExpired(): void;
}

/** What a ledger on JetStream is put together from. */
export interface LedgerParts {
  readonly client: NatsClient;
  readonly subjects: LedgerSubjects;
  readonly steady: Steady;
  readonly records: StreamReader;
  readonly recordWatch: StreamWatch;
  readonly openSessions: OpenSessions;
  readonly owner: LedgerOwner;
  readonly claims: SessionClaims;
  readonly inbox: LedgerInbox;
  readonly cursors: LedgerCursors;
  readonly artifacts: LedgerArtifactStore;
  /** Ends what listens and gives signs of life, once nothing is on its way any more. Leaves the client open. */
  close(): Promise<void>;
}

export function createLedgerParts(options: LedgerPartsOptions): LedgerParts {
  const { client, subjects, limits, closing } = options;
  const withinMs = limits.timeouts.commitMs;
  const steady = createSteady({ client, closing, withinMs });
  const records = createStreamReader(client, LEDGER_STREAM);
  const owner = new LedgerOwner(options);
  const recordWatch = new StreamWatch({
    client,
    stream: LEDGER_STREAM,
    filter: subjects.sessions(),
    keysOf: topicsOf,
  });
  const claims = new SessionClaims({
    reader: records,
    publisher: createGuardedPublisher({ client, reader: records }),
    subjects,
    withinMs,
    owner: owner.token,
    isAlive: (token) => owner.isAlive(token),
    maxPayload: payloadBoundOf(client),
    steady,
  });
  const places = createStreamReader(client, OWNER_STREAM);
  const publisher = createGuardedPublisher({ client, reader: places });
  const mailbox = createMailbox(options, steady);
  return {
    client,
    subjects,
    steady,
    records,
    recordWatch,
    openSessions: new OpenSessions({ client, reader: records, subjects }),
    owner,
    claims,
    inbox: mailbox.inbox,
    cursors: new LedgerCursors({ reader: places, publisher, subjects, withinMs }),
    artifacts: createLedgerArtifactStore(client, subjects.ns, limits.ledger.maxArtifactBytes),
    async close() {
      await owner.end();
      await Promise.all([recordWatch.close(), mailbox.close()]);
      records.close();
      places.close();
    },
  };
}

function createMailbox({ client, subjects, limits, closing }: LedgerPartsOptions, steady: Steady) {
  const reader = createStreamReader(client, MAILBOX_STREAM);
  const watch = new StreamWatch({
    client,
    stream: MAILBOX_STREAM,
    filter: subjects.allMessages(),
    keysOf: ({ subject }) => [subjects.mailboxOf(subject)],
  });
  const inbox = new LedgerInbox({
    reader,
    publisher: createGuardedPublisher({ client, reader }),
    watch,
    subjects,
    maxWaiting: limits.mailbox,
    withinMs: limits.timeouts.commitMs,
    isClosed: () => closing.aborted,
    steady,
  });
  const close = async () => {
    await watch.close();
    reader.close();
  };
  return { inbox, close };
}

/** What the server takes, as it last said: it is asked for while the server is away too. */
function payloadBoundOf(client: NatsClient): () => number {
  let known = client.server?.maxPayload ?? Number.POSITIVE_INFINITY;
  return () => {
    known = client.server?.maxPayload ?? known;
    return known;
  };
}
