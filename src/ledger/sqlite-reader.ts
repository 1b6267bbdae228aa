import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { SwarmError } from '../errors.ts';
import { chainHash } from './hash-chain.ts';
import { parseBody, parseReply } from './inbox-rules.ts';
import type {
  Head,
  InboxItem,
  InboxReply,
  OpenSummary,
  PositionedRecord,
  SessionSummary,
  TailScope,
} from './ledger.ts';
import { recordCodec, type StoredRow } from './record-codec.ts';
import { GENESIS_HASH, type LedgerRecord } from './records.ts';
import { sqliteFault } from './sqlite-fault.ts';
import { numberIn, optionalTextIn, type SqliteRow, textIn } from './sqlite-rows.ts';

/** Rows handled in one go, about 2 ms; a long session lets other work in between. */
const SLICE_ROWS = 200;
const SLICE_CHARS = 512 * 1024;
const INBOX_PAGE = 64;
/** Sessions whose verified part is remembered. */
const MAX_VERIFIED = 2_000;

const SUMMARIES = `
  SELECT s.session, s.root, s.parent, s.agent, h.epoch, h.seq, h.hash, h.opened_at, h.updated_at, l.owner,
    (SELECT t.turn FROM turns t WHERE t.sid = s.sid AND t.closed = 0 ORDER BY t.opened DESC LIMIT 1) AS open_turn
  FROM sessions s JOIN heads h USING (sid) LEFT JOIN leases l USING (sid)`;
const OLDEST_FIRST = 'ORDER BY h.opened_at, s.sid';

const TAIL = `
  SELECT e.pos, e.seq, e.prior, e.hash, e.body, s.session, p.hash AS prev FROM events e
    JOIN sessions s USING (sid) LEFT JOIN events p ON p.pos = e.prior WHERE e.pos > ?`;
const IN_ORDER = 'ORDER BY e.pos LIMIT ?';

const SQL = {
  head: 'SELECT epoch, seq, hash, pos, sid FROM heads JOIN sessions USING (sid) WHERE session = ? AND seq > 0',
  /** From a position back along the links of a session, down to a sequence; at most a slice of them. */
  back: `WITH RECURSIVE chain (pos, chars) AS (
      SELECT ?, 0 UNION ALL SELECT e.prior, chars + length(e.body) FROM chain JOIN events e USING (pos)
        WHERE e.seq > ? AND chars + length(e.body) < ${SLICE_CHARS} LIMIT ${SLICE_ROWS})
    SELECT e.pos, e.sid, e.seq, e.prior, e.hash, e.body FROM chain CROSS JOIN events e USING (pos)`,
  tail: `${TAIL} ${IN_ORDER}`,
  // By way of the session the planner would read all of the file: the plus keeps it to the positions.
  tailOfSession: `${TAIL} AND +e.sid = (SELECT sid FROM sessions WHERE session = ?) ${IN_ORDER}`,
  tailOfRoot: `${TAIL} AND +e.sid IN (SELECT sid FROM sessions WHERE root = ?) ${IN_ORDER}`,
  position: 'SELECT pos FROM events ORDER BY pos DESC LIMIT 1',
  summary: `${SUMMARIES} WHERE h.seq > 0 AND s.session = ?`,
  sessions: `${SUMMARIES} WHERE h.seq > 0 ${OLDEST_FIRST}`,
  family: `${SUMMARIES} WHERE h.seq > 0 AND s.root = ? ${OLDEST_FIRST}`,
  open: `${SUMMARIES} WHERE h.seq > 0 AND s.sid IN (SELECT sid FROM turns WHERE closed = 0) ${OLDEST_FIRST}`,
  /** Facts of each tree with an open turn. */
  treeVersions: `SELECT s.root, SUM(h.seq) AS version FROM sessions s JOIN heads h USING (sid)
    WHERE s.root IN (SELECT o.root FROM turns t JOIN sessions o USING (sid) WHERE t.closed = 0) GROUP BY s.root`,
  waiting: `SELECT place, id, kind, body FROM inbox
    WHERE session = ? AND reply IS NULL AND place > ? ORDER BY place LIMIT ?`,
  newestMessage: 'SELECT place FROM inbox ORDER BY place DESC LIMIT 1',
  reply: 'SELECT reply FROM inbox WHERE session = ? AND id = ?',
  version: 'PRAGMA data_version',
} as const;

type Statements = { readonly [K in keyof typeof SQL]: StatementSync };

/** Last record of a session, and where it lies. */
interface Anchor extends Head {
  readonly sid: number;
  readonly pos: number;
}

/** A row on the way back from the head. */
interface LinkedRow {
  readonly seq: number;
  readonly hash: string;
  readonly text: string;
}

/** What a link says of the row it leads to. */
interface RowLink {
  readonly seq: number;
  readonly pos: number;
}

type Verified = Pick<Head, 'seq' | 'hash'>;

/** Whether the owner a lease names holds the session. */
export type OwnerCheck = (session: string, owner: string) => boolean;

/** The reading side of a ledger file: one connection that cannot write, on the thread of the caller. */
export class SqliteReader {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #statements: Statements;
  /** How far the chain of a session was verified by this process. */
  readonly #verified = new Map<string, Verified>();
  #dataVersion: number;
  /** Place of the newest message, as of a version of what is committed. */
  #newest = { version: -1, place: 0 };

  /** Closes the connection if the file cannot be read. @throws SwarmError 'ledger-corrupt', 'ledger-unavailable' */
  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#path = path;
    try {
      const prepared = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)]);
      // One statement for each key of the table above.
      this.#statements = Object.fromEntries(prepared) as Statements;
      this.#dataVersion = this.#currentVersion();
    } catch (cause) {
      database.close();
      throw sqliteFault(cause, `${path} cannot be read`);
    }
  }

  close(): void {
    this.#database.close();
  }

  head(session: string): Head | undefined {
    const anchor = this.#anchorOf(session);
    return anchor === undefined ? undefined : { seq: anchor.seq, hash: anchor.hash, epoch: anchor.epoch };
  }

  /** `isOpen` is asked after each pause; it throws once the ledger was closed. */
  async read(session: string, fromSeq: number, isOpen: () => void): Promise<readonly LedgerRecord[]> {
    const anchor = this.#anchorOf(session);
    const first = Math.max(1, Math.trunc(fromSeq));
    if (anchor === undefined || anchor.seq < first) return [];
    const rows = await this.#rowsBack({ session, anchor, downTo: first - 1 }, isOpen);
    let prev = rows.pop()?.hash ?? GENESIS_HASH;
    const records: LedgerRecord[] = [];
    const slice = new Slice();
    for (const { seq, hash, text } of rows.reverse()) {
      const record = recordCodec.open({ text, prev, hash }, { session, seq });
      const last = records.at(-1)?.epoch ?? 0;
      if (record.epoch < last || record.epoch > anchor.epoch)
        throw found(session, seq, `epoch ${record.epoch}`);
      records.push(record);
      prev = hash;
      if (await slice.pauseAfter(text)) isOpen();
    }
    return records;
  }

  /**
   * Walks the whole chain of a session without looking into the records; what this process has seen once is not
   * looked at again.
   * @throws SwarmError 'ledger-corrupt'
   */
  async verify(session: string, isOpen: () => void): Promise<void> {
    const anchor = this.#anchorOf(session);
    if (anchor === undefined) return;
    const known = this.#verified.get(session) ?? { seq: 0, hash: GENESIS_HASH };
    if (anchor.seq < known.seq) throw found(session, known.seq, `a head at ${anchor.seq}`);
    const rows = await this.#rowsBack({ session, anchor, downTo: known.seq }, isOpen);
    if (rows.pop()?.hash !== known.hash) throw found(session, known.seq, 'another hash than before');
    let prev = known.hash;
    const slice = new Slice();
    for (const { seq, hash, text } of rows.reverse()) {
      if (chainHash(prev, text) !== hash) throw found(session, seq, 'contents that do not match the hash');
      prev = hash;
      if (await slice.pauseAfter(text)) isOpen();
    }
    this.noteVerified(session, anchor);
  }

  /** Says how far a chain is known to hold: it was verified, or written by this process. */
  noteVerified(session: string, { seq, hash }: Verified): void {
    this.#verified.delete(session);
    this.#verified.set(session, { seq, hash });
    const [oldest] = this.#verified.keys();
    if (this.#verified.size > MAX_VERIFIED && oldest !== undefined) this.#verified.delete(oldest);
  }

  /** Records after a position, in commit order; of all sessions where `only` is not given. */
  after(position: number, max: number, only: TailScope | undefined): readonly PositionedRecord[] {
    const { tail, tailOfSession, tailOfRoot } = this.#statements;
    const rows = this.#ask(() => {
      if (only === undefined) return tail.all(position, max);
      return 'session' in only
        ? tailOfSession.all(position, only.session, max)
        : tailOfRoot.all(position, only.root, max);
    });
    return rows.map(positioned);
  }

  position(): number {
    const row = this.#ask(() => this.#statements.position.get());
    return row === undefined ? 0 : numberIn(row, 'pos');
  }

  summary(session: string, isOwned: OwnerCheck): SessionSummary | undefined {
    const rows = this.#ask(() => this.#statements.summary.all(session));
    return summarize(rows, isOwned)[0];
  }

  sessions(root: string | undefined, isOwned: OwnerCheck): readonly SessionSummary[] {
    const { sessions, family } = this.#statements;
    const rows = this.#ask(() => (root === undefined ? sessions.all() : family.all(root)));
    return summarize(rows, isOwned);
  }

  open(isOwned: OwnerCheck): readonly OpenSummary[] {
    const { open, treeVersions } = this.#statements;
    const [rows, trees] = this.#ask(() => [open.all(), treeVersions.all()] as const);
    const versions = new Map(trees.map((row) => [textIn(row, 'root'), numberIn(row, 'version')]));
    return summarize(rows, isOwned).flatMap((summary) => {
      const { openTurn, rootId } = summary;
      return openTurn === undefined ? [] : { ...summary, openTurn, treeVersion: versions.get(rootId) ?? 0 };
    });
  }

  /**
   * Pages of unanswered messages, each message once. `version` changes with every commit: many sessions wait at
   * the same time, and one look tells all of them that nothing came.
   */
  waiting(session: string, version: () => number): () => readonly InboxItem[] {
    let cursor = 0;
    let seen = -1;
    return () => {
      const newest = this.#newestMessage(version());
      if (newest <= seen) return [];
      const rows = this.#ask(() => this.#statements.waiting.all(session, cursor, INBOX_PAGE));
      const last = rows.at(-1);
      if (last !== undefined) cursor = numberIn(last, 'place');
      if (rows.length < INBOX_PAGE) seen = newest;
      return rows.map((row) => ({
        id: textIn(row, 'id'),
        session,
        kind: textIn(row, 'kind'),
        body: parseBody(textIn(row, 'body')),
      }));
    };
  }

  #newestMessage(version: number): number {
    if (this.#newest.version !== version) {
      const row = this.#ask(() => this.#statements.newestMessage.get());
      this.#newest = { version, place: row === undefined ? 0 : numberIn(row, 'place') };
    }
    return this.#newest.place;
  }

  reply(item: InboxItem): InboxReply | undefined {
    const row = this.#ask(() => this.#statements.reply.get(item.session, item.id));
    const reply = row === undefined ? undefined : optionalTextIn(row, 'reply');
    return reply === undefined ? undefined : parseReply(reply);
  }

  /** True when anybody committed since the last call, or when that cannot be told. */
  hasChanged(): boolean {
    const before = this.#dataVersion;
    try {
      this.#dataVersion = this.#currentVersion();
    } catch {
      // Whoever waits looks for itself then, and gets the fault.
      return true;
    }
    return before !== this.#dataVersion;
  }

  #currentVersion(): number {
    return numberIn(this.#ask(() => this.#statements.version.get()) ?? {}, 'data_version');
  }

  #anchorOf(session: string): Anchor | undefined {
    const row = this.#ask(() => this.#statements.head.get(session));
    if (row === undefined) return undefined;
    return {
      epoch: numberIn(row, 'epoch'),
      seq: numberIn(row, 'seq'),
      hash: textIn(row, 'hash'),
      pos: numberIn(row, 'pos'),
      sid: numberIn(row, 'sid'),
    };
  }

  /** Rows from the head down to a sequence, that one included; 0 stands for the start of all chains. */
  async #rowsBack(
    {
      session,
      anchor,
      downTo,
    }: { readonly session: string; readonly anchor: Anchor; readonly downTo: number },
    isOpen: () => void,
  ): Promise<LinkedRow[]> {
    const rows: LinkedRow[] = [];
    const least = Math.max(1, downTo);
    let { pos } = anchor;
    while (anchor.seq - rows.length >= least) {
      const seq = anchor.seq - rows.length;
      const page = this.#ask(() => this.#statements.back.all(pos, least));
      if (page.length === 0) throw found(session, seq, 'no row');
      for (const row of page) {
        rows.push(linkedRow(row, { session, anchor, seq: anchor.seq - rows.length, pos }));
        pos = numberIn(row, 'prior');
      }
      if (seq - page.length < least) break;
      await setImmediate();
      isOpen();
    }
    if (downTo === 0) rows.push({ seq: 0, hash: GENESIS_HASH, text: '' });
    return rows;
  }

  #ask<T>(query: () => T): T {
    try {
      return query();
    } catch (cause) {
      throw sqliteFault(cause, `${this.#path} cannot be read`);
    }
  }
}

/** A row that was reached by a link, if it is the one that the link means. */
function linkedRow(
  row: SqliteRow,
  { session, anchor, seq, pos }: { readonly session: string; readonly anchor: Anchor } & RowLink,
): LinkedRow {
  const link = { seq: numberIn(row, 'seq'), hash: textIn(row, 'hash'), text: textIn(row, 'body') };
  if (link.seq !== seq || numberIn(row, 'pos') !== pos || numberIn(row, 'sid') !== anchor.sid) {
    throw found(session, seq, `a row of another place (${numberIn(row, 'sid')}:${link.seq})`);
  }
  if (seq === anchor.seq && link.hash !== anchor.hash)
    throw found(session, seq, 'another hash than the head');
  return link;
}

/** Lets other work in after so many rows or characters. */
class Slice {
  #rows = 0;
  #chars = 0;

  /** True if there was a pause. */
  async pauseAfter(text: string): Promise<boolean> {
    this.#rows += 1;
    this.#chars += text.length;
    if (this.#rows < SLICE_ROWS && this.#chars < SLICE_CHARS) return false;
    this.#rows = 0;
    this.#chars = 0;
    await setImmediate();
    return true;
  }
}

function positioned(row: SqliteRow): PositionedRecord {
  const seq = numberIn(row, 'seq');
  const prev = seq === 1 ? GENESIS_HASH : textIn(row, 'prev');
  const stored: StoredRow = { text: textIn(row, 'body'), prev, hash: textIn(row, 'hash') };
  return {
    pos: numberIn(row, 'pos'),
    record: recordCodec.open(stored, { session: textIn(row, 'session'), seq }),
  };
}

function summarize(rows: readonly SqliteRow[], isOwned: OwnerCheck): readonly SessionSummary[] {
  return rows.map((row) => {
    const parent = optionalTextIn(row, 'parent');
    const openTurn = optionalTextIn(row, 'open_turn');
    const owner = optionalTextIn(row, 'owner');
    const session = textIn(row, 'session');
    return {
      sessionId: session,
      rootId: textIn(row, 'root'),
      ...(parent === undefined ? {} : { parentId: parent }),
      agent: textIn(row, 'agent'),
      head: { seq: numberIn(row, 'seq'), hash: textIn(row, 'hash'), epoch: numberIn(row, 'epoch') },
      openedAt: numberIn(row, 'opened_at'),
      updatedAt: numberIn(row, 'updated_at'),
      ...(openTurn === undefined ? {} : { openTurn }),
      owned: owner !== undefined && isOwned(session, owner),
    };
  });
}

function found(session: string, seq: number, what: string): SwarmError {
  return new SwarmError('ledger-corrupt', `session ${session}, record ${seq}: found ${what}`);
}
