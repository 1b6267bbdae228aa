import type { LedgerRecord } from '../../src/ledger/records.ts';
import type { SeenEntry } from './witness.ts';

/** I5: a call has one result, or its turn is open; no result without a call. */
export function calls(records: readonly LedgerRecord[]): readonly string[] {
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
export function executions(
  records: readonly LedgerRecord[],
  entries: readonly SeenEntry[],
): readonly string[] {
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
