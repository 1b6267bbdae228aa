import { createHash } from 'node:crypto';
import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import type { NatsClient } from './client.ts';
import { askJetStream, FAULT, readJson, rejection } from './jet-stream-api.ts';
import { DEAD_LETTER_STREAM } from './ledger-streams.ts';
import { type QueueEntry, queueEntrySchema } from './queue-entry.ts';
import type { SubjectOptions } from './subjects.ts';
import { createQueueSubjects, type QueueSubjects, storeTurn } from './work-queue.ts';

/** Something that no worker could bring to an end. All of its texts are those of whoever wrote it. */
export interface DeadLetter {
  /** Its place among the dead letters of all namespaces. */
  readonly sequence: number;
  /** When it was buried, RFC 3339. */
  readonly time: string;
  /** What it came from, and a word for why it is here. */
  readonly source: string;
  readonly reason: string;
  /** Why, in words. */
  readonly message: string;
  /** Times it was handed to a worker. */
  readonly deliveries: number | undefined;
  /** What was in the queue, as it was there. */
  readonly body: string;
  /** What was to be done, and the queue it was in; undefined for what is no entry of a queue of this namespace. */
  readonly queued:
    | { readonly subject: string; readonly pool: string; readonly entry: QueueEntry }
    | undefined;
}

/** What became of an attempt to put a dead letter back into its queue. */
export type Requeued =
  /** `run`: the new one of a turn. A session that is to be taken up goes on with the run it has. */
  | { readonly type: 'requeued'; readonly run: string | undefined }
  /** Another turn of the session waits or is being worked on; the letter stays. */
  | { readonly type: 'busy' };

/** What a worker writes; anybody who may publish there can write anything else. */
const letterSchema = z.object({
  message: z.string().default(''),
  deliveries: z.number().optional(),
  subject: z.string().optional(),
  body: z.string(),
});

const storedSchema = z.object({
  message: z.object({ seq: z.number(), subject: z.string(), time: z.string(), data: z.base64().default('') }),
});

/** The dead letters of one namespace. */
export interface DeadLetters {
  /** From the oldest to the newest, as they are when they are reached. */
  list(): AsyncGenerator<DeadLetter, void>;
  /** Undefined where there is none at that place. */
  read(sequence: number): Promise<DeadLetter | undefined>;
  /**
   * Puts it back where it was and drops the letter. Whoever gave the run of a turn was told that it failed, so it goes
   * back as another run. Doing it again after a fault is safe.
   * @throws SwarmError 'invalid-input' for a letter that holds no entry
   */
  requeue(letter: DeadLetter): Promise<Requeued>;
  drop(letter: DeadLetter): Promise<void>;
}

/** Opens the dead letters of a namespace. All of it throws SwarmError 'nats-unavailable', 'nats-rejected'. */
export function openDeadLetters(client: NatsClient, options: SubjectOptions): DeadLetters {
  const subjects = createQueueSubjects(options);
  const next = async (sequence: number): Promise<DeadLetter | undefined> => {
    const question = { seq: sequence, next_by_subj: subjects.deadLetters() };
    const answer = await askJetStream(client, `STREAM.MSG.GET.${DEAD_LETTER_STREAM}`, question);
    if (answer.type === 'answer') return letterFrom(answer.body, subjects);
    if (answer.fault.code === FAULT.noMessage) return undefined;
    if (answer.fault.code === FAULT.streamNotFound) throw noStream();
    throw rejection('reading dead letters', answer.fault);
  };
  const drop = async ({ sequence }: DeadLetter) => {
    const api = `STREAM.MSG.DELETE.${DEAD_LETTER_STREAM}`;
    const answer = await askJetStream(client, api, { seq: sequence, no_erase: true });
    if (answer.type === 'fault') throw rejection(`dropping dead letter ${sequence}`, answer.fault);
  };
  return {
    async *list() {
      for (let letter = await next(1); letter !== undefined; letter = await next(letter.sequence + 1)) {
        yield letter;
      }
    },
    async read(sequence) {
      const letter = await next(sequence);
      return letter?.sequence === sequence ? letter : undefined;
    },
    async requeue(letter) {
      const { turn, ...place } = backInQueue(letter);
      const { type } = await storeTurn(client, { turn, ...place });
      if (type === 'busy') return { type };
      await drop(letter);
      return { type: 'requeued', run: 'run' in turn ? turn.run : undefined };
    },
    drop,
  };
}

function noStream(): SwarmError {
  const advice = '`swarmwright nats init --ledger` makes it';
  return new SwarmError('nats-rejected', `the stream ${DEAD_LETTER_STREAM} is missing: ${advice}`);
}

function letterFrom(answer: object, subjects: QueueSubjects): DeadLetter {
  const { seq: sequence, subject, time, data } = storedSchema.parse(answer).message;
  const text = Buffer.from(data, 'base64');
  const { source = '', reason = '' } = subjects.parseDeadLetter(subject) ?? {};
  const parsed = letterSchema.safeParse(readJson(text));
  const common = { sequence, time, source, reason };
  if (!parsed.success) {
    return {
      ...common,
      message: 'not a dead letter',
      deliveries: undefined,
      body: text.toString('utf8'),
      queued: undefined,
    };
  }
  const { message, deliveries, body } = parsed.data;
  return { ...common, message, deliveries, body, queued: queuedIn(parsed.data, subjects) };
}

/** What a letter is about. It is put back where the letter says it was, so that has to be a queue of its session. */
function queuedIn({ subject = '', body }: z.infer<typeof letterSchema>, subjects: QueueSubjects) {
  const entry = queueEntrySchema.safeParse(readJson(Buffer.from(body, 'utf8')));
  const { pool, session } = subjects.parseEntry(subject) ?? {};
  if (!entry.success || pool === undefined || session !== entry.data.session) return undefined;
  return { subject, pool, entry: entry.data };
}

function backInQueue({ sequence, queued }: DeadLetter) {
  if (queued === undefined) {
    throw new SwarmError('invalid-input', `dead letter ${sequence} holds nothing that could be queued`);
  }
  const { subject } = queued;
  const turn = 'kind' in queued.entry ? queued.entry : anotherRun(queued.entry, sequence);
  // Not the id it was queued by at first: the server may know that one still, and would store nothing.
  return { subject, turn, messageId: `${subject}:dead-${sequence}` };
}

/** The same for the same letter, so that two attempts are one run. */
function anotherRun<Turn extends { readonly run: string }>(turn: Turn, sequence: number) {
  const digest = createHash('sha256').update(`${turn.run}\n${sequence}`).digest('hex');
  return { ...turn, run: `r-${digest.slice(0, 26)}` };
}
