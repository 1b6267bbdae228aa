import type { LedgerRecord, RecordData } from './records.ts';
import type { ReportedCall } from './recovery.ts';

/**
 * Functions of a graph that were entered, have no outcome and may not simply run again: somebody has to decide. Read
 * from the records of a turn.
 */
export function indeterminateNodes(
  records: readonly LedgerRecord[],
  turnId: string,
): readonly ReportedCall[] {
  const open = new Map<string, RecordData<'node.started'>>();
  for (const record of records) {
    if (record.turn !== turnId) continue;
    if (record.type === 'node.started') open.set(record.data.work, record.data);
    // One whose outcome is said to be unknown is as open as before.
    if (record.type === 'node.finished' && record.data.status !== 'indeterminate')
      open.delete(record.data.work);
  }
  return [...open.values()]
    .filter(({ recovery }) => recovery === 'never_auto_retry')
    .map(({ work, node, operationId }) => ({ callId: work, toolName: node, operationId }));
}
