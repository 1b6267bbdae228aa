import { z } from 'zod';
import { SwarmError, type SwarmErrorCode } from '../errors.ts';
import { factOf, type RecordFact } from './append-rules.ts';
import { canonicalCopy, canonicalText } from './canonical-json.ts';
import type { JsonObject, JsonValue } from './content.ts';
import { chainHash } from './hash-chain.ts';
import { createRecordCache } from './record-cache.ts';
import { type LedgerRecord, type NewRecord, RECORD_DATA, type SessionIdentity } from './records.ts';

/** One record as a store keeps it: the canonical text of all but the two hashes, and those. */
export interface StoredRow {
  readonly text: string;
  readonly prev: string;
  readonly hash: string;
}

/** A record ready to be stored, with what the append rules need to know of it. */
export interface SealedRecord extends StoredRow {
  readonly record: LedgerRecord;
  readonly fact: RecordFact;
}

/** Where a batch goes: the head it follows, and what is the same for all its records. */
export interface BatchPlace {
  readonly identity: SessionIdentity;
  readonly epoch: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly seq: number;
  readonly hash: string;
}

/** Where a row was found: what it must say of itself. */
export interface RowPlace {
  readonly session: string;
  readonly seq: number;
}

/** Makes the data of version `n` of a type into that of version `n + 1`. Pure and total. */
export type Upcaster = (data: JsonValue) => JsonValue;

export interface RecordCodec {
  /**
   * Records and rows of a batch, hashes chained.
   * @throws SwarmError 'invalid-record' for data that breaks the schema of its type or is not bounded JSON
   */
  seal(batch: readonly NewRecord[], place: BatchPlace): readonly SealedRecord[];
  /**
   * The record of a row. Data of an older version is brought up to date, the stored text stays as it is. A type
   * this version does not know is passed on as it stands.
   * @throws SwarmError 'ledger-corrupt' when hash, place or schema do not match; 'ledger-newer-schema' for an
   * unknown type marked `critical`, or a version of a known type that is not known yet
   */
  open(row: StoredRow, place: RowPlace): LedgerRecord;
}

/** Upcasters by type: the first makes version 2 of version 1, and so on. Rows already written never change. */
const UPCASTERS: { readonly [type: string]: readonly Upcaster[] } = {};

interface CodecTable {
  readonly schemas: { readonly [type: string]: z.ZodType };
  readonly upcasters: { readonly [type: string]: readonly Upcaster[] };
}

const MAX_NAME_CHARS = 256;
const name = z.string().min(1).max(MAX_NAME_CHARS);
const count = z.int().nonnegative();

/** Loose, as a newer writer may say more; what it says besides is covered by the hash and kept. */
const envelopeSchema = z.looseObject({
  id: z.string(),
  session: name,
  root: name,
  parent: name.optional(),
  agent: name,
  seq: z.int().positive(),
  epoch: count,
  type: name,
  tv: z.int().positive(),
  at: z.number(),
  turn: name.optional(),
  step: name.optional(),
  call: name.optional(),
  cause: name.optional(),
  critical: z.boolean().optional(),
});

/** Records of this process by their hash, the newest few: a turn reads what it has just written. */
const OPENED = createRecordCache();

/** Frozen to the leaves, as one record serves many readers. Data of records is a tree of bounded depth. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) frozen(item);
  return Object.freeze(value);
}

/** A fault of what was read. */
type Fault = (code: 'schema' | 'newer', what: string, cause?: unknown) => SwarmError;

/** The codec of a table of types; the stores use {@link recordCodec}. */
export function createRecordCodec(table: CodecTable): RecordCodec {
  return {
    seal: (batch, place) => sealBatch(table, batch, place),
    open(row, place) {
      const fault = readFault(place);
      if (chainHash(row.prev, row.text) !== row.hash) {
        throw fault('schema', 'contents that do not match the hash');
      }
      // Equal hashes are equal texts: what was written or read here lately need not be parsed again.
      const known = OPENED.find(row.hash);
      if (known !== undefined && known.session === place.session && known.seq === place.seq) return known;
      const found = interpret(table, parse(row.text, fault), fault);
      if (found['session'] !== place.session || found['seq'] !== place.seq) {
        throw fault('schema', `the record ${String(found['id'])}`);
      }
      const record = asRecord(found, row);
      OPENED.note(record, row.text.length);
      return record;
    },
  };
}

/** The codec of the types in `records.ts`. */
export const recordCodec: RecordCodec = createRecordCodec({ schemas: RECORD_DATA, upcasters: UPCASTERS });

function sealBatch(
  table: CodecTable,
  batch: readonly NewRecord[],
  place: BatchPlace,
): readonly SealedRecord[] {
  const sealed: SealedRecord[] = [];
  let { seq, hash: prev } = place;
  for (const record of batch) {
    seq += 1;
    const kept = envelopeOf(table, record, { place, seq });
    const text = canonicalText(kept);
    const hash = chainHash(prev, text);
    kept['prev'] = prev;
    kept['hash'] = hash;
    // The envelope was put together here and the data checked against the schema of its type.
    const whole = frozen(kept) as unknown as LedgerRecord;
    OPENED.note(whole, text.length);
    sealed.push({ text, prev, hash, record: whole, fact: factOf(record) });
    prev = hash;
  }
  return sealed;
}

/**
 * All of a record that is hashed: what a reader will get, sharing nothing with what was passed in. Keys are set
 * in canonical order.
 */
function envelopeOf(
  table: CodecTable,
  record: NewRecord,
  at: { readonly place: BatchPlace; readonly seq: number },
): Record<string, unknown> {
  const { type } = record;
  const { identity, epoch } = at.place;
  const kept: Record<string, unknown> = { agent: identity.agent, at: at.place.at };
  if (record.call !== undefined) kept['call'] = checkedName(record, 'call');
  if (record.cause !== undefined) kept['cause'] = checkedName(record, 'cause');
  kept['data'] = checkedData(table, record);
  kept['epoch'] = epoch;
  kept['id'] = `${identity.session}:${at.seq}`;
  if (identity.parent !== undefined) kept['parent'] = identity.parent;
  kept['root'] = identity.root;
  kept['seq'] = at.seq;
  kept['session'] = identity.session;
  if (record.step !== undefined) kept['step'] = checkedName(record, 'step');
  if (record.turn !== undefined) kept['turn'] = checkedName(record, 'turn');
  kept['tv'] = currentVersion(table, type);
  kept['type'] = type;
  kept['v'] = 1;
  return kept;
}

/** A copy, checked: what cannot be read back is never written. */
function checkedData(table: CodecTable, record: NewRecord): unknown {
  const schema = Object.hasOwn(table.schemas, record.type) ? table.schemas[record.type] : undefined;
  if (schema === undefined) throw unfit(record, 'not a type of this version');
  const data = canonicalCopy(record.data);
  const checked = schema.safeParse(data);
  if (!checked.success) throw unfit(record, issuesOf(checked.error));
  return data;
}

function checkedName(record: NewRecord, key: 'turn' | 'step' | 'call' | 'cause'): string {
  const value: unknown = record[key];
  if (typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME_CHARS) return value;
  throw unfit(record, `${key} is not a name of at most ${MAX_NAME_CHARS} characters`);
}

function unfit(record: NewRecord, what: string): SwarmError {
  return new SwarmError('invalid-record', `a record of type ${String(record.type)}: ${what}`);
}

/** Checks what a text says, and brings old data up to date. */
function interpret(table: CodecTable, parsed: unknown, fault: Fault): JsonObject {
  // Only objects have a member `v`; the envelope check below says the rest.
  const version = (parsed as { readonly v?: unknown } | null)?.v;
  if (version !== 1) throw fault(typeof version === 'number' ? 'newer' : 'schema', 'another envelope');
  const envelope = envelopeSchema.safeParse(parsed);
  if (!envelope.success) throw fault('schema', issuesOf(envelope.error));
  const { type, tv, critical } = envelope.data;
  // The schema above and JSON.parse make it one.
  const record = parsed as JsonObject;
  const schema = Object.hasOwn(table.schemas, type) ? table.schemas[type] : undefined;
  if (schema === undefined) {
    if (critical) throw fault('newer', `the type ${type}, which must not be passed over`);
    return record;
  }
  const data = upcast(table, record, fault);
  // As a check only: the text, not what a schema makes of it, is what was agreed on by hash.
  const checked = schema.safeParse(data);
  if (!checked.success) throw fault('schema', issuesOf(checked.error));
  const current = currentVersion(table, type);
  return tv === current ? record : { ...record, tv: current, data };
}

function upcast(table: CodecTable, record: JsonObject, fault: Fault): JsonValue {
  const type = String(record['type']);
  const from = Number(record['tv']);
  const current = currentVersion(table, type);
  if (from > current) throw fault('newer', `version ${from} of ${type}, this release knows ${current}`);
  let data: JsonValue = record['data'] ?? null;
  for (const step of stepsOf(table, type).slice(from - 1)) data = step(data);
  return data;
}

function currentVersion(table: CodecTable, type: string): number {
  return 1 + stepsOf(table, type).length;
}

function stepsOf(table: CodecTable, type: string): readonly Upcaster[] {
  return Object.hasOwn(table.upcasters, type) ? (table.upcasters[type] ?? []) : [];
}

function asRecord(found: JsonObject, row: StoredRow): LedgerRecord {
  // Envelope and data were checked against the schemas that this type is inferred from.
  return frozen({ ...found, prev: row.prev, hash: row.hash }) as unknown as LedgerRecord;
}

function parse(text: string, fault: Fault): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw fault('schema', 'a text that is not JSON', cause);
  }
}

function readFault(place: RowPlace): Fault {
  return (code, what, cause) => {
    const kind: SwarmErrorCode = code === 'newer' ? 'ledger-newer-schema' : 'ledger-corrupt';
    return new SwarmError(kind, `session ${place.session}, record ${place.seq}: found ${what}`, { cause });
  };
}

/** Names places, never values: they may hold what must not be in a message. */
function issuesOf(error: z.ZodError): string {
  const places = error.issues
    .slice(0, 3)
    .map((issue) => `${issue.path.join('.') || 'the record'} ${issue.code}`);
  return `a value that breaks the schema (${places.join(', ')})`;
}
