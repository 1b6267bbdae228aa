import type { BoundTool } from './binding.ts';
import type { ClearedCall } from './clear-permission.ts';
import { factOf } from './commit-outcome.ts';
import { type Execution, executeWithin } from './execution.ts';
import { createProgress } from './progress.ts';
import type { RuntimeToolContext } from './runtime-tool.ts';
import type { SettlingCall } from './settlement.ts';
import type { ToolContext } from './tool.ts';

/** What an implementation is entered with. */
export interface Entry extends ClearedCall {
  readonly operationId: string;
  /** Arguments parsed and defaulted. */
  readonly value: unknown;
  /** An earlier process entered it. */
  readonly reattached?: boolean;
}

/** Sessions have limits of their own, and settle when everything they started has. */
const UNBOUNDED = { timeoutMs: Number.POSITIVE_INFINITY, graceMs: Number.POSITIVE_INFINITY };

/** Enters an implementation: here and nowhere else. */
export function enterTool(call: SettlingCall, bound: BoundTool, entry: Entry): Promise<Execution> {
  const { scope, facts, machine } = call;
  const { tool } = bound;
  const { operationId } = entry;
  machine.send(entry.reattached === true ? { type: 'EXECUTE', reattached: true } : { type: 'EXECUTE' });
  const bounds = bound.waitsForSessions === true ? UNBOUNDED : scope.limits.tools;
  return executeWithin({
    clock: scope.clock,
    timeoutMs: tool.timeoutMs ?? bounds.timeoutMs,
    graceMs: bounds.graceMs,
    signal: scope.signal,
    enter: (signal) => {
      if (tool.parks === 'question') return entry.answer ?? '';
      // `bound` hides the context type of its tool: the run checked it where the agent was given.
      const ctx: ToolContext = toolContext(call, operationId, signal);
      return tool.execute(entry.value, ctx as ToolContext<never>);
    },
    onAborting: (cause) => machine.send(cause === 'timeout' ? { type: 'TIMED_OUT' } : { type: 'ABORT' }),
    onLate: (afterMs) =>
      scope.onLate({
        type: 'tool.late',
        call: facts.callId,
        data: { operationId, toolName: bound.name, afterMs },
      }),
  });
}

export function toolContext(
  call: SettlingCall,
  operationId: string,
  signal: AbortSignal,
): RuntimeToolContext {
  const { scope, facts, machine } = call;
  const progress = createProgress(scope.clock, scope.limits.tools, (text) => {
    if (!machine.send({ type: 'PROGRESS' })) return;
    // Lost progress loses nothing: the outcome is what counts.
    scope.commit([factOf(call, 'tool.progressed', { text })]).catch(() => undefined);
  });
  return {
    signal,
    context: scope.context,
    sessionId: scope.sessionId,
    turnId: scope.turnId,
    stepId: facts.stepId,
    callId: facts.callId,
    operationId,
    epoch: scope.epoch,
    agentPath: scope.agentPath,
    progress,
    suspend(isSuspended) {
      const moved = machine.send(isSuspended ? { type: 'SUSPENDED' } : { type: 'RESUMED' });
      if (moved) scope.onSuspended(facts.callId, isSuspended);
    },
    artifacts: {
      put: (bytes, mediaType) =>
        scope.artifacts.putArtifact(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, mediaType),
      get: (ref) => scope.artifacts.getArtifact(ref),
    },
  };
}
