import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { OperationPhase, StreamState } from './append-rules.ts';
import { numberIn, textIn } from './sqlite-rows.ts';

/** Heads kept in memory; beyond, all are read again. */
const MAX_KEPT = 20_000;

const SQL = {
  dataVersion: 'PRAGMA data_version',
  head: 'SELECT epoch, seq, hash, pos FROM heads WHERE sid = ?',
  newHead: 'INSERT INTO heads (sid, epoch) VALUES (?, 0)',
  setEpoch: 'UPDATE heads SET epoch = ? WHERE sid = ?',
  moveHead: 'UPDATE heads SET seq = ?, hash = ?, pos = ?, updated_at = ? WHERE sid = ?',
  openHead: 'UPDATE heads SET opened_at = ? WHERE sid = ?',
  isClosed: 'SELECT 1 FROM turns WHERE sid = ? AND turn = ? AND closed = 1',
  openTurn: 'INSERT INTO turns (sid, turn, opened, closed) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING',
  closeTurn:
    'INSERT INTO turns (sid, turn, opened, closed) VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET closed = 1',
  hasOperation: 'SELECT 1 FROM operations WHERE sid = ? AND operation = ? AND phase = ?',
  addOperation: 'INSERT INTO operations (sid, operation, phase) VALUES (?, ?, ?)',
} as const;

type Statements = { readonly [K in keyof typeof SQL]: StatementSync };

/** Where a session stands. */
export interface HeadPlace {
  readonly seq: number;
  readonly hash: string;
  /** Position of the last event; 0 before the first. */
  readonly pos: number;
}

interface Kept extends HeadPlace {
  readonly epoch: number;
  /** A turn of which it is known that it is not closed: nearly always the one that is asked for next. */
  unclosed: string | undefined;
}

/**
 * Heads, turns and operations of the sessions as the transaction at hand sees them. What this connection wrote
 * or read it need not read again until another one commits, which SQLite counts. After a failed transaction the
 * whole object is of no use.
 */
export class SqliteHeads {
  readonly #statements: Statements;
  readonly #kept = new Map<number, Kept>();
  #dataVersion = -1;

  constructor(database: DatabaseSync) {
    const prepared = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)]);
    // One statement for each key of the table above.
    this.#statements = Object.fromEntries(prepared) as Statements;
  }

  /** Call it first in each transaction. True where another connection committed since the last one. */
  refresh(): boolean {
    const version = numberIn(this.#statements.dataVersion.get() ?? {}, 'data_version');
    const isForeign = version !== this.#dataVersion;
    if (isForeign || this.#kept.size > MAX_KEPT) this.#kept.clear();
    this.#dataVersion = version;
    return isForeign;
  }

  stateOf(sid: number): StreamState & HeadPlace {
    const kept = this.#headOf(sid);
    const { epoch, seq, hash, pos } = kept;
    return {
      epoch,
      seq,
      hash,
      pos,
      isTurnClosed: (turn) => this.#isTurnClosed(sid, kept, turn),
      hasOperation: (id, phase) => this.#statements.hasOperation.get(sid, id, phase) !== undefined,
    };
  }

  create(sid: number): void {
    this.#statements.newHead.run(sid);
  }

  setEpoch(sid: number, epoch: number): void {
    this.#statements.setEpoch.run(epoch, sid);
    this.#kept.set(sid, { ...this.#headOf(sid), epoch });
  }

  /** `at`: milliseconds since the epoch. */
  move(sid: number, place: HeadPlace, at: number): void {
    const { moveHead, openHead } = this.#statements;
    const before = this.#headOf(sid);
    const { seq, hash, pos } = place;
    moveHead.run(seq, hash, pos, at, sid);
    if (before.seq === 0) openHead.run(at, sid);
    this.#kept.set(sid, { ...before, seq, hash, pos });
  }

  openTurn(sid: number, turn: string, seq: number): void {
    this.#statements.openTurn.run(sid, turn, seq);
  }

  closeTurn(sid: number, turn: string, seq: number): void {
    this.#statements.closeTurn.run(sid, turn, seq);
    const head = this.#headOf(sid);
    if (head.unclosed === turn) head.unclosed = undefined;
  }

  addOperation(sid: number, operation: string, phase: OperationPhase): void {
    this.#statements.addOperation.run(sid, operation, phase);
  }

  #headOf(sid: number): Kept {
    const known = this.#kept.get(sid);
    if (known !== undefined) return known;
    const row = this.#statements.head.get(sid) ?? {};
    const head: Kept = {
      epoch: numberIn(row, 'epoch'),
      seq: numberIn(row, 'seq'),
      hash: textIn(row, 'hash'),
      pos: numberIn(row, 'pos'),
      unclosed: undefined,
    };
    this.#kept.set(sid, head);
    return head;
  }

  #isTurnClosed(sid: number, head: Kept, turn: string): boolean {
    if (turn === head.unclosed) return false;
    if (this.#statements.isClosed.get(sid, turn) !== undefined) return true;
    head.unclosed = turn;
    return false;
  }
}
