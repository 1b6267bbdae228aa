import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import { jsonValueSchema } from './content.ts';
import type { InboxItem, InboxReply } from './ledger.ts';

/**
 * Answered messages of a session that are remembered, so that a message that is posted again gets the answer of
 * the first time.
 */
export const REMEMBERED_REPLIES = 1_000;

const replySchema: z.ZodType<InboxReply> = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('accepted'), body: jsonValueSchema }),
  z.strictObject({ type: z.literal('rejected'), code: z.string(), message: z.string() }),
]);

/** @throws SwarmError 'ledger-corrupt' for a stored text that is not an answer */
export function parseReply(text: string): InboxReply {
  const parsed = replySchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new SwarmError('ledger-corrupt', 'a stored answer to a message is not one', { cause: parsed.error });
}

/** @throws SwarmError 'ledger-corrupt' for a stored text that is not JSON */
export function parseBody(text: string): InboxItem['body'] {
  const body = jsonValueSchema.safeParse(parseJson(text));
  if (body.success) return body.data;
  throw new SwarmError('ledger-corrupt', 'a stored message is not JSON', { cause: body.error });
}

/** Why a `post` ends without an answer. */
export function unanswered(item: InboxItem, closed: boolean): SwarmError {
  return closed
    ? new SwarmError('ledger-closed', 'the ledger was closed')
    : new SwarmError('ledger-unavailable', `no owner of ${item.session} answered ${item.kind} ${item.id}`);
}

export function mailboxFull(item: InboxItem, waiting: number): SwarmError {
  return new SwarmError('mailbox-full', `${waiting} messages wait for the owner of ${item.session}`);
}

/** `undefined`, which JSON cannot hold, for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
