import { type Clock, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { DEFAULT_LIMITS, type Limits } from '../limits.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { checkAppend, phaseOf, rejectStale, type StreamState } from './append-rules.ts';
import { artifactRefOf, checkContent, checkRef } from './artifact-content.ts';
import { CommitWatch } from './commit-watch.ts';
import type { ArtifactRef } from './content.ts';
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
  TailScope,
} from './ledger.ts';
import { createMemoryInbox, type MemoryInbox } from './memory-inbox.ts';
import { RecordFeed, type RecordStore } from './record-feed.ts';
import { GENESIS_HASH, type LedgerRecord, type SessionIdentity } from './records.ts';
import { checkIdentity, unknownSession } from './session-identity.ts';
import { type AppendOrder, type CommitOutcome, SessionWriter } from './session-writer.ts';

/** What is kept of one record. */
interface Kept {
  /** Frozen to its leaves: every reader gets the same one. */
  readonly record: LedgerRecord;
  readonly hash: string;
}

/** One session. Made by `acquire`; it exists for others once it has a record. */
interface Stream {
  identity: SessionIdentity;
  epoch: number;
  writer?: SessionWriter | undefined;
  readonly rows: Kept[];
  /** True for closed; in the order of opening. */
  readonly turns: Map<string, boolean>;
  readonly operations: Set<string>;
  openedAt: number;
  updatedAt: number;
}

export interface MemoryLedgerOptions {
  readonly clock?: Clock;
  readonly limits?: Limits;
}

const OPTIONS: OptionNames<MemoryLedgerOptions> = { clock: true, limits: true };

/**
 * A ledger that lives and dies with the process: for tests and for runs nobody wants to resume. It keeps every
 * rule of the port, hash chain included.
 * @throws SwarmError 'invalid-definition' for an unknown option
 */
export function memoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  assertOptions('memoryLedger', options, OPTIONS);
  return new MemoryLedger(options);
}

class MemoryLedger implements Ledger {
  readonly durability = 'memory';
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #streams = new Map<string, Stream>();
  /** All rows in commit order; a position is a place in here, from 1. */
  readonly #order: Kept[] = [];
  readonly #artifacts = new Map<string, Uint8Array>();
  readonly #cursors = new Map<string, number>();
  readonly #watch = new CommitWatch();
  readonly #feed = new RecordFeed(storeOf(this.#order), this.#watch);
  readonly #inbox: MemoryInbox;

  constructor({ clock = systemClock, limits = DEFAULT_LIMITS }: MemoryLedgerOptions) {
    this.#clock = clock;
    this.#limits = limits;
    this.#inbox = createMemoryInbox(this.#watch, limits.mailbox);
  }

  async acquire(identity: SessionIdentity): Promise<LedgerWriter> {
    this.#assertOpen();
    const stream = streamFor(this.#streams, checkIdentity(identity));
    if (stream.writer !== undefined) throw ownedHere(stream);
    stream.epoch += 1;
    const { epoch } = stream;
    const writer = new SessionWriter(
      { identity: stream.identity, epoch, head: headOf(stream), clock: this.#clock, limits: this.#limits },
      {
        assertOpen: () => this.#assertOpen(),
        commit: async (append) => this.#commit(stream, append),
        release: async () => {},
        ended: () => {
          stream.writer = undefined;
        },
      },
    );
    stream.writer = writer;
    return writer;
  }

  async read(session: string, fromSeq = 1): Promise<readonly LedgerRecord[]> {
    this.#assertOpen();
    return (this.#streams.get(session)?.rows ?? []).slice(Math.max(0, fromSeq - 1)).map((row) => row.record);
  }

  async head(session: string): Promise<Head | undefined> {
    this.#assertOpen();
    const stream = this.#streams.get(session);
    return stream === undefined || stream.rows.length === 0 ? undefined : headOf(stream);
  }

  async summary(session: string): Promise<SessionSummary | undefined> {
    this.#assertOpen();
    const stream = this.#streams.get(session);
    return stream === undefined || stream.rows.length === 0 ? undefined : summaryOf(stream);
  }

  async sessions(root?: string): Promise<readonly SessionSummary[]> {
    this.#assertOpen();
    return this.#summaries().filter((summary) => root === undefined || summary.rootId === root);
  }

  async listOpen(): Promise<readonly OpenSummary[]> {
    this.#assertOpen();
    const all = this.#summaries();
    const versions = new Map<string, number>();
    for (const { rootId, head } of all) versions.set(rootId, (versions.get(rootId) ?? 0) + head.seq);
    return all.flatMap((summary) => {
      const { openTurn, rootId } = summary;
      return openTurn === undefined ? [] : { ...summary, openTurn, treeVersion: versions.get(rootId) ?? 0 };
    });
  }

  tail(after: number, signal: AbortSignal, options?: TailOptions): AsyncIterable<PositionedRecord> {
    this.#assertOpen();
    return this.#feed.tail(after, signal, options);
  }

  async position(): Promise<number> {
    this.#assertOpen();
    return this.#order.length;
  }

  async putArtifact(bytes: Uint8Array, mediaType: string): Promise<ArtifactRef> {
    this.#assertOpen();
    const own = Uint8Array.from(bytes);
    const ref = await artifactRefOf(own, mediaType, this.#limits.ledger.maxArtifactBytes);
    this.#artifacts.set(ref.sha256, own);
    return ref;
  }

  async getArtifact(ref: ArtifactRef): Promise<Uint8Array> {
    this.#assertOpen();
    checkRef(ref);
    const bytes = this.#artifacts.get(ref.sha256);
    if (bytes === undefined) throw new SwarmError('artifact-missing', `no artifact ${ref.sha256} is stored`);
    await checkContent(ref, bytes);
    return Uint8Array.from(bytes);
  }

  async post(item: InboxItem, signal: AbortSignal): Promise<InboxReply> {
    this.#assertOpen();
    if ((this.#streams.get(item.session)?.rows.length ?? 0) === 0) throw unknownSession(item.session);
    return this.#inbox.post(item, signal);
  }

  inbox(session: string, signal: AbortSignal): AsyncIterable<InboxItem> {
    this.#assertOpen();
    return this.#inbox.follow(session, signal);
  }

  async reply(item: InboxItem, reply: InboxReply): Promise<void> {
    this.#assertOpen();
    this.#inbox.reply(item, reply);
  }

  async cursor(name: string): Promise<number | undefined> {
    this.#assertOpen();
    return this.#cursors.get(name);
  }

  async moveCursor(name: string, position: number): Promise<void> {
    this.#assertOpen();
    this.#cursors.set(name, Math.max(position, this.#cursors.get(name) ?? 0));
  }

  async close(): Promise<void> {
    this.#watch.close();
    for (const { writer } of this.#streams.values()) {
      writer?.lose(new SwarmError('ledger-closed', 'the ledger was closed'));
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #assertOpen(): void {
    if (this.#watch.closed) throw new SwarmError('ledger-closed', 'the ledger was closed');
  }

  #commit(stream: Stream, append: AppendOrder): CommitOutcome {
    const state = stateOf(stream);
    const rejection = append.stale ? rejectStale(append, state) : checkAppend(append, state);
    if (rejection !== undefined) return rejection;
    const first = this.#order.length + 1;
    if (append.rows.length > 0) keep(stream, this.#order, append);
    this.#feed.noteOwn(
      first,
      append.rows.map(({ record }) => record),
    );
    return { type: 'committed' };
  }

  #summaries(): readonly SessionSummary[] {
    // A stable sort: sessions opened at the same time stay in the order in which they were acquired.
    return [...this.#streams.values()]
      .filter((stream) => stream.rows.length > 0)
      .sort((left, right) => left.openedAt - right.openedAt)
      .map(summaryOf);
  }
}

function streamFor(streams: Map<string, Stream>, identity: SessionIdentity): Stream {
  const known = streams.get(identity.session);
  if (known === undefined) {
    const stream: Stream = {
      identity,
      epoch: 0,
      rows: [],
      turns: new Map(),
      operations: new Set(),
      openedAt: 0,
      updatedAt: 0,
    };
    streams.set(identity.session, stream);
    return stream;
  }
  // The first append fixes who a session is; until then the last one to ask for it says.
  if (known.rows.length === 0) known.identity = identity;
  return known;
}

function keep(stream: Stream, order: Kept[], append: AppendOrder): void {
  if (stream.rows.length === 0) stream.openedAt = append.at;
  stream.updatedAt = append.at;
  for (const { record, hash, fact } of append.rows) {
    const row = { record, hash };
    stream.rows.push(row);
    order.push(row);
    const phase = phaseOf(fact);
    if (phase !== undefined && fact.operation !== undefined)
      stream.operations.add(`${phase} ${fact.operation}`);
    if (fact.turn === undefined) continue;
    if (fact.type === 'turn.opened') stream.turns.set(fact.turn, false);
    if (fact.type === 'turn.closed') stream.turns.set(fact.turn, true);
  }
}

function stateOf(stream: Stream): StreamState {
  return {
    ...headOf(stream),
    isTurnClosed: (turn) => stream.turns.get(turn) === true,
    hasOperation: (operation, phase) => stream.operations.has(`${phase} ${operation}`),
  };
}

function headOf(stream: Stream): { readonly seq: number; readonly hash: string; readonly epoch: number } {
  const hash = stream.rows.at(-1)?.hash ?? GENESIS_HASH;
  return { seq: stream.rows.length, hash, epoch: stream.epoch };
}

function summaryOf(stream: Stream): SessionSummary {
  const { session, root, parent, agent } = stream.identity;
  const openTurn = [...stream.turns].findLast(([, closed]) => !closed)?.[0];
  return {
    sessionId: session,
    rootId: root,
    ...(parent === undefined ? {} : { parentId: parent }),
    agent,
    head: headOf(stream),
    openedAt: stream.openedAt,
    updatedAt: stream.updatedAt,
    ...(openTurn === undefined ? {} : { openTurn }),
    owned: stream.writer !== undefined,
  };
}

/** Positions are places in the commit order, from 1. */
function storeOf(order: readonly Kept[]): RecordStore {
  return {
    position: () => order.length,
    after(position, max, only) {
      const page: PositionedRecord[] = [];
      for (let at = position; at < order.length && page.length < max; at += 1) {
        const record = order[at]?.record;
        if (record !== undefined && isIn(record, only)) page.push({ pos: at + 1, record });
      }
      return page;
    },
  };
}

function isIn(record: LedgerRecord, only: TailScope | undefined): boolean {
  if (only === undefined) return true;
  return 'session' in only ? record.session === only.session : record.root === only.root;
}

function ownedHere(stream: Stream): SwarmError {
  return new SwarmError(
    'session-owned-elsewhere',
    `this ledger handed out ${stream.identity.session}, and it was not released`,
  );
}
