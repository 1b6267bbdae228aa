import { z } from 'zod';
import { ENVELOPE_VERSION, type Envelope, envelopeSchema } from './envelope.ts';
import {
  type DurableEventType,
  digestSchema,
  EVENT_DATA,
  type EventData,
  type EventType,
} from './event-data.ts';

type KindOf<T extends string> = T extends `${infer Kind}.${string}` ? Kind : never;
type NameOf<T extends string> = T extends `${string}.${infer Name}` ? Name : never;

/** First half of an event type. */
export type EventKind = KindOf<EventType>;

/** An event of type `T`: a ledger record, redacted, in its envelope. */
export type EventOf<T extends DurableEventType> = Envelope & {
  readonly type: T;
  readonly kind: KindOf<T>;
  readonly name: NameOf<T>;
  readonly data: EventData<T>;
};

/** Any event of a run; `switch (event.type)` narrows `event.data`. */
export type RunEvent = { [T in DurableEventType]: EventOf<T> }[DurableEventType];

// The cast keeps the names: `Object.keys` forgets them.
const ALL_TYPES = Object.keys(EVENT_DATA) as readonly EventType[];

/** Every type an event of a ledger may have, in the order of the table. */
export const DURABLE_EVENT_TYPES: readonly DurableEventType[] = ALL_TYPES.filter(
  (type): type is DurableEventType => type !== 'machine.transitioned',
);

/** True for a type of this version. */
export function isEventType(type: string): type is EventType {
  return Object.hasOwn(EVENT_DATA, type);
}

const schemas = new Map<DurableEventType, z.ZodType<RunEvent>>();

/**
 * Schema of a whole event of one type. Fields it does not know are dropped, never refused: a newer publisher
 * may say more.
 */
export function eventSchema(type: DurableEventType): z.ZodType<RunEvent> {
  const known = schemas.get(type);
  if (known !== undefined) return known;
  const { facts, content } = EVENT_DATA[type];
  const digests = z.object(
    Object.fromEntries(Object.keys(content.shape).map((field) => [field, digestSchema.optional()])),
  );
  const schema = envelopeSchema.extend({
    type: z.literal(type),
    kind: z.literal(type.slice(0, type.indexOf('.'))),
    name: z.literal(type.slice(type.indexOf('.') + 1)),
    data: z.object({
      ...facts.shape,
      ...content.partial().shape,
      digests: digests.optional(),
    }),
  });
  // The parts are those RunEvent is inferred from; that their sum is it, the golden samples in the tests show.
  const typed = schema as unknown as z.ZodType<RunEvent>;
  schemas.set(type, typed);
  return typed;
}

/** What a message turned out to be. */
export type ParsedEvent =
  | { readonly type: 'event'; readonly event: RunEvent }
  /** An envelope or event type of another version: ignore and count it. */
  | { readonly type: 'unknown'; readonly reason: 'version' | 'event-type' }
  | { readonly type: 'invalid'; readonly message: string };

const headSchema = z.object({ v: z.number(), type: z.string() });

/** Reads an event of whatever origin. Never throws; unknown fields are dropped. */
export function parseEvent(value: unknown): ParsedEvent {
  const head = headSchema.safeParse(value);
  if (!head.success) return { type: 'invalid', message: z.prettifyError(head.error) };
  if (head.data.v !== ENVELOPE_VERSION) return { type: 'unknown', reason: 'version' };
  const type = head.data.type;
  if (!isEventType(type) || type === 'machine.transitioned') {
    return { type: 'unknown', reason: 'event-type' };
  }
  const parsed = eventSchema(type).safeParse(value);
  if (parsed.success) return { type: 'event', event: parsed.data };
  return { type: 'invalid', message: z.prettifyError(parsed.error) };
}

/** JSON Schema (draft 2020-12) of each event, by type, for readers in other languages. */
export function toJsonSchemas(): Readonly<Record<DurableEventType, object>> {
  const entries = DURABLE_EVENT_TYPES.map((type) => [
    type,
    {
      ...z.toJSONSchema(eventSchema(type), { io: 'input', unrepresentable: 'any' }),
      $id: `urn:swarmwright:event:${type}:v${ENVELOPE_VERSION}`,
      title: type,
    },
  ]);
  // One entry for each type, by the line above.
  return Object.fromEntries(entries) as Record<DurableEventType, object>;
}
