import { z } from 'zod';
import { SwarmError } from '../errors.ts';
import type { StoredRow } from '../ledger/record-codec.ts';
import type { NatsHeaders } from './client.ts';
import { readJson } from './jet-stream-api.ts';

/** Says where a session stands; on the last message of an append and on every claim, hence on the last of each subject. */
const PLACE = 'Swm-Place';
/** Sequence of the first record. Its hash covers it too; here it can be had without a look into the text. */
const SEQ = 'Swm-Seq';
/** Tells the messages about ownership from records. */
const KIND = 'Swm-Kind';

/** A claim makes its sender the one writer of a session, a release takes that back. */
export type OwnershipKind = 'claim' | 'release';

const placeSchema = z.object({
  v: z.literal(1),
  root: z.string(),
  parent: z.string().optional(),
  agent: z.string(),
  epoch: z.int().nonnegative(),
  /** Last record: its sequence and hash; 0 before the first. */
  seq: z.int().nonnegative(),
  hash: z.string(),
  /** Milliseconds since the epoch; 0 before the first record. */
  openedAt: z.number(),
  updatedAt: z.number(),
  /** Position of the first record. Left out in the append that brings it. */
  openedPos: z.int().positive().optional(),
  openTurn: z.string().optional(),
  /** Who owns it; left out when nobody does. */
  owner: z.string().optional(),
});

/** Where a session stands after a message, so that nobody has to read it whole to know. */
export type SessionPlace = z.infer<typeof placeSchema>;

const ownershipSchema = z.object({ v: z.literal(1), type: z.enum(['claim', 'release']), nonce: z.string() });

/** What a message of a stream is known by. */
export interface LedgerMessage {
  readonly data: Uint8Array;
  header(name: string): string | undefined;
}

/** Records one message may hold, which is also how many positions it has. */
export const MESSAGE_RECORDS = 1_024;

/**
 * The body of a message: one line of JSON a record, with the two hashes last, so that the text they cover can be cut
 * out. What is appended together is one message wherever it fits: a message is stored whole as it is, and a batch of
 * messages costs the server as much as thirty of them.
 */
export function recordsBody(rows: readonly StoredRow[]): Uint8Array {
  const lines = rows.map(({ text, prev, hash }) => `${text.slice(0, -1)},"prev":"${prev}","hash":"${hash}"}`);
  return Buffer.from(lines.join('\n'), 'utf8');
}

/** Bytes of a record in a message. */
export function lineBytesOf({ text }: StoredRow): number {
  return Buffer.byteLength(text) + TAIL_CHARS + 1;
}

const HASH = '[0-9a-f]{64}';
const TAIL = new RegExp(`,"prev":"(${HASH})","hash":"(${HASH})"\\}$`);
const TAIL_CHARS = ',"prev":"","hash":""}'.length + 128;

/** @throws SwarmError 'ledger-corrupt' for a message that holds something else than records */
export function rowsOf(message: Pick<LedgerMessage, 'data'>, where: string): readonly StoredRow[] {
  const rows = rowsIn(message);
  if (rows !== undefined) return rows;
  throw new SwarmError('ledger-corrupt', `${where}: found a message that is no record`);
}

/** Undefined for a message that holds something else than records. */
export function rowsIn({ data }: Pick<LedgerMessage, 'data'>): readonly StoredRow[] | undefined {
  const body = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8');
  const rows: StoredRow[] = [];
  for (const line of body.split('\n')) {
    const [tail = '', prev, hash] = TAIL.exec(line.slice(-TAIL_CHARS)) ?? [];
    if (prev === undefined || hash === undefined) return undefined;
    rows.push({ text: `${line.slice(0, -tail.length)}}`, prev, hash });
  }
  return rows;
}

/** Position of a record, by its place in its message; larger the later it was stored. */
export function positionOf(sequence: number, index: number): number {
  return sequence * MESSAGE_RECORDS + index;
}

/** Sequence of the message that a position is in. */
export function sequenceOf(position: number): number {
  return Math.floor(position / MESSAGE_RECORDS);
}

/** The body of a claim or a release. */
export function ownershipBody(type: OwnershipKind, nonce: string): Uint8Array {
  return Buffer.from(JSON.stringify({ v: 1, type, nonce }), 'utf8');
}

/** Undefined for a record. */
export function ownershipKind(message: LedgerMessage): OwnershipKind | undefined {
  const kind = message.header(KIND);
  return kind === 'claim' || kind === 'release' ? kind : undefined;
}

/** What only its sender knows of a claim or release. */
export function nonceOf(message: LedgerMessage): string | undefined {
  if (ownershipKind(message) === undefined) return undefined;
  return ownershipSchema.safeParse(readJson(message.data)).data?.nonce;
}

export function ownershipHeaders(place: SessionPlace, kind: OwnershipKind): NatsHeaders {
  return { [KIND]: kind, [PLACE]: asciiJson(place) };
}

/** `seq` is that of the first record; `place` belongs to the last message of an append. */
export function recordHeaders(seq: number, place: SessionPlace | undefined): NatsHeaders {
  return { [SEQ]: String(seq), ...(place === undefined ? {} : { [PLACE]: asciiJson(place) }) };
}

/** Sequence of the first record as the header has it; only with the text is it certain. */
export function seqOf(message: LedgerMessage): number {
  return Number(message.header(SEQ) ?? 0);
}

/** Whether the message that says where the session stands comes behind it, in the same append. */
export function isBeginning(message: LedgerMessage): boolean {
  return message.header(PLACE) === undefined && seqOf(message) > 0;
}

/** @throws SwarmError 'ledger-corrupt' where the last message of a session says nothing of it */
export function placeOf(message: LedgerMessage, where: string): SessionPlace {
  const place = placeIn(message);
  if (place !== undefined) return place;
  throw new SwarmError('ledger-corrupt', `${where}: found a last message that does not say where it stands`);
}

/** The tree a message belongs to, where it says so. */
export function rootIn(message: Pick<LedgerMessage, 'header'>): string | undefined {
  return placeIn(message)?.root;
}

/** Where a session stands after a message, where that says so. */
export function placeIn(message: Pick<LedgerMessage, 'header'>): SessionPlace | undefined {
  const text = message.header(PLACE);
  if (text === undefined) return undefined;
  return placeSchema.safeParse(readJson(Buffer.from(text, 'latin1'))).data;
}

/** A header holds one line of ASCII. */
function asciiJson(value: object): string {
  return JSON.stringify(value).replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
