import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import type { NatsClient } from './client.ts';

/** JetStream counts time in nanoseconds. */
export const NANOS_PER_MS = 1_000_000;

/** An error that JetStream answered with. `code` is its own number, as documented by the server. */
export interface JetStreamFault {
  readonly code: number;
  readonly description: string;
}

/** Numbers of faults that something hangs on. */
export const FAULT = {
  streamNotFound: 10059,
  consumerNotFound: 10014,
  noMessage: 10037,
  messageTooLarge: 10054,
  wrongLastSequence: 10071,
  wrongLastSequenceConstant: 10164,
  notStored: 10077,
} as const;

const faultSchema = z.object({
  error: z.object({ code: z.number(), err_code: z.number().optional(), description: z.string().optional() }),
});

/** The fault in an answer, if it is one. */
export function faultIn(answer: unknown): JetStreamFault | undefined {
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return undefined;
  const parsed = faultSchema.safeParse(answer);
  if (!parsed.success) return undefined;
  const { code, err_code, description = 'no reason given' } = parsed.data.error;
  return { code: err_code ?? code, description };
}

/** What JetStream answered. */
export type JetStreamAnswer =
  | { readonly type: 'answer'; readonly body: object }
  | { readonly type: 'fault'; readonly fault: JetStreamFault };

/**
 * Asks the JetStream API of the server.
 * @throws SwarmError 'nats-unavailable', 'nats-rejected'
 */
export async function askJetStream(
  client: NatsClient,
  subject: string,
  body: object = {},
  signal?: AbortSignal,
): Promise<JetStreamAnswer> {
  const payload = new TextEncoder().encode(JSON.stringify(body));
  const message = await client.request(`$JS.API.${subject}`, payload, signal === undefined ? {} : { signal });
  const answer = readJson(message.data);
  if (typeof answer !== 'object' || answer === null) {
    throw new SwarmError('nats-unavailable', `JetStream answered ${subject} with what is no JSON object`);
  }
  const fault = faultIn(answer);
  return fault === undefined ? { type: 'answer', body: answer } : { type: 'fault', fault };
}

/** A fault as an error. */
export function rejection(doing: string, { code, description }: JetStreamFault): SwarmError {
  return new SwarmError('nats-rejected', `${doing}: ${description} (${code})`);
}

/** JSON of a message, undefined for what is none. */
export function readJson(data: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch {
    return undefined;
  }
}
