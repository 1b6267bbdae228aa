import type { ArtifactRef, JsonValue } from './content.ts';
import type { LedgerRecord, NewRecord, SessionIdentity } from './records.ts';

/** Last position of a session. */
export interface Head {
  readonly seq: number;
  readonly hash: string;
  readonly epoch: number;
}

/**
 * What became of a batch. `rejected`: nothing was written. `indeterminate`: it may or may not be durable; the
 * writer is poisoned, only a fresh `acquire` tells (never a retry, never a read-back through the old writer).
 */
export type AppendResult =
  | { readonly type: 'committed'; readonly head: Head; readonly records: readonly LedgerRecord[] }
  | {
      readonly type: 'rejected';
      readonly reason: 'conflict' | 'fenced' | 'sealed' | 'limit' | 'duplicate';
      readonly message: string;
    }
  | { readonly type: 'indeterminate'; readonly cause: unknown };

/**
 * The one appender of a session for as long as it is not fenced. Batches are all or nothing, at most
 * `limits.ledger.maxBatchRecords` records and `maxBatchBytes` bytes.
 *
 * The store itself enforces, inside the transaction of the append:
 * - `expectedSeq` is the head and the writer's epoch is the head epoch, else `conflict` or `fenced`;
 * - no record of a turn after its `turn.closed`, else `sealed`;
 * - at most one `tool.dispatched` for an operation id and generation, and one `tool.settled` for an operation
 *   id, else `duplicate`.
 */
export interface LedgerWriter extends AsyncDisposable {
  readonly identity: SessionIdentity;
  readonly epoch: number;
  /** Head after the last committed append. */
  readonly head: Head;
  /** Aborts when this writer was fenced, poisoned or closed. */
  readonly lost: AbortSignal;
  append(expectedSeq: number, batch: readonly NewRecord[]): Promise<AppendResult>;
  /** Appends and gives the session up in one write. Where nothing is written the writer goes on. */
  appendLast(expectedSeq: number, batch: readonly NewRecord[]): Promise<AppendResult>;
  /** Gives the session up. Idempotent. */
  release(): Promise<void>;
}

/** What the caller of `acquire` knows of the session. */
export interface AcquireOptions {
  /**
   * It has never been written to. A ledger that would have to ask may then claim it with the first append, which is
   * refused as `fenced` where that was wrong, or somebody else was first.
   */
  readonly isNew?: boolean | undefined;
}

/** A record with its place in the commit order of the whole ledger (positions grow, with gaps). */
export interface PositionedRecord {
  readonly pos: number;
  readonly record: LedgerRecord;
}

/** Which sessions a reader follows: one, or all of a tree. */
export type TailScope = { readonly session: string } | { readonly root: string };

/** What to follow, and to where. */
export interface TailOptions {
  /** Default: all sessions. */
  readonly only?: TailScope;
  /** Of one session: it has no record yet, so that none is looked for before one is heard of. */
  readonly isNew?: boolean;
  /** Ends by itself once nothing up to this position is left. Default: waits for what comes. */
  readonly upTo?: number;
}

/** One session as a listing shows it. */
export interface SessionSummary {
  readonly sessionId: string;
  readonly rootId: string;
  readonly parentId?: string;
  readonly agent: string;
  readonly head: Head;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly updatedAt: number;
  /** Id of the turn that is open, if one is. */
  readonly openTurn?: string;
  /** True while a live process owns the session. */
  readonly owned: boolean;
}

/** A session with an open turn, as a listing of those shows it. */
export interface OpenSummary extends SessionSummary {
  readonly openTurn: string;
  /** Every new fact of its tree makes it larger: two listings of one ledger with the same one have nothing new of it. */
  readonly treeVersion: number;
}

/** A message for the owner of a session from another process: a decision, steering, a cancellation. */
export interface InboxItem {
  readonly id: string;
  readonly session: string;
  readonly kind: string;
  readonly body: JsonValue;
}

/** The owner's answer to an inbox item. */
export type InboxReply =
  | { readonly type: 'accepted'; readonly body: JsonValue }
  | { readonly type: 'rejected'; readonly code: string; readonly message: string };

/**
 * The append-only record of facts, one stream a session: the only source of truth.
 *
 * Implementations must pass the contract suite of `swarmwright/testing`. All methods throw `SwarmError`
 * ('ledger-closed' after `close`, 'ledger-unavailable', 'ledger-corrupt' where said).
 */
export interface Ledger extends AsyncDisposable {
  /** What an acknowledged append survives: nothing, process kill, or power loss too. */
  readonly durability: 'memory' | 'process' | 'full';
  /**
   * Makes the caller the one writer of a session: epoch = last epoch + 1; older writers are fenced. Creates
   * the session on the first append if it is new.
   * @throws SwarmError 'session-owned-elsewhere' while a live owner other than this process holds it, or while
   * this ledger handed it out and it was not released
   */
  acquire(identity: SessionIdentity, options?: AcquireOptions): Promise<LedgerWriter>;
  /** Records from `fromSeq` (default 1) on, in order, hash-verified. Empty for an unknown session. */
  read(session: string, fromSeq?: number): Promise<readonly LedgerRecord[]>;
  head(session: string): Promise<Head | undefined>;
  /** One session as a listing shows it; undefined for one without a record. Costs no more for the others there are. */
  summary(session: string): Promise<SessionSummary | undefined>;
  /** All sessions, or those of one root, oldest first. */
  sessions(root?: string): Promise<readonly SessionSummary[]>;
  /**
   * Sessions with a turn that was opened and not closed, oldest first. Made to be asked often: a ledger that would have
   * to look at all sessions does so once, and then at what was written since.
   */
  listOpen(): Promise<readonly OpenSummary[]>;
  /**
   * Records after the position `after` (0 = from the start) in commit order, without end: waits for more until
   * `signal` aborts or the ledger closes, then ends. Pull-based, so a slow reader costs no memory.
   */
  tail(after: number, signal: AbortSignal, options?: TailOptions): AsyncIterable<PositionedRecord>;
  /** Position of the newest record; 0 when empty. */
  position(): Promise<number>;
  /** Durable before it resolves. The same bytes twice are stored once. @throws SwarmError 'artifact-too-large' */
  putArtifact(bytes: Uint8Array, mediaType: string): Promise<ArtifactRef>;
  /** @throws SwarmError 'artifact-missing', 'artifact-corrupt' (verified on read) */
  getArtifact(ref: ArtifactRef): Promise<Uint8Array>;
  /**
   * Leaves a durable message for the owner of a session and waits for the answer.
   * @throws SwarmError 'unknown-session'; 'ledger-unavailable' when `signal` aborts first
   */
  post(item: InboxItem, signal: AbortSignal): Promise<InboxReply>;
  /** Messages for a session this process owns, each to be answered once with `reply`; ends with `signal`. */
  inbox(session: string, signal: AbortSignal): AsyncIterable<InboxItem>;
  reply(item: InboxItem, reply: InboxReply): Promise<void>;
  /** Position a reader of `tail` left under a name; undefined for a name that was never used. */
  cursor(name: string): Promise<number | undefined>;
  /** Leaves a position under a name, as durable as an append. It only grows: of several readers the furthest counts. */
  moveCursor(name: string, position: number): Promise<void>;
  close(): Promise<void>;
}
