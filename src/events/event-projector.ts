import { hash } from 'node:crypto';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import type { Ledger, PositionedRecord } from '../ledger/ledger.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { DEFAULT_LIMITS } from '../limits.ts';
import { type Actor, envelopeOf, splitType } from './envelope.ts';
import { type Digest, type DurableEventType, EVENT_DATA } from './event-data.ts';
import type { EventKind, RunEvent } from './event-schemas.ts';
import { type EventRow, rowFor } from './event-table.ts';
import { createRedactor, type Redactor } from './redaction.ts';
import { createSessionPlaces, type SessionPlace } from './session-places.ts';

/** Which events may carry content (what people, models and tools said): none, all, or those of some kinds. */
export type ContentPolicy = boolean | readonly EventKind[];

/** Options of {@link createProjector}. */
export interface ProjectorOptions {
  /** Default false. */
  readonly content?: ContentPolicy;
  /** Masks secrets in everything that leaves. Default: by shape. */
  readonly redactor?: Redactor;
  /** Bytes of an event with content; over it the content stays behind. Default `limits.events.maxEventBytes`. */
  readonly maxEventBytes?: number;
}

/** Makes events of records. Hand it the records of a session in order; it may begin anywhere. */
export interface Projector {
  /**
   * The event of a record, or undefined where observers do not see it. What an event says depends on the ledger
   * alone, never on where reading began.
   * @throws what `ledger.read` throws, where the history of a session must be looked up
   */
  project(positioned: PositionedRecord): Promise<RunEvent | undefined>;
}

/** Characters of a text and items of a list that is no content: honest ones are shorter. */
const MAX_FACT_CHARS = 2_000;
const MAX_FACT_ITEMS = 1_000;

/** Makes a {@link Projector}. Memory: a few words for each of the last 1,000 sessions. */
export function createProjector(ledger: Pick<Ledger, 'read'>, options: ProjectorOptions = {}): Projector {
  const { content = false, maxEventBytes = DEFAULT_LIMITS.events.maxEventBytes } = options;
  const redactor = options.redactor ?? createRedactor();
  const places = createSessionPlaces(ledger);
  const letsOut = (type: DurableEventType) => isContentLetOut(content, type);

  return {
    async project({ pos, record }) {
      // A record's data is that of its type, so it fits the row of the type.
      const row = rowFor(record.type, record.data as never) as EventRow<unknown> | undefined;
      const found = places.at(record, row !== undefined);
      const place: SessionPlace = found instanceof Promise ? await found : found;
      if (row === undefined) return undefined;
      const finish = (withContent: boolean) => {
        const { data, redacted } = dataOf(row, record, { withContent, redactor });
        const rest = { actor: actorOf(row, record, redactor), redacted, data };
        const event = { ...envelopeOf(row.type, record, { ...place, cursor: pos }), ...rest };
        // Kind, name and data are those of the row's type; the golden samples hold the table to it.
        return event as unknown as RunEvent;
      };
      const event = finish(letsOut(row.type));
      if (!letsOut(row.type) || sizeOf(event) <= maxEventBytes) return event;
      return finish(false);
    },
  };
}

/** Whether a policy lets the content of a type out. */
export function isContentLetOut(content: ContentPolicy, type: DurableEventType): boolean {
  return typeof content === 'boolean' ? content : content.some((kind) => kind === splitType(type).kind);
}

interface DataOptions {
  readonly withContent: boolean;
  readonly redactor: Redactor;
}

function dataOf(row: EventRow<unknown>, record: LedgerRecord, { withContent, redactor }: DataOptions) {
  const redacted: string[] = [];
  const note = (pointer: string) => void redacted.push(pointer);
  const facts = redactor.value(factsOf(row, record, note), note);
  const content = contentOf(row, record);
  if (withContent) return { data: { ...facts, ...redactor.value(content, note) }, redacted };
  const digests: Record<string, Digest> = {};
  for (const [field, value] of Object.entries(content)) {
    digests[field] = digestOf(value);
    note(`/${field}`);
  }
  const none = Object.keys(digests).length === 0;
  return { data: none ? facts : { ...facts, digests }, redacted };
}

function actorOf(row: EventRow<unknown>, record: LedgerRecord, redactor: Redactor): Actor {
  if (typeof row.actor === 'string') return { kind: row.actor };
  const actor = row.actor(record.data);
  return actor.id === undefined ? actor : { ...actor, id: cutText(redactor.text(actor.id)) };
}

const KNOWN_FACTS = new Map<DurableEventType, ReadonlySet<string>>();

function knownFacts(type: DurableEventType): ReadonlySet<string> {
  const known = KNOWN_FACTS.get(type) ?? new Set(Object.keys(EVENT_DATA[type].facts.shape));
  KNOWN_FACTS.set(type, known);
  return known;
}

/**
 * Facts that have a value, bounded whatever a model or a foreign server wrote into a name. Only those that the table of
 * events names: a field that records gain later stays inside until it does.
 */
function factsOf(row: EventRow<unknown>, record: LedgerRecord, note: (pointer: string) => void): JsonObject {
  const known = knownFacts(row.type);
  const facts: Record<string, JsonValue> = {};
  for (const [field, value] of Object.entries(row.facts(record.data))) {
    if (value === undefined || !known.has(field)) continue;
    const cut = cutFact(value);
    if (cut !== value) note(`/${field}`);
    facts[field] = cut;
  }
  return facts;
}

/** What anybody said, as far as it has a value. */
function contentOf(row: EventRow<unknown>, record: LedgerRecord): JsonObject {
  const content: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(row.content?.(record.data) ?? {})) {
    if (value !== undefined) content[field] = value;
  }
  // Data of records is JSON, so what is picked from it is.
  return content as JsonObject;
}

function cutFact(value: JsonValue): JsonValue {
  if (typeof value === 'string') return cutText(value);
  if (!Array.isArray(value)) return value;
  const isFine =
    value.length <= MAX_FACT_ITEMS &&
    value.every((item) => typeof item !== 'string' || item.length <= MAX_FACT_CHARS);
  return isFine
    ? value
    : value.slice(0, MAX_FACT_ITEMS).map((item) => (typeof item === 'string' ? cutText(item) : item));
}

function cutText(text: string): string {
  return text.length <= MAX_FACT_CHARS ? text : `${text.slice(0, MAX_FACT_CHARS).toWellFormed()}…`;
}

function digestOf(value: JsonValue): Digest {
  const text = typeof value === 'string' ? value : canonicalJson(value);
  return { bytes: Buffer.byteLength(text, 'utf8'), sha256: hash('sha256', text) };
}

function sizeOf(event: RunEvent): number {
  return Buffer.byteLength(JSON.stringify(event), 'utf8');
}
