import { createHash } from 'node:crypto';
import { errorText } from '../tools/error-text.ts';
import { type Execution, executeWithin } from '../tools/execution.ts';
import { toPlainJson } from '../tools/plain-json.ts';
import type { GraphNode } from './graph-node.ts';
import { type GraphScope, signalOf } from './graph-scope.ts';
import type { NodeContext, NodeFunction } from './node-target.ts';
import type { WorkOutcome } from './work-outcome.ts';
import type { WorkState } from './work-state.ts';

/** The same for every attempt of a work, so that it can serve outside systems as an idempotency key. */
export function workOperationId(turnId: string, work: string): string {
  return `op-${createHash('sha256').update(`${turnId}\n${work}`).digest('hex').slice(0, 32)}`;
}

/**
 * Enters a function, whose intent is durable. Settles at the latest one grace period after its time is over or it is
 * stopped. Never rejects.
 */
export async function enterFunction(
  scope: GraphScope,
  work: WorkState,
  node: GraphNode,
  attempt: number,
): Promise<WorkOutcome> {
  const { clock } = scope.parts;
  const signal = signalOf(scope, work);
  const { timeoutMs = scope.limits.tools.timeoutMs } = node;
  const execution = await executeWithin({
    clock,
    timeoutMs,
    graceMs: scope.limits.tools.graceMs,
    signal,
    enter: (own) => {
      // The builder held the function to what its edge brings, and the run to the context it needs.
      const run = node.target as NodeFunction<unknown, unknown>;
      return run(inputOf(scope, work, node), contextOf(scope, work, attempt, own));
    },
    onAborting: () => undefined,
    onLate: () => undefined,
  });
  return outcomeOf(scope, work, execution, timeoutMs);
}

function outcomeOf(scope: GraphScope, work: WorkState, execution: Execution, timeoutMs: number): WorkOutcome {
  if (execution.aborted === 'aborted') {
    // The process goes, and nobody knows how far the function came: somebody else decides.
    if (scope.stop.cause?.type === 'detached' && execution.type !== 'returned') return { type: 'left' };
    if (execution.type !== 'returned') return { type: 'cancelled', reason: 'it was stopped while it ran' };
  }
  if (execution.aborted === 'timeout') {
    const stopped = execution.type === 'abandoned' ? ' and did not stop' : '';
    const message = `${work.work} took longer than ${timeoutMs} ms${stopped}`;
    return { type: 'failed', failure: { kind: 'node-timeout', message } };
  }
  if (execution.type === 'returned') return { type: 'completed', value: execution.value };
  const error = execution.type === 'threw' ? execution.error : undefined;
  const message = `${work.work}: ${errorText(error, scope.limits)}`;
  return { type: 'failed', failure: { kind: 'node-failed', message } };
}

/** A copy of what the edge brings: nothing of it is shared with other nodes. Throws what a mapper throws. */
export function inputOf(scope: GraphScope, work: WorkState, node: GraphNode): unknown {
  const edge = scope.values.edgeOf(work);
  const input = node.input === undefined ? edge : node.input(edge as never);
  return input === undefined ? undefined : structuredCopy(input);
}

/** Values of edges are JSON; what a mapper made of them need not be. */
function structuredCopy(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return toPlainJson(value);
  }
}

function contextOf(scope: GraphScope, work: WorkState, attempt: number, signal: AbortSignal): NodeContext {
  const { parts, turnId, log, lineage, run } = scope;
  return {
    signal,
    context: run.context,
    sessionId: log.identity.session,
    turnId,
    work: work.work,
    attempt,
    operationId: workOperationId(turnId, work.work),
    epoch: log.epoch,
    agentPath: lineage.agentPath,
    artifacts: {
      put: (bytes, mediaType) =>
        parts.ledger.putArtifact(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, mediaType),
      get: (ref) => parts.ledger.getArtifact(ref),
    },
  };
}
