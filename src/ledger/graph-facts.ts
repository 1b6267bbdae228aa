import type { LedgerRecord, NewRecord, RecordData } from './records.ts';
import type { ReportedCall } from './recovery.ts';

/**
 * Functions of a graph that were entered, have no outcome and may not simply run again: somebody has to decide. Read
 * from the records of a turn.
 */
export function indeterminateNodes(
  records: readonly LedgerRecord[],
  turnId: string,
): readonly ReportedCall[] {
  return openAttempts(records, turnId)
    .filter(({ recovery }) => recovery === 'never_auto_retry')
    .map(({ work, node, operationId }) => ({ callId: work, toolName: node, operationId }));
}

/** Facts that give an open run of a graph up: every node that was entered has an outcome, and the graph has ended. */
export function abandonedNodes(
  records: readonly LedgerRecord[],
  turnId: string,
  reason: string,
): readonly NewRecord[] {
  const nodes = openAttempts(records, turnId).map(({ work, node, attempt, child }): NewRecord => {
    const message = `${work} was given up; whether it had an effect is unknown: ${reason}`;
    const error = { kind: 'abandoned', message };
    const data = {
      work,
      node,
      attempt,
      status: 'cancelled',
      error,
      decision: 'abandon',
      durationMs: 0,
    } as const;
    return {
      type: 'node.finished',
      turn: turnId,
      data: child === undefined ? data : { ...data, child },
    };
  });
  return [...nodes, { type: 'graph.finished', turn: turnId, data: { status: 'interrupted' } }];
}

/** Last attempts without an end that stands. One whose outcome is said to be unknown is as open as before. */
function openAttempts(
  records: readonly LedgerRecord[],
  turnId: string,
): readonly RecordData<'node.started'>[] {
  const open = new Map<string, RecordData<'node.started'>>();
  for (const record of records) {
    if (record.turn !== turnId) continue;
    if (record.type === 'node.started') open.set(record.data.work, record.data);
    if (record.type === 'node.finished' && record.data.status !== 'indeterminate')
      open.delete(record.data.work);
  }
  return [...open.values()];
}
