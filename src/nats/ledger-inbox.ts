import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import { jsonValueSchema } from '../ledger/content.ts';
import { mailboxFull, parseReply, unanswered } from '../ledger/inbox-rules.ts';
import type { InboxItem, InboxReply } from '../ledger/ledger.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsHeaders } from './client.ts';
import type { GuardedOutcome, GuardedPublisher } from './guarded-publish.ts';
import { readJson } from './jet-stream-api.ts';
import type { LedgerSubjects } from './ledger-subjects.ts';
import type { SequencedMessage, StreamReader } from './stream-reader.ts';
import type { StreamWatch } from './stream-watch.ts';
import { readSubject } from './subject-messages.ts';

/** Time a message that was taken back is remembered, so that a late answer finds it gone. */
const WITHDRAWN_S = 60;
const MAX_REMEMBERED = 10_000;

const messageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('asked'), id: z.string(), kind: z.string(), body: jsonValueSchema }),
  z.object({ type: z.literal('answered'), reply: z.unknown() }),
  z.object({ type: z.literal('withdrawn') }),
]);

type MailboxMessage = z.infer<typeof messageSchema>;

export interface LedgerInboxOptions {
  readonly reader: StreamReader;
  readonly publisher: GuardedPublisher;
  readonly watch: StreamWatch;
  readonly subjects: LedgerSubjects;
  /** Unanswered messages of one session. */
  readonly maxWaiting: number;
  readonly withinMs: number;
  isClosed(): boolean;
  /** Tries again what the server could not do for a moment. */
  steady<T>(work: () => Promise<T>): Promise<T>;
}

/** Messages to owners. Each has a subject of its own, where the answer takes the place of the message. */
export class LedgerInbox {
  readonly #options: LedgerInboxOptions;
  /** Where a message stands that was handed out here, so that its answer goes out at once. */
  readonly #handedOut = new Map<string, number>();

  constructor(options: LedgerInboxOptions) {
    this.#options = options;
  }

  /** @throws SwarmError 'mailbox-full', 'ledger-unavailable', 'ledger-closed' */
  async post(item: InboxItem, signal: AbortSignal): Promise<InboxReply> {
    const { watch, subjects, isClosed } = this.#options;
    if (signal.aborted) throw unanswered(item, isClosed());
    const subject = subjects.message(item.session, item.id);
    const watched = watch.on(subjects.mailboxOf(subject));
    try {
      const asked = await this.#ask(subject, item);
      if (typeof asked !== 'number') return asked;
      for (;;) {
        const since = watched.watch.version;
        const reply = await this.#replyAt(subject);
        if (reply !== undefined) return reply;
        if (isClosed()) throw unanswered(item, true);
        if (signal.aborted) return await this.#withdraw(subject, item, asked);
        await watched.watch.changed(since, signal);
      }
    } finally {
      watched.release();
    }
  }

  /** `isNew`: nothing can have been posted yet, so that there is nothing to look for until something comes. */
  async *follow(
    session: string,
    signal: AbortSignal,
    { isNew }: { readonly isNew: boolean },
  ): AsyncGenerator<InboxItem, void, undefined> {
    const { watch, subjects, isClosed, steady, reader } = this.#options;
    const filter = subjects.messages(session);
    const watched = watch.on(subjects.mailboxOf(filter));
    let next = 1;
    try {
      if (isNew) await watched.watch.changed(watched.watch.version, signal);
      while (!isClosed() && !signal.aborted) {
        const since = watched.watch.version;
        const atLeast = watched.newest();
        const page = await steady(() => collect(readSubject(reader, { filter, from: next, atLeast })));
        for (const message of page) {
          next = message.sequence + 1;
          const said = parse(message);
          if (said?.type !== 'asked') continue;
          this.#remember(message.subject, message.sequence);
          yield { id: said.id, session, kind: said.kind, body: said.body };
          if (isClosed() || signal.aborted) return;
        }
        if (page.length === 0) await watched.watch.changed(since, signal);
      }
    } catch (error) {
      if (!isClosed()) throw error;
    } finally {
      watched.release();
    }
  }

  /** The first answer stands; one to a message that is gone changes nothing. @throws SwarmError 'ledger-unavailable' */
  async reply(item: InboxItem, reply: InboxReply): Promise<void> {
    const subject = this.#options.subjects.message(item.session, item.id);
    const at = this.#handedOut.get(subject) ?? (await this.#askedAt(subject));
    this.#handedOut.delete(subject);
    if (at === undefined) return;
    const ttl = `${NATS_LIMITS.replyMs / 1_000}s`;
    await this.#store(subject, at, { type: 'answered', reply }, { 'Nats-TTL': ttl });
  }

  /** The sequence of the message, or the answer it already has. */
  async #ask(subject: string, { session, id, kind, body }: InboxItem): Promise<number | InboxReply> {
    const { steady, reader } = this.#options;
    for (;;) {
      const known = await steady(() => reader.last(subject));
      const said = known === undefined ? undefined : parse(known);
      if (said?.type === 'answered') return parseReply(canonicalJson(said.reply));
      if (known !== undefined && said?.type === 'asked') return known.sequence;
      await this.#checkRoom({ id, session, kind, body });
      const outcome = await this.#store(subject, known?.sequence ?? 0, { type: 'asked', id, kind, body });
      if (outcome.type === 'stored') return outcome.last;
    }
  }

  /** Of several who post at the same moment all may come through. */
  async #checkRoom(item: InboxItem): Promise<void> {
    const { steady, reader, subjects, maxWaiting } = this.#options;
    const filter = subjects.messages(item.session);
    const all = await steady(() => collect(readSubject(reader, { filter, from: 1, atLeast: 0 })));
    if (all.length < maxWaiting) return;
    const waiting = all.filter((message) => parse(message)?.type === 'asked').length;
    if (waiting >= maxWaiting) throw mailboxFull(item, waiting);
  }

  async #replyAt(subject: string): Promise<InboxReply | undefined> {
    const { steady, reader } = this.#options;
    const message = await steady(() => reader.last(subject));
    const said = message === undefined ? undefined : parse(message);
    return said?.type === 'answered' ? parseReply(canonicalJson(said.reply)) : undefined;
  }

  /** The owner need not act on what nobody waits for. An answer that came first stands. */
  async #withdraw(subject: string, item: InboxItem, at: number): Promise<InboxReply> {
    const ttl = { 'Nats-TTL': `${WITHDRAWN_S}s` };
    const outcome = await this.#store(subject, at, { type: 'withdrawn' }, ttl);
    const reply = outcome.type === 'overtaken' ? await this.#replyAt(subject) : undefined;
    if (reply !== undefined) return reply;
    throw unanswered(item, this.#options.isClosed());
  }

  async #askedAt(subject: string): Promise<number | undefined> {
    const { steady, reader } = this.#options;
    const message = await steady(() => reader.last(subject));
    return message !== undefined && parse(message)?.type === 'asked' ? message.sequence : undefined;
  }

  async #store(
    subject: string,
    expected: number,
    message: MailboxMessage,
    headers: NatsHeaders = {},
  ): Promise<GuardedOutcome> {
    const { publisher, watch, subjects, withinMs } = this.#options;
    const text = canonicalJson(message);
    const payload = Buffer.from(text, 'utf8');
    const isOwn = (found: SequencedMessage) => Buffer.from(found.data).equals(payload);
    const batch = { subject, expected, messages: [{ payload, headers }], isOwn };
    const outcome = await publisher.publish(batch, withinMs);
    if (outcome.type === 'unknown') {
      throw new SwarmError('ledger-unavailable', 'a message could not be stored', { cause: outcome.cause });
    }
    if (outcome.type === 'refused') throw new SwarmError('ledger-unavailable', outcome.message);
    if (outcome.type === 'stored') watch.note([subjects.mailboxOf(subject)], outcome.last);
    return outcome;
  }

  #remember(subject: string, sequence: number): void {
    this.#handedOut.set(subject, sequence);
    const [oldest] = this.#handedOut.keys();
    if (this.#handedOut.size > MAX_REMEMBERED && oldest !== undefined) this.#handedOut.delete(oldest);
  }
}

/** Undefined for what somebody else left there: it keeps nobody from what is a message. */
function parse(message: SequencedMessage): MailboxMessage | undefined {
  return messageSchema.safeParse(readJson(message.data)).data;
}

async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
