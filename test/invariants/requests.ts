import type { LedgerRecord, RecordOf } from '../../src/ledger/records.ts';
import { pairingViolations } from '../../src/testing/pairing-validator.ts';
import type { SeenRequest } from './witness.ts';

/** I7: every call has its result before the next request, and the request carries exactly these results. */
export function beforeRequest({ messages, durable }: SeenRequest, at: number): readonly string[] {
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
export function pairs({ messages }: SeenRequest, at: number): readonly string[] {
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
export function steeringIn({ messages, durable }: SeenRequest, at: number): readonly string[] {
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
