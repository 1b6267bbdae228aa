import type { NatsClient } from './client.ts';
import { isBeginning } from './ledger-message.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import { type ListedSession, listedSession, listSessions, oldestFirst } from './session-listing.ts';
import type { SequencedMessage, StreamReader } from './stream-reader.ts';
import { readSubject } from './subject-messages.ts';

/** Messages that were written since the last look beyond which all sessions are listed anew: that costs less. */
const MAX_BEHIND = 20_000;
/** Bytes of them, likewise: they come whole, and of a list only the headers. */
const MAX_BYTES = 32 * 1024 * 1024;

export interface OpenSessionsOptions {
  readonly client: NatsClient;
  readonly reader: StreamReader;
  readonly subjects: LedgerSubjects;
  /** Messages behind which all sessions are listed anew. Default 20,000. */
  readonly maxBehind?: number;
  /** Bytes of them. Default 32 MiB. */
  readonly maxBytes?: number;
}

/** A session with an open turn. */
export interface OpenListed extends ListedSession {
  /** Sequence of the newest message of its tree. */
  readonly treeVersion: number;
}

/**
 * The sessions of a namespace that have an open turn, kept with the message up to which they are known: a look reads
 * what was written since the last one, and lists all sessions only the first time. What is kept grows with the open
 * turns, not with the sessions. A stream in which that message is not where it was is another one, or lost its end in a
 * crash, and is listed anew. Other messages that are taken out by hand are not missed before their session is written
 * to again.
 */
export class OpenSessions {
  readonly #options: OpenSessionsOptions;
  readonly #open = new Map<string, ListedSession>();
  /** Newest message of each tree with an open turn, by its root. */
  readonly #trees = new Map<string, number>();
  /** The last message that counts here; undefined before the first look, and where there was none. */
  #known: SequencedMessage | undefined;
  #look: Promise<unknown> = Promise.resolve();

  constructor(options: OpenSessionsOptions) {
    this.#options = options;
  }

  /** Oldest first, as of the call. @throws SwarmError 'nats-unavailable', 'nats-rejected' */
  list(): Promise<readonly OpenListed[]> {
    // One after the other: each goes on where the one before stopped.
    const look = this.#look.then(() => this.#list());
    this.#look = look.catch(() => undefined);
    return look;
  }

  async #list(): Promise<readonly OpenListed[]> {
    const { reader, subjects, maxBehind = MAX_BEHIND } = this.#options;
    const newest = await reader.newest(subjects.sessions());
    const known = this.#known;
    const behind = (newest?.sequence ?? 0) - (known?.sequence ?? 0);
    const canReadOn = newest !== undefined && known !== undefined && behind <= maxBehind;
    if (!canReadOn || !(await this.#readOn(known, newest))) await this.#listAll(newest);
    this.#forgetTrees();
    return [...this.#open.values()].sort(oldestFirst).map((one) => {
      return { ...one, treeVersion: this.#trees.get(one.summary.rootId) ?? one.sequence };
    });
  }

  async #listAll(newest: SequencedMessage | undefined): Promise<void> {
    const { client, subjects } = this.#options;
    const all = newest === undefined ? [] : await listSessions(client, subjects.sessions());
    this.#open.clear();
    this.#trees.clear();
    for (const session of all) this.#note(session);
    // What came while it was listed is read once more.
    this.#known = newest;
  }

  /**
   * Reads what came behind the message that is known up to another one; false where the former is not there any more,
   * and where it is so much that a list costs less.
   */
  async #readOn(known: SequencedMessage, newest: SequencedMessage): Promise<boolean> {
    const { reader, subjects, maxBytes = MAX_BYTES } = this.#options;
    const [from, end] = [known.sequence, newest.sequence];
    if (end <= from) return isSame(known, newest);
    let isThere = false;
    let bytes = 0;
    for await (const message of readSubject(reader, { filter: subjects.sessions(), from, atLeast: end })) {
      isThere ||= isSame(known, message);
      bytes += message.data.byteLength;
      if (!isThere || bytes > maxBytes) return false;
      if (message.sequence > from) this.#take(message);
      // Nobody asked for what came since.
      if (message.sequence >= end) break;
    }
    return isThere;
  }

  #take(message: SequencedMessage): void {
    const id = message.subject.slice(this.#options.subjects.sessions().length - 1);
    const session = listedSession(id, message);
    if (session !== undefined) this.#note(session);
    // Damaged, or of a newer version: left out, as in the list of all.
    else if (!isBeginning(message)) this.#open.delete(id);
    this.#known = message;
  }

  #note(session: ListedSession): void {
    const { sessionId, rootId, openTurn } = session.summary;
    this.#trees.set(rootId, Math.max(session.sequence, this.#trees.get(rootId) ?? 0));
    if (openTurn === undefined) this.#open.delete(sessionId);
    else this.#open.set(sessionId, session);
  }

  #forgetTrees(): void {
    const open = new Set([...this.#open.values()].map(({ summary }) => summary.rootId));
    for (const root of this.#trees.keys()) if (!open.has(root)) this.#trees.delete(root);
  }
}

function isSame(left: SequencedMessage, right: SequencedMessage): boolean {
  const isInPlace = left.sequence === right.sequence && left.subject === right.subject;
  return isInPlace && Buffer.compare(left.data, right.data) === 0;
}
