import { findChainBreak } from '../../src/ledger/hash-chain.ts';
import type { LedgerRecord, RecordOf } from '../../src/ledger/records.ts';
import { pairingViolations } from '../../src/testing/pairing-validator.ts';
import type { ParsedMessage } from '../../src/testing/script.ts';

/** One provider request, with what was durable when it arrived. */
export interface SeenRequest {
  readonly messages: readonly ParsedMessage[];
  readonly durable: readonly LedgerRecord[];
}

/** One entry of an implementation, with what was durable when it was entered. */
export interface SeenEntry {
  readonly operationId: string;
  readonly durable: readonly LedgerRecord[];
}

/** Everything the invariants of one session are checked over. */
export interface Witness {
  readonly records: readonly LedgerRecord[];
  readonly requests?: readonly SeenRequest[];
  readonly entries?: readonly SeenEntry[];
}

/** What is broken, one line each, beginning with the invariant. Empty = all holds. */
export function violationsOf({ records, requests = [], entries = [] }: Witness): readonly string[] {
  return [
    ...chain(records),
    ...turns(records),
    ...calls(records),
    ...executions(records, entries),
    ...requests.flatMap((request, at) => [
      ...beforeRequest(request, at),
      ...pairs(request, at),
      ...steeringIn(request, at),
    ]),
    ...steering(records),
    ...approvals(records),
  ];
}

/** I1, I3: sequences from 1 without gap, links and hashes hold, epochs never fall. */
function chain(records: readonly LedgerRecord[]): readonly string[] {
  const fault = findChainBreak(records);
  return fault === undefined ? [] : [`I1 at ${fault.seq}: ${fault.found}`];
}

/** I4: a turn is closed once, is the last that is open, or nothing; nothing of it stands after its end. */
function turns(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  const state = new Map<string, 'open' | 'closed'>();
  for (const { type, turn, seq } of records) {
    if (turn === undefined) continue;
    const say = (what: string) => broken.push(`I4 ${type} at ${seq}: ${what}`);
    if (type === 'turn.opened') {
      if (state.has(turn)) say('opened twice');
      if ([...state.values()].includes('open')) say('another turn is open');
      state.set(turn, 'open');
    } else if (state.get(turn) !== 'open') {
      say(state.has(turn) ? 'after the end of its turn' : 'before its turn');
    }
    if (type === 'turn.closed') state.set(turn, 'closed');
  }
  return broken;
}

/** I5: a call has one result, or its turn is open; no result without a call. */
function calls(records: readonly LedgerRecord[]): readonly string[] {
  const open = new Set<string>();
  const known = new Set<string>();
  const broken: string[] = [];
  for (const { type, call = '', turn, seq } of records) {
    const say = (what: string) => broken.push(`I5 ${type} of ${call} at ${seq}: ${what}`);
    if (type === 'tool.called') {
      if (known.has(call)) say('called twice');
      known.add(call);
      open.add(call);
    } else if (type === 'tool.settled' || type === 'tool.refused') {
      if (!open.delete(call)) say(known.has(call) ? 'a second result' : 'a result without a call');
    } else if (type === 'turn.closed') {
      for (const left of open) if (left.startsWith(`${turn}.`)) say(`${left} has no result`);
    }
  }
  return broken;
}

/** I6: an implementation is entered at most once, and once more for each decided retry, after a durable intent. */
function executions(records: readonly LedgerRecord[], entries: readonly SeenEntry[]): readonly string[] {
  const broken: string[] = [];
  const counts = Map.groupBy(entries, ({ operationId }) => operationId);
  for (const [operation, all] of counts) {
    const retries = records.filter(
      (one) =>
        one.type === 'tool.reconciled' && one.data.operationId === operation && one.data.decision === 'retry',
    );
    if (all.length > 1 + retries.length) broken.push(`I6 ${operation} entered ${all.length} times`);
  }
  for (const { operationId, durable } of entries) {
    const intent = durable.some(
      (one) => one.type === 'tool.dispatched' && one.data.operationId === operationId,
    );
    if (!intent) broken.push(`I6 ${operationId} entered without a durable intent`);
  }
  return broken;
}

/** I7: every call has its result before the next request, and the request carries exactly these results. */
function beforeRequest({ messages, durable }: SeenRequest, at: number): readonly string[] {
  const results = new Map<string, string>();
  const called = durable.filter((one): one is RecordOf<'tool.called'> => one.type === 'tool.called');
  for (const one of durable) if (one.call !== undefined) noteResult(results, one);
  const unsettled = called.flatMap(({ call = '' }) => (results.has(call) ? [] : [call]));
  // A request for a summary carries none; others carry what no checkpoint stands for.
  const isSummary = messages[0]?.text.startsWith('<transcript>') === true;
  const covered = Math.max(
    0,
    ...durable.map((one) => (one.type === 'compaction.committed' ? one.data.coversSeq : 0)),
  );
  const owed = called
    .filter(({ seq }) => !isSummary && seq > covered)
    .map(({ call = '' }) => results.get(call) ?? '');
  const carried = messages.filter(({ role }) => role === 'tool').map(({ text }) => text);
  const differs = unsettled.length === 0 && JSON.stringify(owed) !== JSON.stringify(carried);
  return [
    ...unsettled.map((call) => `I7 request ${at}: ${call} has no durable result`),
    ...(differs ? [`I7 request ${at}: results ${JSON.stringify(carried)}, not ${JSON.stringify(owed)}`] : []),
  ];
}

function noteResult(results: Map<string, string>, one: LedgerRecord): void {
  const call = one.call ?? '';
  if (one.type === 'tool.refused') results.set(call, one.data.text);
  if (one.type !== 'tool.settled') return;
  const { output } = one.data;
  if (output.type === 'json') results.set(call, JSON.stringify(output.value));
  else if (output.type !== 'content') results.set(call, output.text);
}

/** I8: each call of a request is followed by its result, in order, and by nothing else. */
function pairs({ messages }: SeenRequest, at: number): readonly string[] {
  const paired = messages.map(({ role, calls: made, callId }) => ({
    role,
    calls: made,
    ...(callId === undefined ? {} : { answers: [callId] }),
  }));
  return pairingViolations(paired).map((what) => `I8 request ${at}: ${what}`);
}

/**
 * I11: what was injected before a request is in it, once for each time it was accepted. A fold keeps what people said in
 * its own turn alone.
 */
function steeringIn({ messages, durable }: SeenRequest, at: number): readonly string[] {
  const texts = new Map<string, string>();
  const owed = new Map<string, number>();
  for (const one of durable) {
    if (one.type === 'steering.accepted') texts.set(one.data.id, one.data.text);
    if (one.type !== 'steering.injected' || isFolded(one, durable)) continue;
    for (const id of one.data.ids) {
      const text = texts.get(id) ?? '';
      owed.set(text, (owed.get(text) ?? 0) + 1);
    }
  }
  const said = messages.filter(({ role }) => role === 'user').map(({ text }) => text);
  // A summary is asked for beside the turn.
  if (messages[0]?.text.startsWith('<transcript>') === true) return [];
  return [...owed].flatMap(([text, times]) => {
    const found = said.reduce((sum, one) => sum + one.split(text).length - 1, 0);
    return found === times ? [] : [`I11 request ${at}: ${JSON.stringify(text)} ${found} times, not ${times}`];
  });
}

/** Whether a later turn made a summary of what this fact told. */
function isFolded({ seq, turn }: LedgerRecord, durable: readonly LedgerRecord[]): boolean {
  return durable.some(
    (one) => one.type === 'compaction.committed' && one.turn !== turn && seq <= one.data.coversSeq,
  );
}

/** I11: an accepted text is injected once, or told undelivered when its turn ends. */
function steering(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  const waiting = new Map<string, string>();
  for (const one of records) {
    if (one.type === 'steering.accepted') waiting.set(one.data.id, one.turn ?? '');
    if (one.type === 'steering.injected' || one.type === 'steering.undelivered') {
      for (const id of one.data.ids) {
        if (!waiting.delete(id)) broken.push(`I11 ${one.type} at ${one.seq}: ${id} does not wait`);
      }
    }
    if (one.type !== 'turn.closed') continue;
    for (const [id, turn] of waiting)
      if (turn === one.turn) broken.push(`I11 ${id} is left at the end of ${turn}`);
  }
  return broken;
}

/** I11: a request for a person has one end, or its turn is open. */
function approvals(records: readonly LedgerRecord[]): readonly string[] {
  const broken: string[] = [];
  const open = new Map<string, string>();
  for (const one of records) {
    if (one.type === 'permission.requested') open.set(one.data.request, one.turn ?? '');
    if (
      one.type === 'permission.decided' ||
      one.type === 'permission.expired' ||
      one.type === 'permission.cancelled'
    ) {
      if (!open.delete(one.data.request)) broken.push(`I11 ${one.type} at ${one.seq}: nothing is open`);
    }
    if (one.type !== 'turn.closed') continue;
    for (const [request, turn] of open)
      if (turn === one.turn) broken.push(`I11 ${request} is left at the end`);
  }
  return broken;
}
