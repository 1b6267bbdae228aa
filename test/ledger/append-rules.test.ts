import { describe, expect, test } from 'vitest';
import {
  type AppendClaim,
  checkAppend,
  checkBatchSize,
  rejectStale,
  type StreamState,
} from '../../src/ledger/append-rules.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';

const STATE: StreamState = {
  epoch: 3,
  seq: 10,
  hash: 'h10',
  isTurnClosed: (turn) => turn === 'closed',
  hasOperation: (operation, phase) => operation === `was-${phase}`,
};
const CLAIM: AppendClaim = {
  epoch: 3,
  expectedSeq: 10,
  prev: 'h10',
  facts: [{ type: 'turn.resumed', turn: 'open' }],
};
const SIZE = { records: 1, bytes: 1, headSeq: 0, opensTurn: false };

describe('an append', () => {
  test('at the head, of the writer of this epoch, is allowed', () => {
    expect(checkAppend(CLAIM, STATE)).toBeUndefined();
  });

  test.each<[string, string, Partial<AppendClaim>]>([
    ['of an older epoch', 'fenced', { epoch: 2 }],
    ['of an epoch that never was', 'fenced', { epoch: 4 }],
    ['of an older epoch at another place', 'fenced', { epoch: 2, expectedSeq: 4 }],
    ['behind the head', 'conflict', { expectedSeq: 9 }],
    ['built on another record', 'conflict', { prev: 'h9' }],
    ['to a closed turn', 'sealed', { facts: [{ type: 'step.opened', turn: 'closed' }] }],
    ['of an operation that was dispatched', 'duplicate', { facts: [fact('dispatched', 'was-dispatched')] }],
    ['of an operation that was settled', 'duplicate', { facts: [fact('settled', 'was-settled')] }],
    ['of one operation twice', 'duplicate', { facts: [fact('settled', 'x'), fact('settled', 'x')] }],
  ])('%s is %s', (_, reason, change) => {
    expect(checkAppend({ ...CLAIM, ...change }, STATE)).toMatchObject({ type: 'rejected', reason });
  });

  test.each<[string, AppendClaim['facts']]>([
    ['a dispatched operation settles', [fact('settled', 'was-dispatched')]],
    ['one operation is dispatched and settled', [fact('dispatched', 'x'), fact('settled', 'x')]],
    ['nothing is appended', []],
  ])('is allowed when %s', (_, facts) => {
    expect(checkAppend({ ...CLAIM, facts }, STATE)).toBeUndefined();
  });

  test('that was not built is a conflict, or fenced', () => {
    expect(rejectStale(CLAIM, STATE)).toMatchObject({ reason: 'conflict' });
    expect(rejectStale({ ...CLAIM, epoch: 1 }, STATE)).toMatchObject({ reason: 'fenced' });
  });
});

describe('a batch', () => {
  const { maxSessionRecords } = DEFAULT_LIMITS.ledger;

  test.each([
    ['a turn opens in a session that is full', { headSeq: maxSessionRecords, opensTurn: true }],
    ['it has too many records', { records: DEFAULT_LIMITS.ledger.maxBatchRecords + 1 }],
    ['it has too many bytes', { bytes: DEFAULT_LIMITS.ledger.maxBatchBytes + 1 }],
  ])('is over a limit when %s', (_, change) => {
    expect(checkBatchSize({ ...SIZE, ...change }, DEFAULT_LIMITS.ledger)).toMatchObject({ reason: 'limit' });
  });

  test.each([
    ['a turn goes on in a session that is full', { headSeq: maxSessionRecords }],
    ['a turn opens at the last place', { headSeq: maxSessionRecords - 1, opensTurn: true }],
    ['it is as large as allowed', { records: DEFAULT_LIMITS.ledger.maxBatchRecords }],
  ])('is within the limits when %s', (_, change) => {
    expect(checkBatchSize({ ...SIZE, ...change }, DEFAULT_LIMITS.ledger)).toBeUndefined();
  });
});

function fact(phase: 'dispatched' | 'settled', operation: string): AppendClaim['facts'][number] {
  return { type: `tool.${phase}`, operation };
}
