import { z } from 'zod';
import { SwarmError, type SwarmErrorCode } from '../errors.ts';
import { factOf, type RecordFact } from './append-rules.ts';
import { canonicalJson } from './canonical-json.ts';
import type { JsonObject, JsonValue } from './content.ts';
import { chainHash } from './hash-chain.ts';
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

const name = z.string().min(1).max(256);
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

/** How a fault is told: while writing it is the caller's, while reading it is the file's. */
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
      const found = interpret(table, parse(row.text, fault), fault);
      if (found['session'] !== place.session || found['seq'] !== place.seq) {
        throw fault('schema', `the record ${String(found['id'])}`);
      }
      return asRecord(found, row);
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
    const fault = writeFault(record, seq - place.seq);
    if (!Object.hasOwn(table.schemas, record.type)) throw fault('schema', 'not a type of this version');
    const version = currentVersion(table, record.type);
    const text = recordText(record, { place, seq, version });
    // What is handed out is what a reader will get: no shared objects, no undefined keys.
    const kept = interpret(table, JSON.parse(text), fault);
    const row = { text, prev, hash: chainHash(prev, text) };
    sealed.push({ ...row, record: asRecord(kept, row), fact: factOf(record) });
    prev = row.hash;
  }
  return sealed;
}

/** Keys are written in order, so that {@link canonicalJson} has nothing to sort at the top level. */
function recordText(
  record: NewRecord,
  at: { readonly place: BatchPlace; readonly seq: number; readonly version: number },
): string {
  const { identity, epoch } = at.place;
  return canonicalJson({
    agent: identity.agent,
    at: at.place.at,
    call: record.call,
    cause: record.cause,
    data: record.data,
    epoch,
    id: `${identity.session}:${at.seq}`,
    parent: identity.parent,
    root: identity.root,
    seq: at.seq,
    session: identity.session,
    step: record.step,
    turn: record.turn,
    tv: at.version,
    type: record.type,
    v: 1,
  });
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
  return { ...found, prev: row.prev, hash: row.hash } as unknown as LedgerRecord;
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

function writeFault(record: NewRecord, nth: number): Fault {
  return (_, what) =>
    new SwarmError('invalid-record', `record ${nth} of the batch, ${String(record.type)}: ${what}`);
}

/** Names places, never values: they may hold what must not be in a message. */
function issuesOf(error: z.ZodError): string {
  const places = error.issues
    .slice(0, 3)
    .map((issue) => `${issue.path.join('.') || 'the record'} ${issue.code}`);
  return `a value that breaks the schema (${places.join(', ')})`;
}
