import { SwarmError } from '../errors.ts';
import { type ForkEdit, forkPoint } from '../ledger/fork-point.ts';
import { type ForkIdentity, forkedRecords } from '../ledger/fork-records.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { storeParts } from '../ledger/media.ts';
import type { LedgerRecord, NewRecord, SessionIdentity } from '../ledger/records.ts';
import { unknownSession } from '../ledger/session-identity.ts';
import { createSessionLog } from '../ledger/session-log.ts';
import type { Limits } from '../limits.ts';
import { assertFits } from './oversized-input.ts';
import { inputParts, type RunInput } from './run-input.ts';

/** What a store adds to a record at most: ids, position, time and hashes. */
const FACT_OVERHEAD_BYTES = 1_024;

/** Where a fork begins, and what is different in it. */
export interface ForkRequest {
  /** Position in the session, from 1: that of the last fact that counts. */
  readonly atSeq: number;
  /**
   * `input`: what the turn under way at the point begins with instead; nothing it did is kept. `result`: what the
   * model is told that the last executed call before the point returned; nothing after that call is kept.
   */
  readonly edit?: { readonly input: RunInput } | { readonly result: string };
}

/** What the new session is made from. */
export interface ForkOrigin {
  readonly ledger: Ledger;
  readonly limits: Limits;
  readonly sessionId: string;
}

/** A request as it is checked before there is a run. @throws SwarmError 'invalid-fork', 'invalid-input', 'input-too-large' */
export function checkFork({ atSeq, edit }: ForkRequest, limits: Limits): ForkEdit | undefined {
  if (!Number.isInteger(atSeq) || atSeq < 1)
    throw new SwarmError('invalid-fork', 'atSeq is the position of a fact, from 1');
  if (edit === undefined) return undefined;
  if ('input' in edit && !('result' in edit)) {
    const input = inputParts(edit.input);
    assertFits(input, limits);
    return { type: 'input', input };
  }
  if ('result' in edit && !('input' in edit) && typeof edit.result === 'string') {
    const bytes = Buffer.byteLength(edit.result);
    const most = limits.tools.maxResultBytes;
    if (bytes > most)
      throw new SwarmError('invalid-fork', `a result has at most ${most} bytes, not ${bytes}`);
    return { type: 'result', output: { type: 'text', text: edit.result } };
  }
  throw new SwarmError('invalid-fork', 'an edit is { input } or { result }, the result being a text');
}

/** Who the session is that a fork begins with. @throws SwarmError 'unknown-session', 'child-session', 'invalid-fork' */
export async function readOrigin({ ledger, sessionId }: ForkOrigin): Promise<readonly LedgerRecord[]> {
  const records = await ledger.read(sessionId);
  const [first] = records;
  if (first === undefined) throw unknownSession(sessionId);
  if (first.parent !== undefined) {
    const message = `the session ${sessionId} belongs to the run of ${first.root}: fork that one`;
    throw new SwarmError('child-session', message);
  }
  if (records.some(({ type }) => type.startsWith('graph.')) || isGraph(first))
    throw new SwarmError(
      'invalid-fork',
      `the session ${sessionId} has a graph: what it schedules cannot fork`,
    );
  return records;
}

function isGraph(first: LedgerRecord): boolean {
  return first.type === 'session.opened' && first.data.kind === 'graph';
}

/**
 * Writes the session of a fork: durable, with its last turn open, when this resolves.
 * @throws SwarmError 'invalid-fork', and those of the ledger
 */
export async function writeFork(
  origin: ForkOrigin,
  records: readonly LedgerRecord[],
  at: { readonly atSeq: number; readonly edit: ForkEdit | undefined },
  identity: ForkIdentity,
): Promise<SessionIdentity> {
  const { ledger, limits } = origin;
  const point = forkPoint(records, at.atSeq, await stored(at.edit, ledger));
  const { session } = identity;
  const whole: SessionIdentity = { session, root: session, agent: point.last.agent };
  const log = createSessionLog(await ledger.acquire(whole));
  try {
    for (const batch of batchesOf(forkedRecords(point, identity), limits.ledger)) await log.commit(batch);
  } finally {
    await log.release();
  }
  return whole;
}

async function stored(edit: ForkEdit | undefined, ledger: Ledger): Promise<ForkEdit | undefined> {
  if (edit?.type !== 'input') return edit;
  return { type: 'input', input: await storeParts(edit.input, ledger) };
}

/**
 * Batches that the store takes. Where it can be, one begins with a step or turn: a fork that is cut off while it is
 * written is then one of an earlier point.
 */
function batchesOf(
  records: readonly NewRecord[],
  { maxBatchRecords, maxBatchBytes }: Limits['ledger'],
): readonly (readonly NewRecord[])[] {
  const batches: NewRecord[][] = [];
  let batch: NewRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = Buffer.byteLength(JSON.stringify(record)) + FACT_OVERHEAD_BYTES;
    const fills = Math.max((batch.length + 1) / maxBatchRecords, (bytes + size) / maxBatchBytes);
    const begins = record.type === 'step.opened' || record.type === 'turn.opened';
    if (batch.length > 0 && (fills > 1 || (begins && fills > 0.25))) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += size;
  }
  return batch.length === 0 ? batches : [...batches, batch];
}
