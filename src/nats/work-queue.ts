import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isSessionId } from '../ids.ts';
import { jsonObjectSchema, jsonValueSchema } from '../ledger/content.ts';
import type { NatsClient } from './client.ts';
import { FAULT, faultIn, readJson, rejection } from './jet-stream-api.ts';
import { createSubjects, decodeToken, encodeToken, type SubjectOptions, WIRE_VERSION } from './subjects.ts';

const id = z.string().refine(isSessionId, 'not an id');

/** A turn that is to be run: which definition, in which session, on what. */
export const queuedTurnSchema = z.object({
  v: z.literal(1),
  /** Id of the run. The same one again is the same turn. */
  run: id,
  session: id,
  /** The session was made for this turn. */
  isNew: z.boolean().optional(),
  /** Name of the definition in the registry of the worker. */
  target: z.string().min(1).max(256),
  input: jsonValueSchema,
  /** Hash of the definition. Absent: whatever the worker has under the name. */
  definition: z.string().max(128).optional(),
  budget: jsonObjectSchema.optional(),
  boundTools: z.array(z.string()).optional(),
  discovery: jsonObjectSchema.optional(),
});

/** One entry of the queue. */
export type QueuedTurn = z.infer<typeof queuedTurnSchema>;

/** What became of an attempt to queue a turn. */
export type Enqueued =
  /** `isRepeated`: it was there already. */
  | { readonly type: 'queued'; readonly isRepeated: boolean }
  /** Another turn of the session waits or is being worked on. */
  | { readonly type: 'busy' };

/** The subjects of the queue of one namespace. */
export interface QueueSubjects {
  turn(pool: string, session: string): string;
  turns(pool: string): string;
  /** Of a request to take a session up: one waits for each reason. */
  wake(pool: string, session: string, cause: string): string;
  /** Pool and session of a subject of this queue; a token that is a hash of a longer text stays one. */
  parseEntry(subject: string): { readonly pool: string; readonly session: string } | undefined;
  /** `source` is what a dead letter came from, `reason` a word for why. */
  deadLetter(source: string, reason: string): string;
  deadLetters(): string;
  parseDeadLetter(subject: string): { readonly source: string; readonly reason: string } | undefined;
}

/** @throws SwarmError 'invalid-definition' for a `subjectRoot` that cannot be one */
export function createQueueSubjects(options: SubjectOptions): QueueSubjects {
  const { ns } = createSubjects(options);
  const base = `${options.subjectRoot ?? 'swm'}.${WIRE_VERSION}.${encodeToken(ns)}`;
  const pairUnder = (plane: string, subject: string) => {
    if (!subject.startsWith(`${base}.${plane}.`)) return undefined;
    const tokens = subject.slice(base.length + plane.length + 2).split('.');
    return tokens.length === 2 ? tokens.map((token) => decodeToken(token) ?? token) : undefined;
  };
  return {
    turn: (pool, session) => `${base}.q.turn.${encodeToken(pool)}.${encodeToken(session)}`,
    turns: (pool) => `${base}.q.turn.${encodeToken(pool)}.*`,
    // No token that is encoded holds a `=w`, so it is never that of a turn.
    wake: (pool, session, cause) =>
      `${base}.q.turn.${encodeToken(pool)}.${encodeToken(session)}=w${shortHash(cause)}`,
    parseEntry(subject) {
      const [pool, token] = pairUnder('q.turn', subject) ?? [];
      if (pool === undefined || token === undefined) return undefined;
      return { pool, session: token.split('=w')[0] ?? token };
    },
    deadLetter: (source, reason) => `${base}.dlq.${encodeToken(source)}.${encodeToken(reason)}`,
    deadLetters: () => `${base}.dlq.*.*`,
    parseDeadLetter(subject) {
      const [source, reason] = pairUnder('dlq', subject) ?? [];
      return source === undefined || reason === undefined ? undefined : { source, reason };
    },
  };
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/**
 * Stores a turn in the queue, or what takes one up. The server takes a second message of the same id within two minutes for a repetition.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function storeTurn(
  client: NatsClient,
  {
    subject,
    turn,
    messageId,
  }: {
    readonly subject: string;
    readonly turn: { readonly session: string };
    readonly messageId: string;
  },
): Promise<Enqueued> {
  const payload = Buffer.from(JSON.stringify(turn), 'utf8');
  const headers = { 'Nats-Msg-Id': messageId };
  const answer = readJson((await client.request(subject, payload, { headers })).data);
  const fault = faultIn(answer);
  if (fault === undefined) {
    const isRepeated = typeof answer === 'object' && answer !== null && 'duplicate' in answer;
    return { type: 'queued', isRepeated };
  }
  if (fault.code === FAULT.notStored && fault.description.includes('per subject')) return { type: 'busy' };
  throw rejection(`queueing a turn of ${turn.session}`, fault);
}
