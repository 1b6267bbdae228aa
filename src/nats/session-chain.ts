import { SwarmError } from '../errors.ts';
import { recordCodec, type StoredRow } from '../ledger/record-codec.ts';
import { GENESIS_HASH, type LedgerRecord } from '../ledger/records.ts';
import { ownershipKind, placeOf, rowsOf } from './ledger-message.ts';
import type { SequencedMessage } from './stream-reader.ts';

/** Where reading of a session begins: behind a record. `hash` is left out where it is not known. */
export interface ChainStart {
  readonly seq: number;
  readonly hash?: string;
}

/** Verifies the messages of one session in their order: sequence, links, contents and epochs. */
export class SessionChain {
  readonly session: string;
  epoch = 0;
  seq: number;
  hash: string | undefined;

  constructor(session: string, start: ChainStart = { seq: 0, hash: GENESIS_HASH }) {
    this.session = session;
    this.seq = start.seq;
    this.hash = start.hash;
  }

  /**
   * The records of the next message; none for a claim or a release.
   * @throws SwarmError 'ledger-corrupt', 'ledger-newer-schema'
   */
  next(message: SequencedMessage): readonly LedgerRecord[] {
    if (ownershipKind(message) !== undefined) {
      const { epoch } = this.checkPlace(message);
      if (epoch < this.epoch) throw this.#corrupt(this.seq + 1, `epoch ${epoch} after ${this.epoch}`);
      this.epoch = epoch;
      return [];
    }
    return rowsOf(message, this.#where(this.seq + 1)).map((row) => this.#open(row));
  }

  /**
   * A record that is gone without a trace shows here: claims and the ends of appends say where the session stands.
   * @throws SwarmError 'ledger-corrupt'
   */
  checkPlace(message: SequencedMessage) {
    const place = placeOf(message, this.#where(this.seq));
    if (place.seq === this.seq && (this.hash === undefined || place.hash === this.hash)) return place;
    throw this.#corrupt(this.seq, `a message that stands behind record ${place.seq}`);
  }

  #open(row: StoredRow): LedgerRecord {
    const seq = this.seq + 1;
    if (this.hash !== undefined && row.prev !== this.hash) {
      throw this.#corrupt(seq, 'a link to another record than the one before');
    }
    const record = recordCodec.open(row, { session: this.session, seq });
    if (record.epoch < this.epoch) throw this.#corrupt(seq, `epoch ${record.epoch} after ${this.epoch}`);
    this.epoch = record.epoch;
    this.seq = seq;
    this.hash = record.hash;
    return record;
  }

  #where(seq: number): string {
    return `session ${this.session}, record ${seq}`;
  }

  #corrupt(seq: number, found: string): SwarmError {
    return new SwarmError('ledger-corrupt', `${this.#where(seq)}: found ${found}`);
  }
}
