import type { BoundTool } from './binding.ts';
import type { ClearedCall } from './clear-permission.ts';
import { factOf } from './commit-outcome.ts';
import { type Execution, executeWithin } from './execution.ts';
import { createProgress } from './progress.ts';
import type { SettlingCall } from './settlement.ts';
import type { ToolContext } from './tool.ts';

/** What an implementation is entered with. */
export interface Entry extends ClearedCall {
  readonly operationId: string;
  /** Arguments parsed and defaulted. */
  readonly value: unknown;
}

/** Enters an implementation: here and nowhere else. */
export function enterTool(call: SettlingCall, bound: BoundTool, entry: Entry): Promise<Execution> {
  const { scope, facts, machine } = call;
  const { tool } = bound;
  const { operationId } = entry;
  machine.send({ type: 'EXECUTE' });
  return executeWithin({
    clock: scope.clock,
    timeoutMs: tool.timeoutMs ?? scope.limits.tools.timeoutMs,
    graceMs: scope.limits.tools.graceMs,
    signal: scope.signal,
    enter: (signal) => {
      if (tool.parks === 'question') return entry.answer ?? '';
      // `bound` hides the context type of its tool: the run checked it where the agent was given.
      return tool.execute(entry.value, toolContext(call, operationId, signal) as ToolContext<never>);
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

export function toolContext(call: SettlingCall, operationId: string, signal: AbortSignal): ToolContext {
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
    artifacts: {
      put: (bytes, mediaType) =>
        scope.artifacts.putArtifact(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, mediaType),
      get: (ref) => scope.artifacts.getArtifact(ref),
    },
  };
}
