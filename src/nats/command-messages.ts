import { z } from 'zod';
import type { JsonObject } from '../ledger/content.ts';
import { jsonObjectSchema } from '../ledger/content.ts';
import { approvalScopeSchema } from '../ledger/records.ts';
import type { CommandVerb } from './subjects.ts';

const id = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'an id has 1 to 64 characters of A-Z, a-z, 0-9, _ and -');
const actor = z.string().max(200).optional();
const reason = z.string().max(2_000).optional();

const decision = {
  id,
  /** Request that waits, as `approval.requested` names it. */
  request: z.string().max(300),
  /** Hash of the arguments it was asked for: a decision is for these and no others. */
  argsHash: z.string().max(200),
  scope: approvalScopeSchema.optional(),
  reason,
  actor,
};

/**
 * What each command says. `id` is the sender's: the same one again is the same command. `actor` is information; who may
 * send what is a matter of the permissions of the NATS user.
 */
export const COMMAND_BODIES = {
  steer: z.object({ id, text: z.string().min(1), actor }),
  cancel: z.object({ id, reason, actor }),
  approve: z.object({ ...decision, answer: z.string().optional(), editedInput: jsonObjectSchema.optional() }),
  deny: z.object(decision),
  pause: z.object({ id, actor }),
  resume: z.object({ id, actor }),
  query: z.object({ id }),
} as const satisfies Record<CommandVerb, z.ZodType>;

/** Body of a command of the verb `V`. */
export type CommandBody<V extends CommandVerb> = z.infer<(typeof COMMAND_BODIES)[V]>;

export const commandReplySchema = z.discriminatedUnion('accepted', [
  z.object({
    v: z.literal(1),
    accepted: z.literal(true),
    /** Place in the ledger of the session of the fact that carries the command out; for a query of its newest fact. */
    seq: z.number().int().nonnegative(),
    /** What a query asked for. */
    state: jsonObjectSchema.optional(),
  }),
  z.object({
    v: z.literal(1),
    accepted: z.literal(false),
    /** A code of `SwarmError`. */
    code: z.string(),
    message: z.string(),
  }),
]);

/** Answer to a command. */
export type CommandReply =
  | {
      readonly v: 1;
      readonly accepted: true;
      readonly seq: number;
      readonly state?: JsonObject | undefined;
    }
  | { readonly v: 1; readonly accepted: false; readonly code: string; readonly message: string };

/** An answer that says no. */
export function refuse(code: string, message: string): CommandReply {
  return { v: 1, accepted: false, code, message };
}

export function encodeMessage(value: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
