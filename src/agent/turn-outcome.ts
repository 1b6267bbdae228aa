import type { Failure, PauseReason, StopReason } from '../ledger/records.ts';
import type { PendingApproval } from '../tools/approvals.ts';
import type { TurnEnd } from '../turn/close-turn.ts';
import type { TurnProgress } from '../turn/turn-scope.ts';
import type { IndeterminateCall } from './run-result.ts';

/** Who takes over from a turn, and from what. */
export interface Handoff {
  readonly to: string;
  /** Session that takes over. */
  readonly session: string;
  readonly input: string;
}

/** What became of one turn. */
export type TurnOutcome = { readonly steps: number; readonly toolCalls: number; readonly text: string } & (
  | { readonly type: 'completed'; readonly output: unknown; readonly stopReason: StopReason }
  | { readonly type: 'failed'; readonly failure: Failure }
  | { readonly type: 'cancelled'; readonly reason: string }
  | { readonly type: 'handed-off'; readonly handoff: Handoff }
  | {
      readonly type: 'paused';
      readonly reason: PauseReason;
      readonly approvals: readonly PendingApproval[];
      readonly calls: readonly IndeterminateCall[];
    }
  /** Open in the ledger and gone from this process. */
  | { readonly type: 'left'; readonly failure: Failure }
);

/** The part of the outcomes that nothing follows. */
export type LastOutcome = Exclude<TurnOutcome, { readonly type: 'handed-off' }>;

/** What of a turn waits for somebody. */
export type LeftOpen = Pick<Extract<TurnOutcome, { readonly type: 'paused' }>, 'approvals' | 'calls'>;

const UNKNOWN_FAILURE: Failure = { kind: 'machine-fault', message: 'the turn failed without a reason' };

/** The outcome of a turn that ended in this process. */
export function outcomeOf(end: TurnEnd, progress: TurnProgress, open: LeftOpen): TurnOutcome {
  const { steps, toolCalls, text } = progress;
  const counted = { steps, toolCalls, text };
  if (end.type === 'paused') return { type: 'paused', reason: end.reason, ...open, ...counted };
  if (end.type === 'detached') return { type: 'left', failure: end.failure, ...counted };
  switch (end.status) {
    case 'failed':
      return { type: 'failed', failure: end.failure ?? UNKNOWN_FAILURE, ...counted };
    case 'cancelled':
    case 'interrupted':
      return { type: 'cancelled', reason: end.reason ?? end.status, ...counted };
    case 'handed-off':
      return progress.handoff === undefined
        ? { type: 'failed', failure: UNKNOWN_FAILURE, ...counted }
        : { type: 'handed-off', handoff: progress.handoff, ...counted };
    case 'completed':
    case 'yielded': {
      const output = 'value' in end ? end.value : text;
      return { type: 'completed', output, stopReason: end.stopReason, ...counted };
    }
  }
}

/** The outcome of a turn that was never opened. */
export function refusedOutcome(failure: Failure): LastOutcome {
  return { type: 'failed', failure, ...NOTHING_COUNTED };
}

/** The outcome of a turn that was stopped before it was opened. */
export function cancelledOutcome(reason: string): LastOutcome {
  return { type: 'cancelled', reason, ...NOTHING_COUNTED };
}

const NOTHING_COUNTED = { steps: 0, toolCalls: 0, text: '' };
