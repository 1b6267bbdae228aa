import { resolve } from 'node:path';
import { type Clock, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { DEFAULT_LIMITS, type Limits } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { type ArtifactFiles, createArtifactFiles } from './artifact-files.ts';
import { canonicalJson } from './canonical-json.ts';
import { CommitQueue, type WriteOutcome } from './commit-queue.ts';
import { CommitWatch, MESSAGES } from './commit-watch.ts';
import type { ArtifactRef } from './content.ts';
import { mailboxFull, REMEMBERED_REPLIES, unanswered } from './inbox-rules.ts';
import type {
  Head,
  InboxItem,
  InboxReply,
  Ledger,
  LedgerWriter,
  OpenSummary,
  PositionedRecord,
  SessionSummary,
  TailOptions,
} from './ledger.ts';
import { RecordFeed } from './record-feed.ts';
import type { LedgerRecord, SessionIdentity } from './records.ts';
import { checkIdentity, unknownSession } from './session-identity.ts';
import { type AppendOrder, type CommitOutcome, SessionWriter } from './session-writer.ts';
import { assertSuitableSqlite, openForReading, prepareFile, sqliteVersion } from './sqlite-file.ts';
import type { WriteKind, WriteOperations, WriteResults } from './sqlite-operations.ts';
import { createOwner, isOwnerAlive, type Owner } from './sqlite-owner.ts';
import { type OwnerCheck, SqliteReader } from './sqlite-reader.ts';

/** Time between two looks for commits of other processes, while anybody waits. */
const FOREIGN_COMMITS_MS = 250;

export interface SqliteLedgerOptions {
  /** The file. All else the ledger keeps lies beside it, in names that begin with this one. */
  readonly path: string;
  readonly clock?: Clock;
  readonly limits?: Limits;
}

const OPTIONS: OptionNames<SqliteLedgerOptions> = { path: true, clock: true, limits: true };

/**
 * A ledger in one SQLite file: what it acknowledged survives a killed process and a power cut. Several processes
 * may open the same file; each session has one owner at a time. Commits run in a thread of their own and in
 * groups; reading, on the caller's thread, in slices.
 *
 * A file that is not a ledger, or that is newer or damaged, is left as it is.
 *
 * @throws SwarmError 'ledger-foreign', 'ledger-newer-schema', 'ledger-corrupt', 'ledger-unavailable',
 * 'sqlite-unsuitable', 'invalid-definition' without a path or for an unknown option
 * @example
 * await using ledger = await sqliteLedger({ path: 'agents.db' });
 */
export async function sqliteLedger(options: SqliteLedgerOptions): Promise<Ledger> {
  assertSuitableSqlite(sqliteVersion());
  const path = resolve(checkedPath(options));
  assertOptions('sqliteLedger', options, OPTIONS);
  prepareFile(path);
  const reader = new SqliteReader(openForReading(path), path);
  return new SqliteLedger(reader, { ...options, path });
}

/** JavaScript callers get past the types: an address alone, or a `path` under another name. */
function checkedPath(options: unknown): string {
  const path =
    typeof options === 'object' && options !== null && 'path' in options ? options.path : undefined;
  if (typeof path === 'string' && path !== '') return path;
  throw new SwarmError(
    'invalid-definition',
    "sqliteLedger needs a path, as in sqliteLedger({ path: 'agents.db' })",
  );
}

class SqliteLedger implements Ledger {
  readonly durability = 'full';
  readonly #path: string;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #reader: SqliteReader;
  readonly #queue: CommitQueue;
  readonly #watch: CommitWatch;
  readonly #feed: RecordFeed;
  readonly #artifacts: ArtifactFiles;
  /** Sessions of this ledger, from the call of `acquire` on. */
  readonly #held = new Map<string, SessionWriter | 'acquiring'>();
  /** Made with the first `acquire`: who only reads leaves no file. */
  #owner: Owner | undefined;
  #closing: Promise<void> | undefined;

  constructor(reader: SqliteReader, { path, clock, limits }: SqliteLedgerOptions) {
    this.#path = path;
    this.#clock = clock ?? systemClock;
    this.#limits = limits ?? DEFAULT_LIMITS;
    this.#reader = reader;
    this.#watch = new CommitWatch({
      intervalMs: FOREIGN_COMMITS_MS,
      look: () => {
        if (!reader.hasChanged()) return 'nothing';
        return this.#feed.noteForeign() ? 'all' : MESSAGES;
      },
    });
    this.#feed = new RecordFeed(reader, this.#watch);
    this.#queue = new CommitQueue({
      path,
      commitMs: this.#limits.timeouts.commitMs,
      onMessages: () => this.#watch.wake([MESSAGES]),
    });
    this.#artifacts = createArtifactFiles(`${path}-artifacts`, this.#limits.ledger.maxArtifactBytes);
  }

  async acquire(identity: SessionIdentity): Promise<LedgerWriter> {
    this.#assertOpen();
    const checked = checkIdentity(identity);
    const { session } = checked;
    if (this.#held.has(session)) throw ownedElsewhere(session, 'this ledger handed it out');
    this.#held.set(session, 'acquiring');
    try {
      // Before anything is written: a session with a damaged past gets no future.
      await this.#reader.verify(session, () => this.#assertOpen());
      const writer = await this.#acquire(checked);
      this.#held.set(session, writer);
      return writer;
    } catch (cause) {
      this.#held.delete(session);
      throw cause;
    }
  }

  async read(session: string, fromSeq = 1): Promise<readonly LedgerRecord[]> {
    this.#assertOpen();
    return this.#reader.read(session, fromSeq, () => this.#assertOpen());
  }

  async head(session: string): Promise<Head | undefined> {
    this.#assertOpen();
    return this.#reader.head(session);
  }

  async summary(session: string): Promise<SessionSummary | undefined> {
    this.#assertOpen();
    return this.#reader.summary(session, this.#ownerCheck());
  }

  async sessions(root?: string): Promise<readonly SessionSummary[]> {
    this.#assertOpen();
    return this.#reader.sessions(root, this.#ownerCheck());
  }

  async listOpen(): Promise<readonly OpenSummary[]> {
    this.#assertOpen();
    return this.#reader.open(this.#ownerCheck());
  }

  tail(after: number, signal: AbortSignal, options?: TailOptions): AsyncIterable<PositionedRecord> {
    this.#assertOpen();
    return this.#feed.tail(after, signal, options);
  }

  async position(): Promise<number> {
    this.#assertOpen();
    return this.#reader.position();
  }

  async putArtifact(bytes: Uint8Array, mediaType: string): Promise<ArtifactRef> {
    this.#assertOpen();
    return this.#artifacts.put(bytes, mediaType);
  }

  async getArtifact(ref: ArtifactRef): Promise<Uint8Array> {
    this.#assertOpen();
    return this.#artifacts.get(ref);
  }

  async post(item: InboxItem, signal: AbortSignal): Promise<InboxReply> {
    this.#assertOpen();
    if (signal.aborted) throw unanswered(item, false);
    const { session, id, kind } = item;
    const body = canonicalJson(item.body);
    const maxWaiting = this.#limits.mailbox;
    const posted = await this.#write({ kind: 'post', item: { session, id, kind }, body, maxWaiting });
    if (posted.type === 'unknown-session') throw unknownSession(session);
    if (posted.type === 'full') throw mailboxFull(item, posted.waiting);
    const reply = await this.#watch.until(() => this.#reader.reply(item), signal);
    if (reply !== undefined) return reply;
    if (this.#watch.closed) throw unanswered(item, true);
    // Nobody took it: the owner need not act on what nobody waits for. An answer that came first stands.
    await this.#queue.submit({ kind: 'withdraw', session, id });
    const last = this.#reader.reply(item);
    if (last !== undefined) return last;
    throw unanswered(item, this.#watch.closed);
  }

  inbox(session: string, signal: AbortSignal): AsyncIterable<InboxItem> {
    this.#assertOpen();
    return this.#watch.follow(
      this.#reader.waiting(session, () => this.#watch.version),
      signal,
      MESSAGES,
    );
  }

  async reply(item: InboxItem, reply: InboxReply): Promise<void> {
    this.#assertOpen();
    const { session, id } = item;
    const text = canonicalJson(reply);
    await this.#write({ kind: 'reply', session, id, reply: text, remembered: REMEMBERED_REPLIES });
  }

  async cursor(name: string): Promise<number | undefined> {
    this.#assertOpen();
    return (await this.#write({ kind: 'cursor', name })).position;
  }

  async moveCursor(name: string, position: number): Promise<void> {
    this.#assertOpen();
    await this.#write({ kind: 'cursor', name, position });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#watch.close();
    for (const writer of this.#held.values()) {
      if (writer !== 'acquiring') writer.lose(closed());
    }
    this.#reader.close();
    await this.#queue.close();
    // What this owner still holds ends with its lock, after all that was submitted.
    this.#owner?.end();
  }

  #assertOpen(): void {
    if (this.#watch.closed) throw closed();
  }

  async #acquire(wanted: SessionIdentity): Promise<SessionWriter> {
    this.#assertOpen();
    this.#owner ??= createOwner(this.#path);
    const grant = await this.#write({ kind: 'acquire', identity: wanted, owner: this.#owner.token });
    if (grant.type === 'owned') throw ownedElsewhere(wanted.session, `the process ${grant.process} holds it`);
    this.#assertOpen();
    const { sid, epoch, seq, hash, identity } = grant;
    const { session } = identity;
    const options = { identity, epoch, head: { seq, hash, epoch }, clock: this.#clock, limits: this.#limits };
    const writer: SessionWriter = new SessionWriter(options, {
      assertOpen: () => this.#assertOpen(),
      commit: (order) => this.#commit(session, sid, order),
      release: () => this.#release(writer, sid),
      ended: () => this.#held.delete(session),
    });
    return writer;
  }

  async #commit(session: string, sid: number, order: AppendOrder): Promise<CommitOutcome> {
    const { epoch, expectedSeq, prev, facts, at, stale, releases, rows } = order;
    const texts = rows.map((row) => row.text);
    const hashes = rows.map((row) => row.hash);
    const kind = 'append' as const;
    const append = { kind, sid, epoch, expectedSeq, prev, facts, at, stale, releases, hashes };
    const outcome = await this.#queue.submit(append, texts, (result) => {
      if (result.type === 'committed') {
        this.#feed.noteOwn(
          result.first,
          rows.map(({ record }) => record),
        );
      }
    });
    if (outcome.type !== 'done') return { type: 'indeterminate', cause: outcome.cause };
    const last = rows.at(-1);
    if (outcome.result.type === 'committed' && releases && last !== undefined) {
      this.#reader.noteVerified(session, { seq: last.record.seq, hash: last.hash });
    }
    return outcome.result;
  }

  async #release(writer: SessionWriter, sid: number): Promise<void> {
    const { session } = writer.identity;
    await this.#write({ kind: 'release', sid, epoch: writer.epoch });
    this.#reader.noteVerified(session, writer.head);
  }

  async #write<K extends WriteKind>(
    operation: WriteOperations[K] & { readonly kind: K },
  ): Promise<WriteResults[K]> {
    const outcome: WriteOutcome<K> = await this.#queue.submit(operation);
    if (outcome.type === 'failed') throw outcome.cause;
    return outcome.result;
  }

  /** For one listing: asking whether another process lives opens a file, and it may own many sessions. */
  #ownerCheck(): OwnerCheck {
    const alive = new Map<string, boolean>();
    return (session, owner) => {
      // Of its own sessions a ledger knows best: a writer that died holds nothing, though its lease still says so.
      if (owner === this.#owner?.token) return this.#held.has(session);
      const isAlive = alive.get(owner) ?? isOwnerAlive(this.#path, owner);
      alive.set(owner, isAlive);
      return isAlive;
    };
  }
}

function closed(): SwarmError {
  return new SwarmError('ledger-closed', 'the ledger was closed');
}

function ownedElsewhere(session: string, why: string): SwarmError {
  return new SwarmError('session-owned-elsewhere', `${session} has an owner: ${why}`);
}
