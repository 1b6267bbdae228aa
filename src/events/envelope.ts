import { z } from 'zod';
import type { LedgerRecord } from '../ledger/records.ts';
import type { DurableEventType } from './event-data.ts';

/** Version of the envelope. A reader that does not know it ignores the event and counts it. */
export const ENVELOPE_VERSION = 1;

export const actorSchema = z.object({
  kind: z.enum(['model', 'user', 'runtime', 'tool']),
  id: z.string().optional(),
});

/** Who did what an event tells. A reader of a bus must not believe it of a publisher it does not trust. */
export type Actor = z.infer<typeof actorSchema>;

/** Everything about an event except `type`, `kind`, `name` and `data`. */
export const envelopeSchema = z.object({
  v: z.literal(ENVELOPE_VERSION),
  /** `<session>:<seq>`: the same for every copy of the event. */
  id: z.string(),
  /** Version of `data` for this type. */
  tv: z.int().positive(),
  session: z.string(),
  /** Session the whole swarm hangs from; its own for the root. */
  root: z.string(),
  /** Session that spawned this one. */
  parent: z.string().optional(),
  /** Name of the agent or graph. */
  agent: z.string(),
  /** Names from the root to this one. */
  agentPath: z.array(z.string()),
  /** The run an event of a turn belongs to; one run reaches over parents and children. */
  run: z.string().optional(),
  turn: z.string().optional(),
  step: z.string().optional(),
  call: z.string().optional(),
  /** Place in the ledger of the session, strictly increasing. Not every record is an event, so gaps are normal. */
  seq: z.int().positive(),
  /** `seq` of the event before this one in the session, 0 for the first: another value seen = events were lost. */
  prev: z.int().nonnegative(),
  /** Writer generation; information only. */
  epoch: z.int().nonnegative(),
  /** When the fact was recorded: RFC 3339 with milliseconds. Never use it for order. */
  ts: z.string(),
  /** Id of the record that led to this one. */
  cause: z.string().optional(),
  actor: actorSchema,
  /** JSON pointers into `data` of what was left out, masked or cut. */
  redacted: z.array(z.string()),
  /** Place in the commit order of the whole ledger: where reading a tree of sessions goes on. */
  cursor: z.int().nonnegative().optional(),
  /** Tenant or environment; on a bus only. */
  ns: z.string().optional(),
  /** Where all of `data` is, as JSON, when it was too large to come along; on a bus only. */
  ref: z
    .object({
      store: z.string(),
      key: z.string(),
      size: z.int().nonnegative(),
      sha256: z.string(),
      type: z.string(),
    })
    .optional(),
});

/** Everything about an event except what it says. */
export type Envelope = Readonly<Omit<z.infer<typeof envelopeSchema>, 'agentPath' | 'redacted' | 'actor'>> & {
  readonly agentPath: readonly string[];
  readonly redacted: readonly string[];
  readonly actor: Readonly<Actor>;
};

/** What the history of a session adds to one of its records. */
export interface EnvelopePlace {
  readonly prev: number;
  readonly agentPath: readonly string[];
  readonly run: string | undefined;
  readonly cursor: number | undefined;
}

type Head = Omit<Envelope, 'redacted' | 'actor'> & {
  readonly type: DurableEventType;
  readonly kind: string;
  readonly name: string;
};

/** The envelope of a record that is an event of a type; `redacted` and `actor` come with the data. */
export function envelopeOf(type: DurableEventType, record: LedgerRecord, place: EnvelopePlace): Head {
  const { parent, turn, step, call, cause } = record;
  const { run, cursor } = place;
  const { kind, name } = splitType(type);
  const head: { -readonly [K in keyof Head]?: Head[K] } = {
    v: ENVELOPE_VERSION,
    id: record.id,
    type,
    kind,
    name,
    tv: 1,
    session: record.session,
    root: record.root,
  };
  if (parent !== undefined) head.parent = parent;
  head.agent = record.agent;
  head.agentPath = place.agentPath;
  if (run !== undefined) head.run = run;
  if (turn !== undefined) head.turn = turn;
  if (step !== undefined) head.step = step;
  if (call !== undefined) head.call = call;
  head.seq = record.seq;
  head.prev = place.prev;
  head.epoch = record.epoch;
  head.ts = new Date(record.at).toISOString();
  if (cause !== undefined) head.cause = cause;
  if (cursor !== undefined) head.cursor = cursor;
  // Set one by one, as what may be absent stands between: an event is written in this order.
  return head as Head;
}

/** `kind` and `name` of a type. */
export function splitType(type: DurableEventType): { readonly kind: string; readonly name: string } {
  const dot = type.indexOf('.');
  return { kind: type.slice(0, dot), name: type.slice(dot + 1) };
}
