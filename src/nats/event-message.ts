import { createHash } from 'node:crypto';
import { EVENT_DATA } from '../events/event-data.ts';
import type { RunEvent } from '../events/event-schemas.ts';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import { NATS_LIMITS } from '../limits.ts';
import type { StreamMessage } from './batch-publisher.ts';
import type { NatsHeaders } from './client.ts';
import { encodeToken, type Subjects, WIRE_VERSION } from './subjects.ts';

/** How events are written. `cloudevents`: the attributes of CloudEvents 1.0 as headers, in binary mode. */
export type EventFormat = 'json' | 'cloudevents';

/** Where something too large for an event is. */
export interface StoredReference {
  readonly store: string;
  readonly key: string;
  readonly size: number;
  readonly sha256: string;
  readonly type: string;
}

/** Keeps bytes where readers of events find them. */
export interface ReferenceStore {
  /** Durable once it resolves; undefined where nothing can be kept. */
  put(bytes: Uint8Array, type: string): Promise<StoredReference | undefined>;
}

export interface EventWriter {
  /**
   * The message of an event; `undefined` for one that no message can hold.
   * @throws what `put` of the store throws
   */
  write(event: RunEvent): Promise<StreamMessage | undefined>;
}

export interface EventWriterOptions {
  readonly subjects: Subjects;
  readonly format: EventFormat;
  /** Where `data` goes that is too large. Not given = its content is left out. */
  readonly store: ReferenceStore | undefined;
  /** W3C trace parent of an event; undefined for none. */
  readonly traceparent: (event: RunEvent) => string | undefined;
}

/** Facts are bounded one by one; so many items of a list stay where all together are too much. */
const FEWER_ITEMS = 50;

/** Makes messages of events. */
export function createEventWriter(options: EventWriterOptions): EventWriter {
  const { subjects, store } = options;
  const encode = (event: RunEvent) => Buffer.from(JSON.stringify({ ...event, ns: subjects.ns }), 'utf8');
  return {
    async write(event) {
      let written = event;
      let payload = encode(event);
      if (payload.length > NATS_LIMITS.maxInlineDataBytes) {
        written = await shrink(event, store);
        payload = encode(written);
      }
      if (payload.length > NATS_LIMITS.maxEventBytes) return undefined;
      return { subject: subjects.event(event), payload, headers: headersOf(written, options) };
    },
  };
}

/** An event whose content is a reference, and of whose long lists only the beginning is left. */
async function shrink(event: RunEvent, store: ReferenceStore | undefined): Promise<RunEvent> {
  const whole = Buffer.from(canonicalJson(event.data), 'utf8');
  if (whole.length <= NATS_LIMITS.maxInlineDataBytes) return event;
  const ref = await store?.put(whole, 'application/json');
  const content: Readonly<Record<string, unknown>> = EVENT_DATA[event.type].content.shape;
  // Data of events is JSON.
  const data = event.data as unknown as JsonObject;
  const facts: Record<string, JsonValue> = {};
  const digests: Record<string, JsonValue> = {};
  const redacted = [...event.redacted];
  for (const [field, value] of Object.entries(data)) {
    if (Object.hasOwn(content, field)) {
      digests[field] = digestOf(value);
      redacted.push(`/${field}`);
    } else if (Array.isArray(value) && value.length > FEWER_ITEMS) {
      facts[field] = value.slice(0, FEWER_ITEMS);
      redacted.push(`/${field}`);
    } else facts[field] = value;
  }
  const shrunk = Object.keys(digests).length === 0 ? facts : { ...facts, digests };
  // Facts are those of the event and each content has its digest, which is what its schema asks for.
  return { ...event, data: shrunk, redacted, ...(ref === undefined ? {} : { ref }) } as unknown as RunEvent;
}

function digestOf(value: JsonValue): JsonObject {
  const bytes = Buffer.from(typeof value === 'string' ? value : canonicalJson(value), 'utf8');
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

function headersOf(event: RunEvent, { format, traceparent, subjects }: EventWriterOptions): NatsHeaders {
  const trace = traceparent(event);
  return {
    // The stream holds all namespaces, and nothing keeps two of them from naming a session alike.
    'Nats-Msg-Id': `${encodeToken(subjects.ns)}:${event.id}`,
    'Swm-V': WIRE_VERSION.slice(1),
    ...(trace === undefined ? {} : { traceparent: trace }),
    ...(format === 'cloudevents' ? cloudEvent(event, subjects.ns) : {}),
  };
}

/** Attributes of the binary mode of the NATS protocol binding; their values are percent-encoded. */
function cloudEvent(event: RunEvent, ns: string): NatsHeaders {
  const attributes = {
    'ce-specversion': '1.0',
    'ce-id': event.id,
    'ce-source': `/swm/${encodeURIComponent(ns)}/${event.session}`,
    'ce-type': `dev.swm.${event.type}.v${event.tv}`,
    'ce-subject': event.agent,
    'ce-time': event.ts,
    'ce-datacontenttype': 'application/json',
    'ce-swmseq': String(event.seq),
    'ce-swmepoch': String(event.epoch),
  };
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, percent(value)]));
}

/** Percent-encoded as the binding says: space, quote, percent and everything beyond printable ASCII. */
function percent(value: string): string {
  return value
    .toWellFormed()
    .replaceAll(/[^\x21\x23-\x24\x26-\x7e]/gu, (character) => encodeURIComponent(character));
}

/** Traces that were seen last; each run has one. */
const MAX_TRACES = 1_000;

/**
 * A trace parent that needs no tracer: all events of a run are in one trace, each a span of its own, the same
 * whoever works it out.
 */
export function createTraceparents(): (event: RunEvent) => string {
  const traces = new Map<string, string>();
  return (event) => {
    const run = `${event.root} ${event.run ?? ''}`;
    let trace = traces.get(run);
    if (trace === undefined) {
      if (traces.size >= MAX_TRACES) traces.clear();
      trace = hex(run, 32);
      traces.set(run, trace);
    }
    return `00-${trace}-${hex(event.id, 16)}-01`;
  };
}

function hex(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
