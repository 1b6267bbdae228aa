import { createHash } from 'node:crypto';
import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import type { NatsClient } from './client.ts';
import { askJetStream, FAULT, readJson, rejection } from './jet-stream-api.ts';
import { DEAD_LETTER_STREAM } from './ledger-streams.ts';
import type { SubjectOptions } from './subjects.ts';
import {
  createQueueSubjects,
  type QueuedTurn,
  type QueueSubjects,
  queuedTurnSchema,
  storeTurn,
} from './work-queue.ts';

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
  /** The turn in it, and the queue it was in; undefined for what is no turn of this namespace. */
  readonly queued: { readonly subject: string; readonly pool: string; readonly turn: QueuedTurn } | undefined;
}

/** What became of an attempt to put a dead letter back into its queue. */
export type Requeued =
  /** `run`: that of the turn now. */
  | { readonly type: 'requeued'; readonly run: string }
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
   * Puts the turn back where it was and drops the letter. A turn that was given up because it killed its workers was
   * closed: it goes back as a run of its own. Doing it again after a fault is safe.
   * @throws SwarmError 'invalid-input' for a letter that holds no turn
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
      const { queued, run, messageId } = backInQueue(letter);
      const turn = { ...queued.turn, run };
      const { type } = await storeTurn(client, { subject: queued.subject, turn, messageId });
      if (type === 'busy') return { type };
      await drop(letter);
      return { type: 'requeued', run };
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

/** The turn of a letter. It is put back where the letter says it was, so that has to be a queue of its session. */
function queuedIn({ subject = '', body }: z.infer<typeof letterSchema>, subjects: QueueSubjects) {
  const turn = queuedTurnSchema.safeParse(readJson(Buffer.from(body, 'utf8')));
  const { pool, session } = subjects.parseTurn(subject) ?? {};
  if (!turn.success || pool === undefined || session !== turn.data.session) return undefined;
  return { subject, pool, turn: turn.data };
}

function backInQueue({ sequence, reason, queued }: DeadLetter) {
  if (queued === undefined) {
    throw new SwarmError('invalid-input', `dead letter ${sequence} holds no turn that could be queued`);
  }
  const { turn, subject } = queued;
  const run = reason === 'poison' ? anotherRunOf(turn.run, sequence) : turn.run;
  // Not the id it was queued by at first: the server may know that one still, and would store nothing.
  return { queued, run, messageId: `${subject}:${run}:${sequence}` };
}

/** The same for the same letter, so that two attempts are one run. */
function anotherRunOf(run: string, sequence: number): string {
  const digest = createHash('sha256').update(`${run}\n${sequence}`).digest('hex');
  return `r-${digest.slice(0, 26)}`;
}
