import { isSwarmError, SwarmError } from '../errors.ts';
import type { AppendResult, LedgerWriter } from './ledger.ts';
import type { LedgerRecord, NewRecord, SessionIdentity } from './records.ts';

/** Most records one merged append may carry; a store takes at most `limits.ledger.maxBatchRecords`. */
const MAX_MERGED_RECORDS = 128;

interface PendingCommit {
  readonly batch: readonly NewRecord[];
  resolve(records: readonly LedgerRecord[]): void;
  reject(error: SwarmError): void;
}

/**
 * The append side of one owned session. Calls of one step commit at the same time while a session has one
 * order, so batches that arrive during an append are merged into the next one. After an append of unknown
 * outcome nothing more is written: only a fresh owner may find out what is stored.
 */
export interface SessionLog {
  readonly identity: SessionIdentity;
  readonly epoch: number;
  /** Aborts when the session was lost to another owner or the store failed. */
  readonly lost: AbortSignal;
  /** Sequence of the last committed record. */
  readonly headSeq: number;
  /**
   * Resolves when the batch is durable, with its records in order.
   * @throws SwarmError 'ledger-rejected' and 'ledger-limit' (nothing written), 'ledger-indeterminate' (unknown; the
   * log is dead)
   */
  commit(batch: readonly NewRecord[]): Promise<readonly LedgerRecord[]>;
  /**
   * Commits the batch behind what is pending and gives the session up with it, in one write. Where it cannot be
   * committed the session is kept, unless the log is dead.
   * @throws SwarmError as `commit`
   */
  commitLast(batch: readonly NewRecord[]): Promise<readonly LedgerRecord[]>;
  /** Waits for pending commits and gives the session up. Idempotent. */
  release(): Promise<void>;
}

/** What became of a batch; `unfit` was never sent to the store. */
type AppendOutcome = AppendResult | { readonly type: 'unfit'; readonly error: SwarmError };

export interface SessionLogOptions {
  /** Called after each durable batch, in order, before the commit resolves. Must not throw. */
  onCommitted?(records: readonly LedgerRecord[]): void;
}

export function createSessionLog(writer: LedgerWriter, options: SessionLogOptions = {}): SessionLog {
  return new WriterLog(writer, options);
}

class WriterLog implements SessionLog {
  readonly #writer: LedgerWriter;
  readonly #options: SessionLogOptions;
  readonly #pending: PendingCommit[] = [];
  readonly #dead = new AbortController();
  #pumping: Promise<void> | undefined;

  constructor(writer: LedgerWriter, options: SessionLogOptions) {
    this.#writer = writer;
    this.#options = options;
    const onLost = () => this.#dead.abort(writer.lost.reason);
    if (writer.lost.aborted) onLost();
    // A combined signal would be kept account of for as long as both live, which every open session pays for.
    else writer.lost.addEventListener('abort', onLost, { once: true });
  }

  get identity(): SessionIdentity {
    return this.#writer.identity;
  }

  get epoch(): number {
    return this.#writer.epoch;
  }

  get lost(): AbortSignal {
    return this.#dead.signal;
  }

  get headSeq(): number {
    return this.#writer.head.seq;
  }

  commit(batch: readonly NewRecord[]): Promise<readonly LedgerRecord[]> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ batch, resolve, reject });
      this.#pumping ??= this.#pump();
    });
  }

  async commitLast(batch: readonly NewRecord[]): Promise<readonly LedgerRecord[]> {
    while (this.#pumping !== undefined) await this.#pumping;
    if (this.lost.aborted) throw lostError(this.#writer, this.lost.reason);
    const committed = Promise.withResolvers<readonly LedgerRecord[]>();
    this.#pumping = this.#append(batch, 'last')
      .then((result) => this.#settle([{ batch, ...committed }], result))
      // What came meanwhile is told that the session is given up, or goes on.
      .then(() => this.#pump());
    return committed.promise;
  }

  async release(): Promise<void> {
    while (this.#pumping !== undefined) await this.#pumping;
    await this.#writer.release();
  }

  async #pump(): Promise<void> {
    // Batches of the same tick form one append.
    await Promise.resolve();
    while (this.#pending.length > 0) {
      const group = takeGroup(this.#pending);
      if (!this.lost.aborted) await this.#appendGroup(group);
      else for (const one of group) one.reject(lostError(this.#writer, this.lost.reason));
    }
    this.#pumping = undefined;
  }

  async #appendGroup(group: readonly PendingCommit[]): Promise<void> {
    const result = await this.#append(group.flatMap((one) => one.batch));
    if ((result.type === 'rejected' || result.type === 'unfit') && group.length > 1) {
      // All or nothing: find out which of the merged batches was at fault.
      for (const one of group) this.#settle([one], await this.#append(one.batch));
      return;
    }
    this.#settle(group, result);
  }

  async #append(batch: readonly NewRecord[], place: 'between' | 'last' = 'between'): Promise<AppendOutcome> {
    const { seq } = this.#writer.head;
    try {
      const result = await (place === 'last'
        ? this.#writer.appendLast(seq, batch)
        : this.#writer.append(seq, batch));
      if (result.type === 'committed') this.#options.onCommitted?.(result.records);
      if (result.type === 'indeterminate') this.#dead.abort(result.cause);
      return result;
    } catch (cause) {
      // Refused before anything was tried: the batch is at fault, not the store.
      if (isSwarmError(cause, 'invalid-record')) return { type: 'unfit', error: cause };
      this.#dead.abort(cause);
      return { type: 'indeterminate', cause };
    }
  }

  #settle(group: readonly PendingCommit[], result: AppendOutcome): void {
    let offset = 0;
    for (const one of group) {
      if (result.type === 'committed') one.resolve(result.records.slice(offset, offset + one.batch.length));
      else if (result.type === 'unfit') one.reject(result.error);
      else one.reject(appendError(this.#writer, result));
      offset += one.batch.length;
    }
  }
}

function takeGroup(pending: PendingCommit[]): readonly PendingCommit[] {
  let records = 0;
  let count = 0;
  for (const one of pending) {
    records += one.batch.length;
    if (count > 0 && records > MAX_MERGED_RECORDS) break;
    count += 1;
  }
  return pending.splice(0, count);
}

function appendError(writer: LedgerWriter, result: Exclude<AppendResult, { type: 'committed' }>): SwarmError {
  const session = writer.identity.session;
  if (result.type === 'rejected') {
    return new SwarmError(
      result.reason === 'limit' ? 'ledger-limit' : 'ledger-rejected',
      `append to ${session} rejected (${result.reason}): ${result.message}`,
    );
  }
  return new SwarmError('ledger-indeterminate', `it is unknown whether an append to ${session} is stored`, {
    cause: result.cause,
  });
}

function lostError(writer: LedgerWriter, cause: unknown): SwarmError {
  return new SwarmError('ledger-rejected', `the session ${writer.identity.session} has another owner now`, {
    cause,
  });
}
