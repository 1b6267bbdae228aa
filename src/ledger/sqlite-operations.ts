import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  type AppendClaim,
  checkAppend,
  phaseOf,
  type RecordFact,
  type Rejection,
  rejectStale,
} from './append-rules.ts';
import type { InboxItem } from './ledger.ts';
import type { SessionIdentity } from './records.ts';
import { type HeadPlace, SqliteHeads } from './sqlite-heads.ts';
import type { WriteMessage } from './sqlite-messages.ts';
import { isOwnerAlive, processOf } from './sqlite-owner.ts';
import { numberIn, optionalTextIn, type SqliteRow, textIn } from './sqlite-rows.ts';

/** What the writer thread is asked to do. Plain data: it crosses a thread. */
export interface WriteOperations {
  readonly acquire: { readonly identity: SessionIdentity; readonly owner: string };
  readonly append: AppendClaim & {
    readonly sid: number;
    readonly at: number;
    readonly stale: boolean;
    readonly releases: boolean;
    readonly hashes: readonly string[];
  };
  readonly release: { readonly sid: number; readonly epoch: number };
  readonly post: {
    readonly item: Omit<InboxItem, 'body'>;
    readonly body: string;
    readonly maxWaiting: number;
  };
  readonly withdraw: { readonly session: string; readonly id: string };
  readonly reply: {
    readonly session: string;
    readonly id: string;
    readonly reply: string;
    /** Answered messages of the session that are kept. */
    readonly remembered: number;
  };
  /** Moves a cursor, or only looks where no position is given. */
  readonly cursor: { readonly name: string; readonly position?: number };
}

/** What became of it. What was not to be done left the file untouched. */
export interface WriteResults {
  readonly acquire:
    | {
        readonly type: 'acquired';
        readonly sid: number;
        readonly epoch: number;
        readonly seq: number;
        readonly hash: string;
        readonly identity: SessionIdentity;
      }
    | { readonly type: 'owned'; readonly process: string };
  /** `first`: position of the first record, where there is one. */
  readonly append: { readonly type: 'committed'; readonly first: number } | Rejection;
  readonly release: { readonly type: 'released' };
  readonly post:
    | { readonly type: 'posted' }
    | { readonly type: 'unknown-session' }
    | { readonly type: 'full'; readonly waiting: number };
  readonly withdraw: { readonly type: 'withdrawn' };
  readonly reply: { readonly type: 'replied' };
  readonly cursor: { readonly type: 'cursor'; readonly position?: number };
}

export type WriteKind = keyof WriteOperations;
/** One operation with its kind. */
export type WriteRequest = { [K in WriteKind]: { readonly kind: K } & WriteOperations[K] }[WriteKind];
export type WriteResult = WriteResults[WriteKind];

const SQL = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  newestEvent: 'SELECT pos FROM events ORDER BY pos DESC LIMIT 1',
  event: 'INSERT INTO events (pos, sid, seq, prior, hash, body) VALUES (?, ?, ?, ?, ?, ?)',
  session: 'SELECT sid, session, root, parent, agent FROM sessions WHERE session = ?',
  newSession: 'INSERT INTO sessions (session, root, parent, agent) VALUES (?, ?, ?, ?) RETURNING sid',
  renameSession: 'UPDATE sessions SET root = ?, parent = ?, agent = ? WHERE sid = ?',
  lease: 'SELECT owner FROM leases WHERE sid = ?',
  takeLease: 'INSERT INTO leases (sid, owner) VALUES (?, ?) ON CONFLICT DO UPDATE SET owner = excluded.owner',
  dropLease: 'DELETE FROM leases WHERE sid = ?',
  hasRecords: 'SELECT 1 FROM sessions JOIN heads USING (sid) WHERE session = ? AND seq > 0',
  waiting: 'SELECT count(*) AS waiting FROM inbox WHERE session = ? AND reply IS NULL',
  posted: 'SELECT 1 FROM inbox WHERE session = ? AND id = ?',
  post: 'INSERT INTO inbox (session, id, kind, body) VALUES (?, ?, ?, ?)',
  withdraw: 'DELETE FROM inbox WHERE session = ? AND id = ? AND reply IS NULL',
  reply: 'UPDATE inbox SET reply = ? WHERE session = ? AND id = ? AND reply IS NULL',
  forget: `DELETE FROM inbox WHERE place IN (SELECT place FROM inbox
    WHERE session = ? AND reply IS NOT NULL ORDER BY place DESC LIMIT -1 OFFSET ?)`,
  cursor: 'SELECT pos FROM cursors WHERE name = ?',
  moveCursor: `INSERT INTO cursors (name, pos) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET pos = max(pos, excluded.pos)`,
} as const;

type Statements = { readonly [K in keyof typeof SQL]: StatementSync };

/** Carries out writes, one transaction a group: all of a group is durable, or nothing of it. */
export class SqliteOperations {
  readonly #path: string;
  readonly #statements: Statements;
  readonly #heads: SqliteHeads;
  /** Position of the newest event; read anew where other processes may have appended. */
  #newestEvent = 0;

  constructor(database: DatabaseSync, path: string) {
    this.#path = path;
    this.#heads = new SqliteHeads(database);
    const prepared = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)]);
    // One statement for each key of the table above.
    this.#statements = Object.fromEntries(prepared) as Statements;
  }

  /** Throws what SQLite throws; then it is unknown what is stored, and the connection is to be given up. */
  runGroup(group: readonly WriteMessage[]): readonly WriteResult[] {
    const { begin, commit } = this.#statements;
    begin.run();
    if (this.#heads.refresh()) this.#newestEvent = this.#findNewest();
    const results = group.map((message) => this.#run(message));
    commit.run();
    return results;
  }

  #findNewest(): number {
    const row = this.#statements.newestEvent.get();
    return row === undefined ? 0 : numberIn(row, 'pos');
  }

  #run({ request, texts }: WriteMessage): WriteResult {
    switch (request.kind) {
      case 'append':
        return this.#append(request, texts);
      case 'acquire':
        return this.#acquire(request);
      case 'release':
        return this.#release(request);
      case 'post':
        return this.#post(request);
      case 'withdraw':
        this.#statements.withdraw.run(request.session, request.id);
        return { type: 'withdrawn' };
      case 'reply':
        this.#statements.reply.run(request.reply, request.session, request.id);
        this.#statements.forget.run(request.session, request.remembered);
        return { type: 'replied' };
      case 'cursor':
        return this.#cursor(request);
    }
  }

  #cursor({ name, position }: WriteOperations['cursor']): WriteResults['cursor'] {
    if (position !== undefined) this.#statements.moveCursor.run(name, position);
    const row = this.#statements.cursor.get(name);
    return row === undefined ? { type: 'cursor' } : { type: 'cursor', position: numberIn(row, 'pos') };
  }

  #append(append: WriteOperations['append'], texts: readonly string[]): WriteResults['append'] {
    const state = this.#heads.stateOf(append.sid);
    const rejection = append.stale ? rejectStale(append, state) : checkAppend(append, state);
    if (rejection !== undefined) return rejection;
    const first = this.#newestEvent + 1;
    if (texts.length > 0) this.#keep(append, texts, state);
    // The check has shown that this is the newest writer.
    if (append.releases) this.#statements.dropLease.run(append.sid);
    return { type: 'committed', first };
  }

  #keep(append: WriteOperations['append'], texts: readonly string[], head: HeadPlace): void {
    const { sid, hashes, facts, at } = append;
    let { seq, hash, pos } = head;
    for (const [index, text] of texts.entries()) {
      this.#newestEvent += 1;
      seq += 1;
      hash = hashes[index] ?? hash;
      this.#statements.event.run(this.#newestEvent, sid, seq, pos, hash, text);
      pos = this.#newestEvent;
      const fact = facts[index];
      if (fact !== undefined) this.#note(sid, seq, fact);
    }
    this.#heads.move(sid, { seq, hash, pos }, at);
  }

  #note(sid: number, seq: number, fact: RecordFact): void {
    const { type, turn, operation } = fact;
    const phase = phaseOf(fact);
    if (phase !== undefined && operation !== undefined) this.#heads.addOperation(sid, operation, phase);
    if (turn !== undefined && type === 'turn.opened') this.#heads.openTurn(sid, turn, seq);
    if (turn !== undefined && type === 'turn.closed') this.#heads.closeTurn(sid, turn, seq);
  }

  #acquire({ identity, owner }: WriteOperations['acquire']): WriteResults['acquire'] {
    const { session, lease, takeLease } = this.#statements;
    const known = session.get(identity.session);
    const sid = known === undefined ? this.#newSession(identity) : numberIn(known, 'sid');
    const holder = lease.get(sid);
    const token = holder === undefined ? owner : textIn(holder, 'owner');
    // A lease of our own that nobody holds: its grant was not heard of in time.
    const isFree = token === owner || !isOwnerAlive(this.#path, token);
    if (!isFree) return { type: 'owned', process: processOf(token) };
    const { epoch, seq, hash } = this.#heads.stateOf(sid);
    this.#heads.setEpoch(sid, epoch + 1);
    takeLease.run(sid, owner);
    // The first append fixes who a session is; until then the last one to ask for it says.
    if (known === undefined || seq === 0) this.#renameSession(sid, identity);
    const fixed = known === undefined || seq === 0 ? identity : identityOf(known);
    return { type: 'acquired', sid, epoch: epoch + 1, seq, hash, identity: fixed };
  }

  #newSession({ session, root, parent, agent }: SessionIdentity): number {
    const made = this.#statements.newSession.get(session, root, parent ?? null, agent);
    const sid = numberIn(made ?? {}, 'sid');
    this.#heads.create(sid);
    return sid;
  }

  #renameSession(sid: number, { root, parent, agent }: SessionIdentity): void {
    this.#statements.renameSession.run(root, parent ?? null, agent, sid);
  }

  #release({ sid, epoch }: WriteOperations['release']): WriteResults['release'] {
    // A newer writer has a lease of its own by now, perhaps of the same owner.
    if (this.#heads.stateOf(sid).epoch === epoch) this.#statements.dropLease.run(sid);
    return { type: 'released' };
  }

  #post({ item, body, maxWaiting }: WriteOperations['post']): WriteResults['post'] {
    const { hasRecords, posted, waiting, post } = this.#statements;
    const { session, id, kind } = item;
    if (hasRecords.get(session) === undefined) return { type: 'unknown-session' };
    if (posted.get(session, id) !== undefined) return { type: 'posted' };
    const count = numberIn(waiting.get(session) ?? {}, 'waiting');
    if (count >= maxWaiting) return { type: 'full', waiting: count };
    post.run(session, id, kind, body);
    return { type: 'posted' };
  }
}

function identityOf(row: SqliteRow): SessionIdentity {
  const parent = optionalTextIn(row, 'parent');
  return {
    session: textIn(row, 'session'),
    root: textIn(row, 'root'),
    ...(parent === undefined ? {} : { parent }),
    agent: textIn(row, 'agent'),
  };
}
