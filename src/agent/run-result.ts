import type { Usage } from '../ledger/content.ts';
import type { Failure, PauseReason, StopReason } from '../ledger/records.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import type { UsageMeter, UsageSum } from '../turn/usage-meter.ts';
import type { LastOutcome } from './turn-outcome.ts';

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
  /** Steps and tool calls of the whole turn, and of those it handed over to; they go on after a resume. */
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
      readonly reason: PauseReason;
      readonly approvals: readonly PendingApproval[];
      /** Calls somebody has to decide on before the turn can go on. */
      readonly calls: readonly IndeterminateCall[];
    } & Counted)
  | ({ readonly status: 'failed'; readonly error: RunError; readonly text: string } & Counted)
  | ({ readonly status: 'cancelled'; readonly reason: string; readonly text: string } & Counted);

/** The result of a run whose last turn came to `outcome`. The counts are those of the run. */
export function resultOf(outcome: LastOutcome, meter: UsageMeter): RunResult<unknown> {
  const { steps, toolCalls, text } = outcome;
  const counted: Counted = { usage: usageOf(meter), steps, toolCalls };
  switch (outcome.type) {
    case 'completed':
      return {
        status: 'completed',
        output: outcome.output,
        text,
        stopReason: outcome.stopReason,
        ...counted,
      };
    case 'paused': {
      const { reason, approvals, calls } = outcome;
      return { status: 'paused', reason, approvals, calls, ...counted };
    }
    case 'failed':
    case 'left':
      return { status: 'failed', error: outcome.failure, text, ...counted };
    case 'cancelled':
      return { status: 'cancelled', reason: outcome.reason, text, ...counted };
  }
}

/** What a meter has counted, as a result says it. */
export function usageOf(meter: UsageMeter): RunUsage {
  const known = (sum: UsageSum): Usage => (sum.complete ? sum.reported : {});
  return {
    total: known(meter.total),
    byAgent: Object.fromEntries([...meter.byAgent].map(([agent, sum]) => [agent, known(sum)])),
    reported: meter.total.reported,
  };
}
