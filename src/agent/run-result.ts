import type { Usage } from '../ledger/content.ts';
import type { Failure, StopReason } from '../ledger/records.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import type { TurnEnd } from '../turn/close-turn.ts';
import type { TurnProgress } from '../turn/turn-scope.ts';
import type { UsageMeter, UsageSum } from '../turn/usage-meter.ts';

/** Tokens and cost of a run. */
export interface RunUsage {
  /** All agents together. Empty when an attempt has no usable report: unknown, never too little. */
  readonly total: Usage;
  readonly byAgent: Readonly<Record<string, Usage>>;
  /** Sum of what providers did report, also where `total` is unknown. */
  readonly reported: Usage;
}

/** Why a run failed. `kind` is a failure kind of the model adapter, a limit or budget, or an error code. */
export interface RunError extends Failure {}

/** A call whose outcome a crash left open. */
export interface IndeterminateCall {
  readonly callId: string;
  readonly toolName: string;
  readonly operationId: string;
}

interface Counted {
  readonly usage: RunUsage;
  /** Steps and tool calls of the whole turn; they go on after a resume. */
  readonly steps: number;
  readonly toolCalls: number;
}

/** What became of a run. Everything that can happen to a run is a value here; `run.result` never rejects. */
export type RunResult<Output = string> =
  | ({
      readonly status: 'completed';
      readonly output: Output;
      readonly text: string;
      readonly stopReason: StopReason;
    } & Counted)
  | ({
      readonly status: 'paused';
      readonly reason: 'approval' | 'indeterminate';
      readonly approvals: readonly PendingApproval[];
      /** Calls somebody has to decide on before the turn can go on. */
      readonly calls: readonly IndeterminateCall[];
    } & Counted)
  | ({ readonly status: 'failed'; readonly error: RunError; readonly text: string } & Counted)
  | ({ readonly status: 'cancelled'; readonly reason: string; readonly text: string } & Counted);

/** What a result is made of besides its end. */
export interface ResultParts {
  readonly meter: UsageMeter;
  readonly progress: TurnProgress;
  readonly approvals: readonly PendingApproval[];
  readonly calls: readonly IndeterminateCall[];
}

/** The result of a run whose turn ended in this process. */
export function resultOfTurn(end: TurnEnd, parts: ResultParts): RunResult<unknown> {
  const { progress } = parts;
  const counted: Counted = {
    usage: usageOf(parts.meter),
    steps: progress.steps,
    toolCalls: progress.toolCalls,
  };
  const { text } = progress;
  switch (end.type) {
    case 'paused':
      return {
        status: 'paused',
        reason: end.reason,
        approvals: parts.approvals,
        calls: parts.calls,
        ...counted,
      };
    case 'detached':
      return { status: 'failed', error: end.failure, text, ...counted };
    case 'closed': {
      if (end.status === 'failed') {
        return { status: 'failed', error: end.failure ?? UNKNOWN_FAILURE, text, ...counted };
      }
      if (end.status === 'cancelled' || end.status === 'interrupted') {
        return { status: 'cancelled', reason: end.reason ?? end.status, text, ...counted };
      }
      const output = 'value' in end ? end.value : text;
      return { status: 'completed', output, text, stopReason: end.stopReason, ...counted };
    }
  }
}

const UNKNOWN_FAILURE: Failure = { kind: 'machine-fault', message: 'the turn failed without a reason' };

/** The result of a run that never had a turn. */
export function refusedResult(failure: Failure): RunResult<never> {
  return { status: 'failed', error: failure, text: '', ...NOTHING_COUNTED };
}

/** The result of a run that was cancelled before its turn opened. */
export function cancelledResult(reason: string): RunResult<never> {
  return { status: 'cancelled', reason, text: '', ...NOTHING_COUNTED };
}

const NOTHING_COUNTED: Counted = { usage: { total: {}, byAgent: {}, reported: {} }, steps: 0, toolCalls: 0 };

function usageOf(meter: UsageMeter): RunUsage {
  const known = (sum: UsageSum): Usage => (sum.complete ? sum.reported : {});
  return {
    total: known(meter.total),
    byAgent: Object.fromEntries([...meter.byAgent].map(([agent, sum]) => [agent, known(sum)])),
    reported: meter.total.reported,
  };
}
