import { factOf, phaseOf, type RecordFact, type StreamState } from '../ledger/append-rules.ts';
import type { Head } from '../ledger/ledger.ts';
import type { SealedRecord } from '../ledger/record-codec.ts';
import { GENESIS_HASH, type LedgerRecord, type SessionIdentity } from '../ledger/records.ts';
import type { AppendOrder } from '../ledger/session-writer.ts';
import { positionOf, type SessionPlace } from './ledger-message.ts';
import { SessionChain } from './session-chain.ts';
import type { SequencedMessage } from './stream-reader.ts';

/** A message, by the first record it holds. */
interface Stored {
  readonly seq: number;
  readonly sequence: number;
}

/** Records kept to be read again: a request is made of those of the step before it. */
const MAX_RECENT = 128;

/** A message to be, with its records. */
export interface PackedRecords {
  readonly rows: readonly SealedRecord[];
}

/**
 * One session as far as its subject was read, or written by this process: what the rules of an append ask, and where
 * its records lie.
 */
export class SessionState implements StreamState {
  readonly #chain: SessionChain;
  /** Sequence of the last message of the subject, whatever it is. */
  lastSequence = 0;
  identity: SessionIdentity | undefined;
  openedAt = 0;
  updatedAt = 0;
  #openedPos: number | undefined;
  /** In the order of opening. */
  readonly #open = new Set<string>();
  readonly #closed = new Set<string>();
  readonly #operations = new Set<string>();
  readonly #messages: Stored[] = [];
  /** The newest records, as far as this process wrote them since it owns the session. */
  #recent: LedgerRecord[] = [];

  constructor(session: string) {
    this.#chain = new SessionChain(session);
  }

  get epoch(): number {
    return this.#chain.epoch;
  }

  get seq(): number {
    return this.#chain.seq;
  }

  get hash(): string {
    return this.#chain.hash ?? GENESIS_HASH;
  }

  get head(): Head {
    return { seq: this.seq, hash: this.hash, epoch: this.epoch };
  }

  isTurnClosed(turn: string): boolean {
    return this.#closed.has(turn);
  }

  hasOperation(operation: string, phase: 'dispatched' | 'settled'): boolean {
    return this.#operations.has(`${phase} ${operation}`);
  }

  /** Takes the next message of the subject. @throws SwarmError 'ledger-corrupt', 'ledger-newer-schema' */
  feed(message: SequencedMessage): void {
    const { sequence } = message;
    const records = this.#chain.next(message);
    this.#noteMessage(records[0], sequence);
    for (const record of records) this.#note(record, factOf(record));
    this.lastSequence = sequence;
  }

  /** Takes what this process has stored; `last` is the sequence of its last message. */
  keep(messages: readonly PackedRecords[], last: number): void {
    for (const [index, { rows }] of messages.entries()) {
      this.#noteMessage(rows[0]?.record, last - messages.length + 1 + index);
      for (const { record, fact } of rows) {
        this.#chain.seq = record.seq;
        this.#chain.hash = record.hash;
        this.#note(record, fact);
        this.#recent.push(record);
      }
    }
    if (this.#recent.length > MAX_RECENT) this.#recent = this.#recent.slice(-MAX_RECENT);
    this.lastSequence = last;
  }

  /** Takes a claim or release of this process. */
  keepOwnership(epoch: number, last: number): void {
    this.#chain.epoch = epoch;
    this.lastSequence = last;
    this.#recent = [];
  }

  /**
   * Records from `seq` on, where this process wrote them all: nobody else can have, as long as it owns the session.
   * Undefined where they have to be read.
   */
  writtenFrom(seq: number): readonly LedgerRecord[] | undefined {
    if (seq > this.seq) return [];
    const first = this.#recent[0]?.seq ?? Number.POSITIVE_INFINITY;
    return seq < first ? undefined : this.#recent.slice(seq - first);
  }

  /** Where the session stands once `order` is stored, or as it is; to be said by its last message. */
  placeAfter(order: AppendOrder | undefined, claim: Claim): SessionPlace {
    const last = order?.rows.at(-1);
    const openTurn = [...this.#openAfter(order?.facts ?? [])].at(-1);
    const { root, parent, agent } = claim.identity;
    return {
      v: 1,
      root,
      ...(parent === undefined ? {} : { parent }),
      agent,
      epoch: claim.epoch,
      seq: last?.record.seq ?? this.seq,
      hash: last?.hash ?? this.hash,
      openedAt: this.seq === 0 ? (order?.at ?? 0) : this.openedAt,
      updatedAt: order?.at ?? this.updatedAt,
      ...(this.#openedPos === undefined ? {} : { openedPos: this.#openedPos }),
      ...(openTurn === undefined ? {} : { openTurn }),
      ...(claim.owner === undefined ? {} : { owner: claim.owner }),
    };
  }

  /** Message at which to begin to read for the records from `seq` on, and the first record it holds. */
  startOf(seq: number): Stored {
    // Beyond the last record nothing is known but that the next one comes after it.
    if (seq > this.seq) return { seq: this.seq + 1, sequence: this.lastSequence + 1 };
    return this.#messages.findLast((one) => one.seq <= seq) ?? { seq: 1, sequence: 1 };
  }

  #noteMessage(first: LedgerRecord | undefined, sequence: number): void {
    if (first === undefined) return;
    this.#messages.push({ seq: first.seq, sequence });
    if (this.identity !== undefined) return;
    const { session, root, parent, agent } = first;
    this.identity = { session, root, ...(parent === undefined ? {} : { parent }), agent };
    this.openedAt = first.at;
    this.#openedPos = positionOf(sequence, 0);
  }

  #note(record: LedgerRecord, fact: RecordFact): void {
    this.updatedAt = record.at;
    const phase = phaseOf(fact);
    if (phase !== undefined && fact.operation !== undefined) {
      this.#operations.add(`${phase} ${fact.operation}`);
    }
    if (fact.turn === undefined) return;
    if (fact.type === 'turn.opened') this.#open.add(fact.turn);
    if (fact.type === 'turn.closed') {
      this.#open.delete(fact.turn);
      this.#closed.add(fact.turn);
    }
  }

  #openAfter(facts: readonly RecordFact[]): ReadonlySet<string> {
    const moves = facts.filter(({ type }) => type === 'turn.opened' || type === 'turn.closed');
    if (moves.length === 0) return this.#open;
    const open = new Set(this.#open);
    for (const { type, turn } of moves) {
      if (turn === undefined) continue;
      if (type === 'turn.opened') open.add(turn);
      else open.delete(turn);
    }
    return open;
  }
}

/** In whose name a message is stored. Without an `owner` the session is nobody's after it. */
export interface Claim {
  readonly identity: SessionIdentity;
  readonly epoch: number;
  readonly owner?: string;
}
