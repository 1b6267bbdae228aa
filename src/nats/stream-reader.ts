import { type Clock, systemClock } from '../clock.ts';
import { SwarmError } from '../errors.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { NatsClient, NatsMessage, NatsSubscription } from './client.ts';
import { askJetStream, FAULT, readJson, rejection } from './jet-stream-api.ts';
import type { LedgerMessage } from './ledger-message.ts';

/** A message with its place in the stream. */
export interface SequencedMessage extends LedgerMessage {
  readonly sequence: number;
  readonly subject: string;
}

/** Messages of a page, in the order of the stream. */
export interface StreamPage {
  readonly messages: readonly SequencedMessage[];
  /** Nothing was stored behind it when it was read. */
  readonly isLast: boolean;
}

/**
 * Reads a stream without a consumer: one question, and one or many answers. In a cluster any copy may answer, which may
 * be a moment behind; only `newest` asks the leader.
 * All throw SwarmError 'nats-unavailable' without an answer in time, 'nats-rejected'.
 */
export interface StreamReader {
  /** Last message of a subject. */
  last(subject: string): Promise<SequencedMessage | undefined>;
  /** First message under a filter at or after a sequence. */
  next(filter: string, sequence: number): Promise<SequencedMessage | undefined>;
  /** Messages under a filter at or after a sequence, a bounded number. */
  page(filter: string, sequence: number): Promise<StreamPage>;
  /** Subject and sequence of the last message under a filter, as the leader knows it. */
  newest(filter: string): Promise<SequencedMessage | undefined>;
  /** Pages on their way and later ones fail at once: nobody takes the answers any more. */
  close(): void;
}

const STATUS = { endOfBatch: 204, requestMalformed: 408, notFound: 404 } as const;

interface PendingPage {
  readonly messages: SequencedMessage[];
  resolve(page: StreamPage): void;
  reject(error: SwarmError): void;
}

/** Makes a {@link StreamReader}. One subscription takes the answers to all its pages. */
export function createStreamReader(
  client: NatsClient,
  stream: string,
  clock: Clock = systemClock,
): StreamReader {
  const inbox = client.inbox();
  const pages = new Map<string, PendingPage>();
  const api = `$JS.API.DIRECT.GET.${stream}`;
  let next = 0;
  let isClosed = false;
  let subscription: NatsSubscription | undefined;

  const take = (message: NatsMessage) => {
    const token = message.subject.slice(inbox.length + 1);
    const pending = pages.get(token);
    if (pending === undefined) return;
    if (message.status === 0) {
      pending.messages.push(sequenced(message));
      return;
    }
    const { messages } = pending;
    if (message.status === STATUS.notFound) pending.resolve({ messages, isLast: true });
    else if (message.status === STATUS.endOfBatch) {
      pending.resolve({ messages, isLast: Number(message.header('Nats-Num-Pending') ?? 0) === 0 });
    } else pending.reject(refused(stream, message.status));
  };

  async function ask(subject: string, question: object): Promise<SequencedMessage | undefined> {
    const message = await client.request(subject, encode(question));
    if (message.status === STATUS.notFound) return undefined;
    if (message.status !== 0) throw refused(stream, message.status);
    return sequenced(message);
  }

  const closed = () => new SwarmError('nats-unavailable', `reading ${stream}: the reader was closed`);

  async function readPage(question: object): Promise<StreamPage> {
    if (isClosed) throw closed();
    subscription ??= client.subscribe(`${inbox}.*`, take);
    const token = (next++).toString(36);
    const { promise, resolve, reject } = Promise.withResolvers<StreamPage>();
    const fail = (why: string) => reject(new SwarmError('nats-unavailable', `reading ${stream}: ${why}`));
    pages.set(token, { messages: [], resolve, reject });
    const { life } = client;
    const onLost = () => fail('the connection was lost');
    life.addEventListener('abort', onLost, { once: true });
    const timer = clock.setTimeout(() => fail('no answer in time'), NATS_LIMITS.requestMs);
    try {
      client.publish(api, encode(question), { reply: `${inbox}.${token}` });
      return await promise;
    } finally {
      clock.clearTimeout(timer);
      life.removeEventListener('abort', onLost);
      pages.delete(token);
    }
  }

  return {
    last: (subject) => ask(api, { last_by_subj: subject }),
    next: (filter, sequence) => ask(api, { seq: Math.max(1, sequence), next_by_subj: filter }),
    page: (filter, sequence) =>
      readPage({
        seq: Math.max(1, sequence),
        next_by_subj: filter,
        batch: NATS_LIMITS.ledgerPage,
        max_bytes: NATS_LIMITS.ledgerPageBytes,
      }),
    newest: (filter) => newest(client, stream, filter),
    close() {
      isClosed = true;
      subscription?.close();
      for (const pending of pages.values()) pending.reject(closed());
    },
  };
}

async function newest(
  client: NatsClient,
  stream: string,
  filter: string,
): Promise<SequencedMessage | undefined> {
  const answer = await askJetStream(client, `STREAM.MSG.GET.${stream}`, { last_by_subj: filter });
  if (answer.type === 'fault') {
    if (answer.fault.code === FAULT.noMessage) return undefined;
    throw rejection(`reading ${stream}`, answer.fault);
  }
  // As the API of the server has it.
  const { message } = answer.body as {
    readonly message: { readonly subject: string; readonly seq: number; hdrs?: string; data?: string };
  };
  const headers = parseHeaders(Buffer.from(message.hdrs ?? '', 'base64').toString('utf8'));
  return {
    subject: message.subject,
    sequence: message.seq,
    data: Buffer.from(message.data ?? '', 'base64'),
    header: (name) => headers.get(name),
  };
}

function parseHeaders(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\r\n').slice(1);
  return new Map(
    lines.flatMap((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()] as const];
    }),
  );
}

/** A message as the server hands it out of a stream, with its place in headers. */
export function sequenced(message: NatsMessage): SequencedMessage {
  return {
    sequence: Number(message.header('Nats-Sequence')),
    subject: message.header('Nats-Subject') ?? '',
    data: message.data,
    header: (name) => message.header(name),
  };
}

function encode(question: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(question));
}

function refused(stream: string, status: number): SwarmError {
  return new SwarmError('nats-unavailable', `reading ${stream}: the server answered with ${status}`);
}

/** JSON of a message; undefined for what is none. */
export function jsonOf(message: LedgerMessage): unknown {
  return readJson(message.data);
}
