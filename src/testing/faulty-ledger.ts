import type { AppendResult, InboxItem, Ledger, LedgerWriter, PositionedRecord } from '../ledger/ledger.ts';
import type { NewRecord, SessionIdentity } from '../ledger/records.ts';
import { armFaults, type Fault, type FaultAction, type FaultPoints, type FaultSite } from './fault-points.ts';

/** A ledger with faults in front of it. */
export interface FaultyLedger extends Ledger {
  readonly faults: FaultPoints;
}

/**
 * Puts faults around every operation of a ledger. The code under test knows nothing of them: it has a `Ledger`.
 * Closing the faulty ledger closes the one behind it, unless it was halted.
 *
 * @example
 * // The process dies between the durable intent and the execution of the first tool.
 * faultyLedger(ledger, [{ at: 'append', record: 'tool.dispatched', when: 'after', action: { type: 'crash' } }]);
 */
export function faultyLedger(ledger: Ledger, plan: readonly Fault[] | FaultPoints): FaultyLedger {
  const faults = armFaults(plan);
  const writers = new Set<FaultyWriter>();
  faults.onHalt(() => {
    for (const writer of writers) void writer.die();
  });
  const at = <T>(site: FaultSite, work: () => Promise<T>) => faults.around({ site }, work);
  const close = () => (faults.isHalted ? Promise.resolve() : ledger.close());
  return {
    faults,
    durability: ledger.durability,
    acquire: (identity, options) =>
      at('acquire', async () => {
        const writer = new FaultyWriter(await ledger.acquire(identity, options), faults);
        writers.add(writer);
        // The process died while it was given the session.
        if (faults.isHalted) await writer.die();
        return writer;
      }),
    read: (session, fromSeq) => at('read', () => ledger.read(session, fromSeq)),
    head: (session) => at('head', () => ledger.head(session)),
    summary: (session) => at('summary', () => ledger.summary(session)),
    sessions: (root) => at('sessions', () => ledger.sessions(root)),
    listOpen: () => at('list-open', () => ledger.listOpen()),
    tail: (after, signal, options) => each('tail', ledger.tail(after, signal, options), faults),
    position: () => at('position', () => ledger.position()),
    putArtifact: (bytes, mediaType) => at('put-artifact', () => ledger.putArtifact(bytes, mediaType)),
    getArtifact: (ref) => at('get-artifact', () => ledger.getArtifact(ref)),
    post: (item, signal) => at('post', () => ledger.post(item, signal)),
    inbox: (session, signal) => each('inbox', ledger.inbox(session, signal), faults),
    reply: (item, reply) => at('reply', () => ledger.reply(item, reply)),
    cursor: (name) => at('cursor', () => ledger.cursor(name)),
    moveCursor: (name, position) => at('move-cursor', () => ledger.moveCursor(name, position)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Each step of an iteration is an operation of its own. */
async function* each<T extends PositionedRecord | InboxItem>(
  site: 'tail' | 'inbox',
  items: AsyncIterable<T>,
  faults: FaultPoints,
): AsyncGenerator<T, void> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const result = await faults.around({ site }, () => iterator.next());
      if (result.done === true) return;
      yield result.value;
    }
  } finally {
    await iterator.return?.();
  }
}

class FaultyWriter implements LedgerWriter {
  readonly #inner: LedgerWriter;
  readonly #faults: FaultPoints;
  readonly #poisoned = new AbortController();
  readonly lost: AbortSignal;

  constructor(inner: LedgerWriter, faults: FaultPoints) {
    this.#inner = inner;
    this.#faults = faults;
    this.lost = AbortSignal.any([inner.lost, this.#poisoned.signal]);
  }

  get identity(): SessionIdentity {
    return this.#inner.identity;
  }

  get epoch(): number {
    return this.#inner.epoch;
  }

  get head() {
    return this.#inner.head;
  }

  append(expectedSeq: number, batch: readonly NewRecord[]): Promise<AppendResult> {
    return this.#around(batch, () => this.#inner.append(expectedSeq, batch));
  }

  appendLast(expectedSeq: number, batch: readonly NewRecord[]): Promise<AppendResult> {
    return this.#around(batch, () => this.#inner.appendLast(expectedSeq, batch));
  }

  #around(batch: readonly NewRecord[], append: () => Promise<AppendResult>): Promise<AppendResult> {
    const point = {
      site: 'append' as const,
      records: batch.map(({ type }) => type),
      answerFor: (action: Extract<FaultAction, { type: 'reject' | 'indeterminate' }>) =>
        this.#answerFor(action),
    };
    return this.#faults.around(point, async () => {
      if (!this.#poisoned.signal.aborted) return append();
      return { type: 'rejected', reason: 'fenced', message: 'a fault took the session from this writer' };
    });
  }

  release(): Promise<void> {
    return this.#faults.around({ site: 'release' }, () => this.#inner.release());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Frees the session the way the death of its owner does. */
  async die(): Promise<void> {
    this.#poisoned.abort();
    await this.#inner.release().catch(() => undefined);
  }

  #answerFor(action: Extract<FaultAction, { type: 'reject' | 'indeterminate' }>): AppendResult {
    if (action.type === 'reject') {
      return {
        type: 'rejected',
        reason: action.reason,
        message: `a fault rejected the append as ${action.reason}`,
      };
    }
    // Nobody may go on with a writer that does not know what it wrote.
    void this.die();
    return { type: 'indeterminate', cause: 'a fault hid the outcome' };
  }
}
