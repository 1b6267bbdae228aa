import { factOf, phaseOf, type RecordFact, type StreamState } from '../ledger/append-rules.ts';
import type { Head } from '../ledger/ledger.ts';
import { GENESIS_HASH, type LedgerRecord, type SessionIdentity } from '../ledger/records.ts';
import type { AppendOrder } from '../ledger/session-writer.ts';
import type { SessionPlace } from './ledger-message.ts';
import { SessionChain } from './session-chain.ts';
import type { SequencedMessage } from './stream-reader.ts';

/** Records that were stored in a row: record `seq` is message `pos`, and so on up to the next span. */
interface Span {
  readonly seq: number;
  readonly pos: number;
}

/**
 * One session as far as its subject was read, or written by this process: what the rules of an append ask, and where
 * its records lie.
 */
export class SessionState implements StreamState {
  readonly #chain: SessionChain;
  /** Sequence of the last message of the subject, whatever it is. */
  lastPos = 0;
  identity: SessionIdentity | undefined;
  openedAt = 0;
  updatedAt = 0;
  #openedPos: number | undefined;
  /** In the order of opening. */
  readonly #open = new Set<string>();
  readonly #closed = new Set<string>();
  readonly #operations = new Set<string>();
  readonly #spans: Span[] = [];

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
    const record = this.#chain.next(message);
    if (record !== undefined) this.#note(record, factOf(record), message.sequence);
    this.lastPos = message.sequence;
  }

  /** Takes what this process has stored; `last` is the sequence of its last message. */
  keep(order: AppendOrder, last: number): void {
    const first = last - order.rows.length + 1;
    for (const [index, { record, fact }] of order.rows.entries()) {
      this.#chain.seq = record.seq;
      this.#chain.hash = record.hash;
      this.#note(record, fact, first + index);
    }
    this.lastPos = last;
  }

  /** Takes a claim or release of this process. */
  keepOwnership(epoch: number, last: number): void {
    this.#chain.epoch = epoch;
    this.lastPos = last;
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

  /** Record and message from which on to read for the records from `seq` on. */
  startOf(seq: number): Span {
    // Beyond the last record nothing is known but that the next one comes after it.
    const known = Math.min(seq, this.seq + 1);
    const span = this.#spans.findLast((one) => one.seq <= known);
    return span === undefined ? { seq: 1, pos: 1 } : { seq: known, pos: span.pos + (known - span.seq) };
  }

  #note(record: LedgerRecord, fact: RecordFact, pos: number): void {
    if (this.identity === undefined) {
      const { session, root, parent, agent } = record;
      this.identity = { session, root, ...(parent === undefined ? {} : { parent }), agent };
      this.openedAt = record.at;
      this.#openedPos = pos;
    }
    const span = this.#spans.at(-1);
    if (span === undefined || pos - span.pos !== record.seq - span.seq) {
      this.#spans.push({ seq: record.seq, pos });
    }
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
