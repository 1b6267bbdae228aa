import type { IndeterminateCall } from '../agent/run-result.ts';
import { workOperationId } from './enter-function.ts';
import type { GraphNode } from './graph-node.ts';
import { commitFacts, type GraphScope } from './graph-scope.ts';
import type { WorkState } from './work-state.ts';

/** A node as whoever decides on it knows it: like a call whose outcome is unknown. */
export function indeterminateCallOf(
  scope: Pick<GraphScope, 'turnId'>,
  { work, operator }: WorkState,
): IndeterminateCall {
  const operationId = workOperationId(scope.turnId, work);
  return { callId: work, toolName: operator.spec.operator, operationId };
}

/** Leaves an attempt whose outcome is unknown as it is, and says so once. */
export async function openAttempt(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  attempt: number,
): Promise<void> {
  if (work.status !== 'indeterminate') {
    const data = { work: work.work, node: node.name, attempt, durationMs: 0 };
    await commitFacts(scope, [{ type: 'node.finished', data: { ...data, status: 'indeterminate' } }]);
  }
  const calls = [indeterminateCallOf(scope, work)];
  scope.parked.push({ work: work.work, reason: 'indeterminate', approvals: [], calls });
}
