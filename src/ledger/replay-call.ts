import type { ToolCallEvent } from '../../machines/tool-call.ts';
import type { LedgerRecord, RecordOf } from './records.ts';

/** Events by call id; a decided retry stands under `<call id>#<generation>`. */
type CallEvents = Map<string, ToolCallEvent[]>;

/** Adds what one fact of a call says to its events, in each of which a machine lives through the call once. */
export function foldCallEvent(calls: CallEvents, record: LedgerRecord, callId: string): void {
  switch (record.type) {
    case 'permission.requested':
      askAgain(newest(calls, callId));
      break;
    case 'tool.reconciled':
      foldReconciled(calls, record, callId);
      return;
    case 'tool.settled':
      foldSettled(calls, record, callId);
      return;
    default:
      break;
  }
  const events = newest(calls, callId);
  events.push(...eventsOf(record, events));
}

function eventsOf(record: LedgerRecord, events: readonly ToolCallEvent[]): readonly ToolCallEvent[] {
  switch (record.type) {
    case 'tool.called': {
      const { requestedName, repaired = [], toolName } = record.data;
      return requestedName === undefined && repaired.length === 0 ? [] : [{ type: 'REPAIRED', toolName }];
    }
    case 'permission.requested':
      return [{ type: 'ADMITTED' }, { type: 'NEEDS_PERMISSION', request: record.data.request }];
    case 'permission.decided':
      return record.data.decision === 'approve' ? [{ type: 'GRANTED', request: record.data.request }] : [];
    case 'tool.refused':
      return [refused(record, events)];
    case 'tool.dispatched': {
      const isCleared = events.some(({ type }) => type === 'GRANTED' || type === 'CLEARED');
      const prepared: ToolCallEvent = { type: 'PREPARED', operationId: record.data.operationId };
      return isCleared ? [prepared] : [{ type: 'ADMITTED' }, { type: 'CLEARED' }, prepared];
    }
    case 'tool.indeterminate':
      return isLost(events) ? [] : [{ type: 'OUTCOME_LOST', reason: record.data.reason }];
    default:
      return [];
  }
}

function refused(record: RecordOf<'tool.refused'>, events: readonly ToolCallEvent[]): ToolCallEvent {
  const { code } = record.data;
  const request = events.find((event) => event.type === 'NEEDS_PERMISSION')?.request;
  if (code === 'turn-ended') return { type: 'ABORT' };
  if (request !== undefined && code === 'denied') return { type: 'DENIED', request };
  if (request !== undefined && code === 'expired') return { type: 'EXPIRED', request };
  return { type: 'REFUSED', code };
}

/** A request that ended with its process is made again: the call begins anew, mended as it was. */
function askAgain(events: ToolCallEvent[]): void {
  const from = events.findIndex(({ type }) => type === 'ADMITTED');
  if (from >= 0) events.splice(from);
}

function foldSettled(calls: CallEvents, record: RecordOf<'tool.settled'>, callId: string): void {
  for (let generation = newestGeneration(calls, callId); generation >= 0; generation -= 1) {
    const events = at(calls, callId, generation);
    if (events.at(-1)?.type !== 'SETTLED_BY_DECISION') continue;
    events.push({ type: 'COMMITTED' });
    return;
  }
  const events = newest(calls, callId);
  // A tool of the runtime that was interrupted is settled without a decision.
  if (isLost(events)) events.pop();
  events.push({ type: 'EXECUTE' }, { type: 'RETURNED', outcome: record.data.status }, { type: 'COMMITTED' });
}

/** A decision is about the execution begun last; one that was decided on and not begun is called off. */
function foldReconciled(calls: CallEvents, record: RecordOf<'tool.reconciled'>, callId: string): void {
  const { decision } = record.data;
  let generation = newestGeneration(calls, callId);
  const latest = at(calls, callId, generation);
  if (generation > 0 && !latest.some(({ type }) => type === 'PREPARED')) {
    latest.push({ type: 'ABORT' });
    generation -= 1;
  }
  const events = at(calls, callId, generation);
  // Whoever decides takes the call up from its intent once more.
  if (isLost(events)) events.pop();
  if (decision === 'retry') {
    events.push({ type: 'OUTCOME_LOST', reason: 'retried' });
    calls.set(key(callId, generation + 1), [{ type: 'ADMITTED' }, { type: 'CLEARED' }]);
  } else {
    const outcome = decision === 'abandon' ? 'abandoned' : 'success';
    events.push({ type: 'SETTLED_BY_DECISION', decision, outcome });
  }
}

function isLost(events: readonly ToolCallEvent[]): boolean {
  return events.at(-1)?.type === 'OUTCOME_LOST';
}

function key(callId: string, generation: number): string {
  return generation === 0 ? callId : `${callId}#${generation}`;
}

function newestGeneration(calls: CallEvents, callId: string): number {
  let generation = 0;
  while (calls.has(key(callId, generation + 1))) generation += 1;
  return generation;
}

function at(calls: CallEvents, callId: string, generation: number): ToolCallEvent[] {
  const events = calls.get(key(callId, generation)) ?? [];
  calls.set(key(callId, generation), events);
  return events;
}

function newest(calls: CallEvents, callId: string): ToolCallEvent[] {
  return at(calls, callId, newestGeneration(calls, callId));
}
