import { type Clock, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { checkAppend, rejectStale } from '../ledger/append-rules.ts';
import type { ArtifactRef } from '../ledger/content.ts';
import { unanswered } from '../ledger/inbox-rules.ts';
import type {
  Head,
  InboxItem,
  InboxReply,
  Ledger,
  LedgerWriter,
  PositionedRecord,
  SessionSummary,
  TailOptions,
} from '../ledger/ledger.ts';
import type { LedgerRecord, SessionIdentity } from '../ledger/records.ts';
import { checkIdentity, unknownSession } from '../ledger/session-identity.ts';
import { type AppendOrder, type CommitOutcome, SessionWriter } from '../ledger/session-writer.ts';
import { DEFAULT_LIMITS, type Limits, NATS_LIMITS } from '../limits.ts';
import type { NatsClient } from './client.ts';
import { type Connection, openConnection } from './connection.ts';
import { createGuardedPublisher } from './guarded-publish.ts';
import { createLedgerArtifactStore, type LedgerArtifactStore } from './ledger-artifact-store.ts';
import { LedgerCursors } from './ledger-cursors.ts';
import { assertFitForLedger } from './ledger-fit.ts';
import { LedgerInbox } from './ledger-inbox.ts';
import { placeOf } from './ledger-message.ts';
import { LedgerOwner } from './ledger-owner.ts';
import { newestRecordPosition } from './ledger-positions.ts';
import { LEDGER_STREAM, MAILBOX_STREAM, OWNER_STREAM } from './ledger-streams.ts';
import { createLedgerSubjects, type LedgerSubjects } from './ledger-subjects.ts';
import { tailRecords, topicOf, topicsOf } from './record-tail.ts';
import { type ClaimedSession, SessionClaims } from './session-claims.ts';
import { SessionLanes } from './session-lanes.ts';
import { type ListedSession, listSessions } from './session-listing.ts';
import { readSession } from './session-reading.ts';
import { createSteady, ledgerClosed, type Steady } from './steady.ts';
import { createStreamReader, type StreamReader } from './stream-reader.ts';
import { StreamWatch } from './stream-watch.ts';
import type { SubjectOptions } from './subjects.ts';

/** Time a ledger has to find its server when it is opened. */
const OPEN_MS = 10_000;

/** Options of {@link jetstreamLedger}. */
export interface JetStreamLedgerOptions extends SubjectOptions {
  /** A connection, which others may use too, or how to make one. */
  readonly connection: Connection;
  /**
   * Silence after which others may take over the sessions of a process that ended without a word. Whole seconds, as the
   * server counts them. Default 30,000.
   */
  readonly leaseMs?: number;
  /**
   * What an acknowledged append survives. The server does not tell: `full` (default) is true where it flushes before it
   * acknowledges (`sync_interval: always`, as in `nats.conf`), or keeps copies on several machines; else say `process`.
   */
  readonly durability?: 'process' | 'full';
  readonly clock?: Clock;
  readonly limits?: Limits;
}

/**
 * A ledger on NATS JetStream, for as many processes as one likes: each session has one writer at a time, and a new one
 * shuts out the old one with its first message. While the server is away appends are tried again, for
 * `limits.timeouts.commitMs`. The streams are made by `provision`, never here.
 *
 * @throws SwarmError 'nats-unsuitable' for a server before 2.12.1 or without the streams; 'nats-unavailable';
 * 'nats-insecure', 'invalid-definition'
 * @example
 * await using ledger = await jetstreamLedger({ connection: 'nats://127.0.0.1:4222' });
 */
export async function jetstreamLedger(options: JetStreamLedgerOptions): Promise<Ledger> {
  const { leaseMs = NATS_LIMITS.leaseMs } = options;
  if (!Number.isInteger(leaseMs) || leaseMs < 1_000 || leaseMs % 1_000 !== 0) {
    throw new SwarmError('invalid-definition', 'leaseMs is a whole number of seconds, at least 1,000');
  }
  const subjects = createLedgerSubjects(options);
  const { client, isOwn } = openConnection(options.connection);
  try {
    await assertFitForLedger(client, options.subjectRoot, AbortSignal.timeout(OPEN_MS));
  } catch (error) {
    if (isOwn) await client.close();
    throw error;
  }
  return new JetStreamLedger({ ...options, leaseMs, client, isOwn, subjects });
}

interface LedgerParts extends JetStreamLedgerOptions {
  readonly leaseMs: number;
  readonly client: NatsClient;
  readonly isOwn: boolean;
  readonly subjects: LedgerSubjects;
}

class JetStreamLedger implements Ledger {
  readonly durability: 'process' | 'full';
  readonly #client: NatsClient;
  readonly #isOwnClient: boolean;
  readonly #subjects: LedgerSubjects;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #closing = new AbortController();
  readonly #steady: Steady;
  readonly #readers: { readonly [K in 'records' | 'messages' | 'owners']: StreamReader };
  readonly #records: StreamWatch;
  readonly #messages: StreamWatch;
  readonly #owner: LedgerOwner;
  readonly #claims: SessionClaims;
  readonly #inbox: LedgerInbox;
  readonly #cursors: LedgerCursors;
  readonly #artifacts: LedgerArtifactStore;
  readonly #lanes = new SessionLanes();
  /** Sessions of this ledger, from the call of `acquire` on. */
  readonly #held = new Map<string, HeldSession | 'acquiring'>();
  #maxPayload: number;
  #closed: Promise<void> | undefined;

  constructor(parts: LedgerParts) {
    const { client, subjects, leaseMs, limits = DEFAULT_LIMITS } = parts;
    this.durability = parts.durability ?? 'full';
    this.#client = client;
    this.#isOwnClient = parts.isOwn;
    this.#subjects = subjects;
    this.#clock = parts.clock ?? systemClock;
    this.#limits = limits;
    this.#maxPayload = client.server?.maxPayload ?? 0;
    const withinMs = limits.timeouts.commitMs;
    const steady = createSteady({ client, closing: this.#closing.signal, withinMs });
    this.#steady = steady;
    const [records, messages, owners] = [LEDGER_STREAM, MAILBOX_STREAM, OWNER_STREAM].map((stream) =>
      createStreamReader(client, stream),
    ) as [StreamReader, StreamReader, StreamReader];
    this.#readers = { records, messages, owners };
    this.#records = new StreamWatch({
      client,
      stream: LEDGER_STREAM,
      filter: subjects.sessions(),
      keysOf: (message) => topicsOf(message, subjects),
    });
    this.#messages = new StreamWatch({
      client,
      stream: MAILBOX_STREAM,
      filter: subjects.allMessages(),
      keysOf: ({ subject }) => [subjects.mailboxOf(subject)],
    });
    this.#owner = new LedgerOwner({ client, subjects, leaseMs, onExpired: () => this.#letGo() });
    const publisherOn = (reader: StreamReader) => createGuardedPublisher({ client, reader });
    this.#claims = new SessionClaims({
      reader: records,
      publisher: publisherOn(records),
      subjects,
      withinMs,
      owner: this.#owner.token,
      isAlive: (owner) => this.#owner.isAlive(owner),
      maxPayload: () => (this.#maxPayload = client.server?.maxPayload ?? this.#maxPayload),
      steady,
    });
    this.#inbox = new LedgerInbox({
      reader: messages,
      publisher: publisherOn(messages),
      watch: this.#messages,
      subjects,
      maxWaiting: limits.mailbox,
      withinMs,
      isClosed: () => this.#closing.signal.aborted,
      steady,
    });
    this.#cursors = new LedgerCursors({
      reader: owners,
      publisher: publisherOn(owners),
      subjects,
      withinMs,
    });
    this.#artifacts = createLedgerArtifactStore(client, subjects.ns, limits.ledger.maxArtifactBytes);
  }

  async acquire(identity: SessionIdentity): Promise<LedgerWriter> {
    this.#assertOpen();
    const checked = checkIdentity(identity);
    const { session } = checked;
    if (this.#held.has(session)) throw ownedElsewhere(session, 'this ledger handed it out');
    this.#held.set(session, 'acquiring');
    try {
      const held = await this.#lanes.run(session, () => this.#acquire(checked));
      this.#held.set(session, held);
      return held.writer;
    } catch (cause) {
      this.#held.delete(session);
      throw cause;
    }
  }

  async read(session: string, fromSeq = 1): Promise<readonly LedgerRecord[]> {
    this.#assertOpen();
    return this.#steady(() => {
      const held = this.#held.get(session);
      const state = typeof held === 'object' ? held.claimed.state : this.#claims.known(session);
      const filter = this.#subjects.session(session);
      return readSession(this.#readers.records, { session, filter, fromSeq, state });
    });
  }

  async head(session: string): Promise<Head | undefined> {
    this.#assertOpen();
    const held = this.#held.get(session);
    // The copy of the stream that answers may not have the newest append yet; its writer does.
    if (typeof held === 'object') return held.writer.head.seq === 0 ? undefined : held.writer.head;
    const last = await this.#steady(() => this.#readers.records.last(this.#subjects.session(session)));
    if (last === undefined) return undefined;
    const { seq, hash, epoch } = placeOf(last, `session ${session}`);
    return seq === 0 ? undefined : { seq, hash, epoch };
  }

  async sessions(root?: string): Promise<readonly SessionSummary[]> {
    return this.#list(({ place }) => root === undefined || place.root === root);
  }

  async listOpen(): Promise<readonly SessionSummary[]> {
    return this.#list(({ place }) => place.openTurn !== undefined);
  }

  tail(after: number, signal: AbortSignal, options?: TailOptions): AsyncIterable<PositionedRecord> {
    this.#assertOpen();
    return tailRecords({
      ...options,
      reader: this.#readers.records,
      subjects: this.#subjects,
      watch: this.#records,
      after,
      end: AbortSignal.any([signal, this.#closing.signal]),
    });
  }

  async position(): Promise<number> {
    this.#assertOpen();
    return this.#steady(() => newestRecordPosition(this.#readers.records, this.#subjects));
  }

  async putArtifact(bytes: Uint8Array, mediaType: string): Promise<ArtifactRef> {
    this.#assertOpen();
    // Its own copy at once: the caller may go on to write into the bytes.
    const own = Uint8Array.from(bytes);
    return this.#steady(() => this.#artifacts.put(own, mediaType));
  }

  async getArtifact(ref: ArtifactRef): Promise<Uint8Array> {
    this.#assertOpen();
    return this.#steady(() => this.#artifacts.get(ref));
  }

  async post(item: InboxItem, signal: AbortSignal): Promise<InboxReply> {
    this.#assertOpen();
    if (signal.aborted) throw unanswered(item, false);
    if ((await this.head(item.session)) === undefined) throw unknownSession(item.session);
    return this.#inbox.post(item, signal);
  }

  inbox(session: string, signal: AbortSignal): AsyncIterable<InboxItem> {
    this.#assertOpen();
    return this.#inbox.follow(session, signal);
  }

  async reply(item: InboxItem, reply: InboxReply): Promise<void> {
    this.#assertOpen();
    await this.#inbox.reply(item, reply);
  }

  async cursor(name: string): Promise<number | undefined> {
    this.#assertOpen();
    return this.#steady(() => this.#cursors.find(name));
  }

  async moveCursor(name: string, position: number): Promise<void> {
    this.#assertOpen();
    await this.#steady(() => this.#cursors.move(name, position));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    for (const held of [...this.#held.values()]) {
      if (typeof held === 'object') held.writer.lose(ledgerClosed());
    }
    // What was sent is stored before it is told that this owner is gone, which gives all its sessions up.
    await this.#lanes.idle();
    await this.#owner.end();
    await Promise.all([this.#records.close(), this.#messages.close()]);
    for (const reader of Object.values(this.#readers)) reader.close();
    if (this.#isOwnClient) await this.#client.close();
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw ledgerClosed();
  }

  async #acquire(wanted: SessionIdentity): Promise<HeldSession> {
    await this.#steady(() => this.#owner.begin());
    const claimed = await this.#claims.claim(wanted);
    if (claimed.type === 'owned') throw ownedElsewhere(wanted.session, `the process ${claimed.owner}`);
    this.#assertOpen();
    const { state, claim } = claimed;
    const { session } = claim.identity;
    const options = { ...claim, head: state.head, clock: this.#clock, limits: this.#limits };
    const writer = new SessionWriter(options, {
      assertOpen: () => this.#assertOpen(),
      commit: (order) => this.#lanes.run(session, () => this.#commit(claimed, order)),
      release: () => this.#lanes.run(session, () => this.#claims.release(claimed)),
      ended: () => void this.#held.delete(session),
    });
    return { writer, claimed };
  }

  async #commit(claimed: ClaimedSession, order: AppendOrder): Promise<CommitOutcome> {
    const { state, claim } = claimed;
    // Nobody else can have written since the claim without making the append fail, so what is known here holds.
    const rejection = order.stale ? rejectStale(order, state) : checkAppend(order, state);
    if (rejection !== undefined) return rejection;
    const outcome = await this.#claims.append(claimed, order);
    if (outcome.type === 'committed') {
      const { session, root } = claim.identity;
      this.#records.note([topicOf(undefined), topicOf({ session }), topicOf({ root })], state.lastPos);
    }
    return outcome;
  }

  async #list(wanted: (session: ListedSession) => boolean): Promise<readonly SessionSummary[]> {
    this.#assertOpen();
    const listed = await this.#steady(() => listSessions(this.#client, this.#subjects.sessions()));
    const found = listed.filter(wanted);
    const isForeign = found.some(
      ({ place }) => place.owner !== undefined && place.owner !== this.#owner.token,
    );
    const alive = isForeign ? await this.#steady(() => this.#owner.alive()) : new Set<string>();
    return found.map(({ place: { owner }, summary }) => {
      // Of its own sessions a ledger knows best: a writer that died holds nothing, though its claim stands.
      const isOwn = owner === this.#owner.token;
      const owned = isOwn ? this.#held.has(summary.sessionId) : owner !== undefined && alive.has(owner);
      return { ...summary, owned };
    });
  }

  /** Others may take over from now on: what runs here has to stop before they do. */
  #letGo(): void {
    for (const held of [...this.#held.values()]) {
      if (held === 'acquiring') continue;
      const { session } = held.writer.identity;
      const why = 'the server has not heard of this process for most of its lease';
      held.writer.lose(ownedElsewhere(session, why));
    }
  }
}

interface HeldSession {
  readonly writer: SessionWriter;
  readonly claimed: ClaimedSession;
}

function ownedElsewhere(session: string, why: string): SwarmError {
  return new SwarmError('session-owned-elsewhere', `${session} has an owner: ${why}`);
}
