import { type Clock, sleep, systemClock } from '../clock.ts';
import { isSwarmError, SwarmError } from '../errors.ts';
import { checkAppend, rejectStale } from '../ledger/append-rules.ts';
import type { ArtifactRef } from '../ledger/content.ts';
import { unanswered } from '../ledger/inbox-rules.ts';
import type {
  AcquireOptions,
  Head,
  InboxItem,
  InboxReply,
  Ledger,
  LedgerWriter,
  OpenSummary,
  PositionedRecord,
  SessionSummary,
  TailOptions,
} from '../ledger/ledger.ts';
import type { LedgerRecord, SessionIdentity } from '../ledger/records.ts';
import { checkIdentity, unknownSession } from '../ledger/session-identity.ts';
import { type AppendOrder, type CommitOutcome, SessionWriter } from '../ledger/session-writer.ts';
import { DEFAULT_LIMITS, type Limits, NATS_LIMITS } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import type { NatsClient } from './client.ts';
import { type Connection, openConnection } from './connection.ts';
import { assertFitForLedger } from './ledger-fit.ts';
import { placeOf } from './ledger-message.ts';
import { createLedgerParts, type LedgerParts } from './ledger-parts.ts';
import { newestRecordPosition } from './ledger-positions.ts';
import { createLedgerSubjects, type LedgerSubjects } from './ledger-subjects.ts';
import { tailRecords, topicOf } from './record-tail.ts';
import type { ClaimedSession, ClaimOutcome } from './session-claims.ts';
import { SessionLanes } from './session-lanes.ts';
import { type ListedSession, listedSession, listSessions } from './session-listing.ts';
import { readSession } from './session-reading.ts';
import { ledgerClosed } from './steady.ts';
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

const OPTIONS: OptionNames<JetStreamLedgerOptions> = {
  ns: true,
  subjectRoot: true,
  connection: true,
  leaseMs: true,
  durability: true,
  clock: true,
  limits: true,
};

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
  assertOptions('jetstreamLedger', options, OPTIONS);
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

interface OpenedLedger extends JetStreamLedgerOptions {
  readonly leaseMs: number;
  readonly client: NatsClient;
  readonly isOwn: boolean;
  readonly subjects: LedgerSubjects;
}

class JetStreamLedger implements Ledger {
  readonly durability: 'process' | 'full';
  readonly #parts: LedgerParts;
  readonly #isOwnClient: boolean;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #closing = new AbortController();
  readonly #lanes = new SessionLanes();
  /** Sessions of this ledger, from the call of `acquire` on. */
  readonly #held = new Map<string, HeldSession | 'acquiring'>();
  /** Sessions that are being given up, each by one who tries. */
  readonly #givingUp = new Set<string>();
  #closed: Promise<void> | undefined;

  constructor(opened: OpenedLedger) {
    this.durability = opened.durability ?? 'full';
    this.#isOwnClient = opened.isOwn;
    this.#clock = opened.clock ?? systemClock;
    this.#limits = opened.limits ?? DEFAULT_LIMITS;
    this.#parts = createLedgerParts({
      ...opened,
      limits: this.#limits,
      closing: this.#closing.signal,
      onExpired: () => this.#letGo(),
    });
  }

  async acquire(identity: SessionIdentity, options: AcquireOptions = {}): Promise<LedgerWriter> {
    this.#assertOpen();
    const checked = checkIdentity(identity);
    const { session } = checked;
    if (this.#held.has(session)) throw ownedElsewhere(session, 'this ledger handed it out');
    this.#held.set(session, 'acquiring');
    try {
      const { writer } = await this.#lanes.run(session, async () => {
        const held = await this.#acquire(checked, options);
        this.#held.set(session, held);
        return held;
      });
      return writer;
    } catch (cause) {
      this.#held.delete(session);
      throw cause;
    }
  }

  async read(session: string, fromSeq = 1): Promise<readonly LedgerRecord[]> {
    this.#assertOpen();
    const held = this.#held.get(session);
    const own = typeof held === 'object' ? held.claimed.state : undefined;
    const written = own?.writtenFrom(Math.max(1, Math.trunc(fromSeq)));
    if (written !== undefined) return written;
    return this.#parts.steady(() => {
      const state = own ?? this.#parts.claims.known(session);
      const filter = this.#parts.subjects.session(session);
      return readSession(this.#parts.records, { session, filter, fromSeq, state });
    });
  }

  async head(session: string): Promise<Head | undefined> {
    this.#assertOpen();
    const held = this.#held.get(session);
    // The copy of the stream that answers may not have the newest append yet; its writer does.
    if (typeof held === 'object') return held.writer.head.seq === 0 ? undefined : held.writer.head;
    const last = await this.#parts.steady(() =>
      this.#parts.records.last(this.#parts.subjects.session(session)),
    );
    if (last === undefined) {
      this.#parts.claims.noteEmpty(session);
      return undefined;
    }
    const { seq, hash, epoch } = placeOf(last, `session ${session}`);
    return seq === 0 ? undefined : { seq, hash, epoch };
  }

  async summary(session: string): Promise<SessionSummary | undefined> {
    this.#assertOpen();
    const subject = this.#parts.subjects.session(session);
    const last = await this.#parts.steady(() => this.#parts.records.last(subject));
    const listed = last === undefined ? undefined : listedSession(session, last);
    return listed === undefined ? undefined : (await this.#summarize([listed]))[0];
  }

  async sessions(root?: string): Promise<readonly SessionSummary[]> {
    this.#assertOpen();
    const all = await this.#parts.steady(() =>
      listSessions(this.#parts.client, this.#parts.subjects.sessions()),
    );
    return this.#summarize(all.filter(({ place }) => root === undefined || place.root === root));
  }

  async listOpen(): Promise<readonly OpenSummary[]> {
    this.#assertOpen();
    const open = await this.#parts.steady(() => this.#parts.openSessions.list());
    const isOwned = await this.#ownership(open);
    return open.map((one) => {
      const { summary, treeVersion } = one;
      return { ...summary, openTurn: summary.openTurn ?? '', treeVersion, owned: isOwned(one) };
    });
  }

  tail(after: number, signal: AbortSignal, options?: TailOptions): AsyncIterable<PositionedRecord> {
    this.#assertOpen();
    return tailRecords({
      ...options,
      client: this.#parts.client,
      reader: this.#parts.records,
      subjects: this.#parts.subjects,
      watch: this.#parts.recordWatch,
      after,
      end: AbortSignal.any([signal, this.#closing.signal]),
    });
  }

  async position(): Promise<number> {
    this.#assertOpen();
    return this.#parts.steady(() => newestRecordPosition(this.#parts.records, this.#parts.subjects));
  }

  async putArtifact(bytes: Uint8Array, mediaType: string): Promise<ArtifactRef> {
    this.#assertOpen();
    // Its own copy at once: the caller may go on to write into the bytes.
    const own = Uint8Array.from(bytes);
    return this.#parts.steady(() => this.#parts.artifacts.put(own, mediaType));
  }

  async getArtifact(ref: ArtifactRef): Promise<Uint8Array> {
    this.#assertOpen();
    return this.#parts.steady(() => this.#parts.artifacts.get(ref));
  }

  async post(item: InboxItem, signal: AbortSignal): Promise<InboxReply> {
    this.#assertOpen();
    if (signal.aborted) throw unanswered(item, false);
    if ((await this.head(item.session)) === undefined) throw unknownSession(item.session);
    return this.#parts.inbox.post(item, signal);
  }

  inbox(session: string, signal: AbortSignal): AsyncIterable<InboxItem> {
    this.#assertOpen();
    const held = this.#held.get(session);
    // A session without a record takes no messages.
    const isNew = typeof held === 'object' && held.writer.head.seq === 0;
    return this.#parts.inbox.follow(session, signal, { isNew });
  }

  async reply(item: InboxItem, reply: InboxReply): Promise<void> {
    this.#assertOpen();
    await this.#parts.inbox.reply(item, reply);
  }

  async cursor(name: string): Promise<number | undefined> {
    this.#assertOpen();
    return this.#parts.steady(() => this.#parts.cursors.find(name));
  }

  async moveCursor(name: string, position: number): Promise<void> {
    this.#assertOpen();
    await this.#parts.steady(() => this.#parts.cursors.move(name, position));
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
    await this.#parts.close();
    if (this.#isOwnClient) await this.#parts.client.close();
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw ledgerClosed();
  }

  async #acquire(wanted: SessionIdentity, { isNew = false }: AcquireOptions): Promise<HeldSession> {
    await this.#parts.steady(() => this.#parts.owner.begin());
    const { claims } = this.#parts;
    const claimed = isNew ? claims.begin(wanted) : await this.#claim(wanted);
    if (claimed.type === 'owned') throw ownedElsewhere(wanted.session, `the process ${claimed.owner}`);
    this.#assertOpen();
    const { state, claim } = claimed;
    const { session } = claim.identity;
    const options = { ...claim, head: state.head, clock: this.#clock, limits: this.#limits };
    const writer = new SessionWriter(options, {
      assertOpen: () => this.#assertOpen(),
      commit: (order) => this.#lanes.run(session, () => this.#commit(claimed, order)),
      release: () => this.#release(claimed),
      left: () => void this.#giveUp(claim.identity),
      ended: () => void this.#held.delete(session),
    });
    return { writer, claimed };
  }

  async #claim(wanted: SessionIdentity): Promise<ClaimOutcome> {
    try {
      return await this.#parts.claims.claim(wanted);
    } catch (error) {
      // What was sent may be stored all the same, and nobody writes in its name.
      if (isSwarmError(error, 'ledger-unavailable')) void this.#giveUp(wanted);
      throw error;
    }
  }

  async #release(claimed: ClaimedSession): Promise<void> {
    const { identity } = claimed.claim;
    try {
      await this.#lanes.run(identity.session, () => this.#parts.claims.release(claimed));
    } catch (error) {
      void this.#giveUp(identity);
      throw error;
    }
  }

  /**
   * Gives up a session that may stand in the name of this process though nobody writes to it: as long as the process
   * lives, nobody else would get it. Tries until it is done, or the session has a writer again. Never rejects.
   */
  async #giveUp(identity: SessionIdentity): Promise<void> {
    const { session } = identity;
    if (this.#givingUp.has(session)) return;
    this.#givingUp.add(session);
    const isTaken = () => this.#closing.signal.aborted || typeof this.#held.get(session) === 'object';
    const attempt = async () => {
      if (!isTaken()) await this.#parts.claims.giveUp(identity);
      this.#givingUp.delete(session);
    };
    while (this.#givingUp.has(session)) {
      await this.#lanes.run(session, attempt).catch(async () => {
        await sleep(this.#clock, NATS_LIMITS.maxLedgerBackoffMs, this.#closing.signal);
      });
    }
  }

  async #commit(claimed: ClaimedSession, order: AppendOrder): Promise<CommitOutcome> {
    const { state, claim } = claimed;
    // Nobody else can have written since the claim without making the append fail, so what is known here holds.
    const rejection = order.stale ? rejectStale(order, state) : checkAppend(order, state);
    if (rejection !== undefined) return rejection;
    const outcome = await this.#parts.claims.append(claimed, order);
    if (outcome.type === 'committed') {
      const { root } = claim.identity;
      this.#parts.recordWatch.note([topicOf(undefined), topicOf({ root })], state.lastSequence);
    }
    return outcome;
  }

  async #summarize(found: readonly ListedSession[]): Promise<readonly SessionSummary[]> {
    const isOwned = await this.#ownership(found);
    return found.map((one) => ({ ...one.summary, owned: isOwned(one) }));
  }

  /** Tells of each whether a live process owns it. */
  async #ownership(found: readonly ListedSession[]): Promise<(session: ListedSession) => boolean> {
    const isForeign = found.some(
      ({ place }) => place.owner !== undefined && place.owner !== this.#parts.owner.token,
    );
    const alive = isForeign ? await this.#parts.steady(() => this.#parts.owner.alive()) : new Set<string>();
    return ({ place: { owner }, summary }) => {
      // Of its own sessions a ledger knows best: a writer that died holds nothing, though its claim stands.
      if (owner === this.#parts.owner.token) return this.#held.has(summary.sessionId);
      return owner !== undefined && alive.has(owner);
    };
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
