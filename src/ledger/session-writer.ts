import type { Clock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { type AppendClaim, checkBatchSize, type Rejection, reject } from './append-rules.ts';
import type { AppendResult, Head, LedgerWriter } from './ledger.ts';
import { recordCodec, type SealedRecord } from './record-codec.ts';
import type { NewRecord, SessionIdentity } from './records.ts';

/** Appends of one writer that may wait for their commit at once. */
const MAX_IN_FLIGHT = 64;

/** One batch on its way into a store. */
export interface AppendOrder extends AppendClaim {
  readonly rows: readonly SealedRecord[];
  readonly at: number;
  /** Gives the session up in the same write. */
  readonly releases: boolean;
  /** Set when the writer knows a newer head than the append expects: never to be stored. */
  readonly stale: boolean;
}

export type CommitOutcome =
  | { readonly type: 'committed' }
  | Rejection
  | Extract<AppendResult, { readonly type: 'indeterminate' }>;

/** What a store gives its writers. Orders of one writer must be carried out in the order of the calls. */
export interface WriterStore {
  /** @throws SwarmError 'ledger-closed' */
  assertOpen(): void;
  commit(order: AppendOrder): Promise<CommitOutcome>;
  /** Called once, unless the writer was lost before. */
  release(): Promise<void>;
  /** Called once in its place: whoever had the lost writer is done with the session, which may still stand in its name. */
  left?(): void;
  /** Called once, when the writer will append no more, for whatever reason. */
  ended(): void;
}

type Tip = Pick<Head, 'seq' | 'hash'>;

export interface SessionWriterOptions {
  readonly identity: SessionIdentity;
  readonly epoch: number;
  readonly head: Head;
  readonly clock: Clock;
  readonly limits: Limits;
}

/**
 * The writer of all stores: builds and hashes the records, keeps the head, and is dead after an append of
 * unknown outcome. Appends may be sent before earlier ones are answered: each is built on the one before and
 * falls with it.
 */
export class SessionWriter implements LedgerWriter {
  readonly identity: SessionIdentity;
  readonly epoch: number;
  readonly #options: SessionWriterOptions;
  readonly #store: WriterStore;
  readonly #lost = new AbortController();
  #head: Head;
  /** Where the next append will stand if all that are on the way commit. */
  #tip: Tip;
  #inFlight = 0;
  /** An append that gives the session up is on its way. */
  #isLeaving = false;
  #released: Promise<void> | undefined;

  constructor(options: SessionWriterOptions, store: WriterStore) {
    this.identity = options.identity;
    this.epoch = options.epoch;
    this.#options = options;
    this.#store = store;
    this.#head = options.head;
    this.#tip = options.head;
  }

  get head(): Head {
    return this.#head;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  append(expectedSeq: number, batch: readonly NewRecord[]): Promise<AppendResult> {
    return this.#append(expectedSeq, batch, false);
  }

  async appendLast(expectedSeq: number, batch: readonly NewRecord[]): Promise<AppendResult> {
    const isEmpty = batch.length === 0;
    const result = await this.#append(expectedSeq, batch, !isEmpty);
    // There is no write to give it up with.
    if (isEmpty && result.type === 'committed') await this.release();
    return result;
  }

  async #append(expectedSeq: number, batch: readonly NewRecord[], releases: boolean): Promise<AppendResult> {
    this.#store.assertOpen();
    const { maxBatchRecords } = this.#options.limits.ledger;
    if (this.lost.aborted) return reject('fenced', `this writer of ${this.identity.session} has ended`);
    if (this.#isLeaving) return reject('fenced', `${this.identity.session} is being given up`);
    if (this.#inFlight >= MAX_IN_FLIGHT) return reject('limit', `${this.#inFlight} appends wait already`);
    if (batch.length > maxBatchRecords) {
      return reject('limit', `${batch.length} records in one batch, at most ${maxBatchRecords}`);
    }
    const order = this.#build(expectedSeq, batch, releases);
    if ('type' in order) return order;
    this.#tip = endOf(order, this.#tip);
    this.#inFlight += 1;
    this.#isLeaving = releases;
    const outcome = await this.#store.commit(order);
    this.#inFlight -= 1;
    // One that was sent before the last one may be answered before it.
    if (releases) this.#isLeaving = false;
    return this.#settle(order, outcome);
  }

  release(): Promise<void> {
    if (this.#released === undefined) {
      if (this.lost.aborted) this.#store.left?.();
      this.#end(this.lost.aborted ? Promise.resolve() : this.#store.release());
    }
    return this.#released ?? Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Ends the writer from outside; its appends on the way still get their true outcome. */
  lose(reason: SwarmError): void {
    if (this.lost.aborted) return;
    this.#store.ended();
    this.#lost.abort(reason);
  }

  #end(released: Promise<void>): void {
    this.#released = released;
    this.lose(new SwarmError('ledger-closed', `this writer of ${this.identity.session} was released`));
  }

  #build(expectedSeq: number, batch: readonly NewRecord[], releases: boolean): AppendOrder | Rejection {
    const { identity, epoch } = this;
    const { clock, limits } = this.#options;
    const { seq, hash } = this.#tip;
    const stale = expectedSeq !== seq;
    const at = clock.now();
    // Sealed even when stale, so that a batch that cannot be stored is told as such either way.
    const rows = recordCodec.seal(batch, { identity, epoch, at, seq, hash });
    const size = {
      records: rows.length,
      bytes: rows.reduce((sum, row) => sum + Buffer.byteLength(row.text), 0),
      headSeq: seq,
      opensTurn: batch.some((record) => record.type === 'turn.opened'),
    };
    const facts = rows.map((row) => row.fact);
    const order = { epoch, expectedSeq, prev: hash, facts, at, stale, releases, rows: stale ? [] : rows };
    return checkBatchSize(size, limits.ledger) ?? order;
  }

  #settle(order: AppendOrder, outcome: CommitOutcome): AppendResult {
    const { session } = this.identity;
    if (outcome.type === 'committed') {
      this.#head = { ...endOf(order, this.#head), epoch: this.epoch };
      if (order.releases) this.#end(Promise.resolve());
      return { type: 'committed', head: this.#head, records: order.rows.map((row) => row.record) };
    }
    // Whatever was built on this one falls with it.
    this.#tip = this.#head;
    if (outcome.type === 'indeterminate') {
      const message = `it is unknown whether an append to ${session} is stored`;
      this.lose(new SwarmError('ledger-indeterminate', message, { cause: outcome.cause }));
    } else if (outcome.reason === 'fenced') {
      this.lose(
        new SwarmError('session-owned-elsewhere', `${session} has a newer writer: ${outcome.message}`),
      );
    }
    return outcome;
  }
}

function endOf(order: AppendOrder, before: Tip): Tip {
  const last = order.rows.at(-1);
  return last === undefined ? before : { seq: last.record.seq, hash: last.hash };
}
