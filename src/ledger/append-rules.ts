import type { Limits } from '../limits.ts';
import type { AppendResult } from './ledger.ts';
import type { NewRecord } from './records.ts';

/** Nothing was written, and why. */
export type Rejection = Extract<AppendResult, { readonly type: 'rejected' }>;

/** What the rules need to know of one record. */
export interface RecordFact {
  readonly type: string;
  readonly turn?: string;
  /** Set for `tool.dispatched`, where each decided retry is one of its own, and for `tool.settled`. */
  readonly operation?: string;
}

/** What an append claims about the stream it is meant for. `prev` is the hash of the head it was built on. */
export interface AppendClaim {
  readonly epoch: number;
  readonly expectedSeq: number;
  readonly prev: string;
  readonly facts: readonly RecordFact[];
}

/** Which of the two facts of one execution. */
export type OperationPhase = 'dispatched' | 'settled';

/** What the store says of the stream, inside the transaction of the append. */
export interface StreamState {
  readonly epoch: number;
  readonly seq: number;
  readonly hash: string;
  isTurnClosed(turn: string): boolean;
  hasOperation(operation: string, phase: OperationPhase): boolean;
}

/**
 * The check all stores share, so that they cannot differ. Everything is looked at before anything is written:
 * an answer here means that the store is untouched.
 */
export function checkAppend(claim: AppendClaim, state: StreamState): Rejection | undefined {
  if (claim.epoch !== state.epoch) {
    return reject('fenced', `epoch ${claim.epoch} is over, the session is at ${state.epoch}`);
  }
  if (claim.expectedSeq !== state.seq) {
    return reject('conflict', `expected the head at ${claim.expectedSeq}, it is at ${state.seq}`);
  }
  if (claim.prev !== state.hash) return reject('conflict', `built on another record than the head`);
  return checkSealed(claim.facts, state) ?? checkOperations(claim.facts, state);
}

/** An append that was not even built, because its writer knows a newer head than it expects. */
export function rejectStale(claim: Omit<AppendClaim, 'prev'>, state: StreamState): Rejection {
  if (claim.epoch !== state.epoch) {
    return reject('fenced', `epoch ${claim.epoch} is over, the session is at ${state.epoch}`);
  }
  return reject('conflict', `expected the head at ${claim.expectedSeq}, it is elsewhere`);
}

function checkSealed(facts: readonly RecordFact[], state: StreamState): Rejection | undefined {
  const closedHere = new Set<string>();
  let known: string | undefined;
  for (const { type, turn } of facts) {
    if (turn === undefined) continue;
    if (closedHere.has(turn) || (turn !== known && state.isTurnClosed(turn))) {
      return reject('sealed', `${type} comes after the end of the turn ${turn}`);
    }
    // A batch is nearly always about one turn: ask the store once.
    known = turn;
    if (type === 'turn.closed') closedHere.add(turn);
  }
  return undefined;
}

function checkOperations(facts: readonly RecordFact[], state: StreamState): Rejection | undefined {
  const here = new Set<string>();
  for (const fact of facts) {
    const phase = phaseOf(fact);
    if (phase === undefined || fact.operation === undefined) continue;
    const key = `${phase} ${fact.operation}`;
    if (here.has(key) || state.hasOperation(fact.operation, phase)) {
      return reject('duplicate', `the operation ${fact.operation} was ${phase} before`);
    }
    here.add(key);
  }
  return undefined;
}

/** The phase a fact records of its operation, if it is one of the two that may stand only once. */
export function phaseOf(fact: RecordFact): OperationPhase | undefined {
  if (fact.type === 'tool.dispatched') return 'dispatched';
  return fact.type === 'tool.settled' ? 'settled' : undefined;
}

export function factOf(record: NewRecord): RecordFact {
  const operation = operationOf(record);
  return {
    type: record.type,
    ...(record.turn === undefined ? {} : { turn: record.turn }),
    ...(operation === undefined ? {} : { operation }),
  };
}

/** What may stand once: an intent for each generation of an operation, an outcome for all of them together. */
function operationOf(record: NewRecord): string | undefined {
  if (record.type === 'tool.settled') return record.data.operationId;
  if (record.type !== 'tool.dispatched') return undefined;
  const { operationId, generation } = record.data;
  return generation === 0 ? operationId : `${operationId}#${generation}`;
}

/** Sizes of a batch, and of the session before it. */
export interface BatchSize {
  readonly records: number;
  readonly bytes: number;
  readonly headSeq: number;
  readonly opensTurn: boolean;
}

/** Bounds of a batch. A turn that is open may go on in a session that is full, a new one may not begin. */
export function checkBatchSize(size: BatchSize, bounds: Limits['ledger']): Rejection | undefined {
  if (size.records > bounds.maxBatchRecords) {
    return reject('limit', `${size.records} records in one batch, at most ${bounds.maxBatchRecords}`);
  }
  if (size.bytes > bounds.maxBatchBytes) {
    return reject('limit', `${size.bytes} bytes in one batch, at most ${bounds.maxBatchBytes}`);
  }
  if (size.opensTurn && size.headSeq >= bounds.maxSessionRecords) {
    return reject('limit', `the session has ${size.headSeq} records, no turn opens beyond that`);
  }
  return undefined;
}

export function reject(reason: Rejection['reason'], message: string): Rejection {
  return { type: 'rejected', reason, message };
}
