import assert from 'node:assert/strict';
import { isSwarmError, type SwarmErrorCode } from '../errors.ts';
import type { AppendResult, Ledger, LedgerWriter } from '../ledger/ledger.ts';
import type { LedgerRecord, NewRecord, SessionIdentity } from '../ledger/records.ts';

const HASH = 'a'.repeat(64);

/** A session that is its own root. */
export function rootSession(session: string): SessionIdentity {
  return { session, root: session, agent: 'main' };
}

export function turnOpened(turn: string): NewRecord {
  return {
    type: 'turn.opened',
    turn,
    data: {
      ordinal: 1,
      run: 'r-1',
      input: [{ type: 'text', text: 'hello' }],
      bound: [],
      boundHash: HASH,
      discovery: 'search',
      model: 'scripted',
      instructionsHash: HASH,
    },
  };
}

export function turnClosed(turn: string): NewRecord {
  return {
    type: 'turn.closed',
    turn,
    data: { status: 'completed', stopReason: 'end-turn', steps: 1, toolCalls: 0 },
  };
}

export function dispatched(operationId: string, turn = 't'): NewRecord {
  return {
    type: 'tool.dispatched',
    turn,
    data: { operationId, toolName: 'pay', recovery: 'never_auto_retry', argsHash: HASH, generation: 0 },
  };
}

export function settled(operationId: string, turn = 't'): NewRecord {
  return {
    type: 'tool.settled',
    turn,
    data: {
      operationId,
      toolName: 'pay',
      status: 'success',
      output: { type: 'text', text: 'paid' },
      durationMs: 1,
    },
  };
}

/** A record that may stand anywhere, with a text to know it by. */
export function note(text: string): NewRecord {
  return { type: 'message.refused', data: { from: 'tester', reason: text } };
}

/** A record that holds any JSON object. */
export function called(args: unknown): NewRecord {
  return {
    type: 'tool.called',
    // The cast lets a test pass what the types forbid; the store has to cope.
    data: { ordinal: 0, wireId: 'call_1', toolName: 'pay', args: args as never, argsHash: HASH },
  };
}

/** Texts of the notes among the records. */
export function notesOf(records: readonly LedgerRecord[]): readonly string[] {
  return records.flatMap((record) => (record.type === 'message.refused' ? [record.data.reason] : []));
}

/** Appends at the head and expects the batch to be stored. */
export async function commit(
  writer: LedgerWriter,
  ...batch: readonly NewRecord[]
): Promise<Extract<AppendResult, { readonly type: 'committed' }>> {
  const result = await writer.append(writer.head.seq, batch);
  assert.equal(result.type, 'committed', `expected a commit, got ${JSON.stringify(result)}`);
  return result;
}

/** Appends at the head and expects nothing to be stored, for a reason. */
export async function expectRejected(
  ledger: Ledger,
  writer: LedgerWriter,
  reason: Extract<AppendResult, { readonly type: 'rejected' }>['reason'],
  ...batch: readonly NewRecord[]
): Promise<void> {
  const { session } = writer.identity;
  const before = await ledger.read(session);
  const result = await writer.append(writer.head.seq, batch);
  assert.equal(result.type, 'rejected', `expected a rejection, got ${result.type}`);
  assert.equal(result.reason, reason);
  assert.deepEqual(await ledger.read(session), before);
}

/** Expects a `SwarmError` of a code. */
export async function expectError(promise: Promise<unknown>, code: SwarmErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(isSwarmError(error), `expected a SwarmError, got ${String(error)}`);
    assert.equal(error.code, code, error.message);
    return true;
  });
}

/** The next `count` items, then ends the iteration. */
export async function take<T>(items: AsyncIterable<T>, count: number): Promise<readonly T[]> {
  const taken: T[] = [];
  if (count === 0) return taken;
  for await (const item of items) {
    taken.push(item);
    if (taken.length === count) break;
  }
  return taken;
}
