import type { NatsClient } from './client.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import { type ListedSession, listedSession, listSessions, oldestFirst } from './session-listing.ts';
import type { StreamReader } from './stream-reader.ts';
import { readSubject } from './subject-messages.ts';

/** Messages that were written since the last look beyond which all sessions are listed anew: that costs less. */
const MAX_BEHIND = 20_000;

export interface OpenSessionsOptions {
  readonly client: NatsClient;
  readonly reader: StreamReader;
  readonly subjects: LedgerSubjects;
  /** Messages behind which all sessions are listed anew. Default 20,000. */
  readonly maxBehind?: number;
}

/** A session with an open turn. */
export interface OpenListed extends ListedSession {
  /** Sequence of the newest message of its tree. */
  readonly treeVersion: number;
}

/**
 * The sessions of a namespace that have an open turn, kept with the message up to which they are known: a look reads
 * what was written since the last one, and lists all sessions only the first time. What is kept grows with the open
 * turns, not with the sessions. Messages that are taken out of the stream by hand are not missed before their session
 * is written to again.
 */
export class OpenSessions {
  readonly #options: OpenSessionsOptions;
  readonly #open = new Map<string, ListedSession>();
  /** Newest message of each tree with an open turn, by its root. */
  readonly #trees = new Map<string, number>();
  /** The last message that counts here; 0 before the first look. */
  #known = 0;
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
    const end = newest?.sequence ?? 0;
    const behind = end - this.#known;
    // A stream that ends before what is known was made anew.
    if (this.#known === 0 || behind < 0 || behind > maxBehind) await this.#listAll(end);
    else if (behind > 0) await this.#readOn(end);
    this.#forgetTrees();
    return [...this.#open.values()].sort(oldestFirst).map((one) => {
      return { ...one, treeVersion: this.#trees.get(one.summary.rootId) ?? one.sequence };
    });
  }

  async #listAll(end: number): Promise<void> {
    const { client, subjects } = this.#options;
    const all = end === 0 ? [] : await listSessions(client, subjects.sessions());
    this.#open.clear();
    this.#trees.clear();
    for (const session of all) this.#note(session);
    // What came while it was listed is read once more.
    this.#known = end;
  }

  async #readOn(end: number): Promise<void> {
    const { reader, subjects } = this.#options;
    const filter = subjects.sessions();
    for await (const message of readSubject(reader, { filter, from: this.#known + 1, atLeast: end })) {
      const session = listedSession(message.subject.slice(filter.length - 1), message);
      if (session !== undefined) this.#note(session);
      this.#known = message.sequence;
      // Nobody asked for what came since.
      if (message.sequence >= end) return;
    }
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
