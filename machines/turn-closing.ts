import type { TurnCloseReason, TurnContext, TurnEvent, TurnStopReason } from './turn.ts';

const CLOSE_RANK = { failed: 0, interrupted: 1, cancelled: 2 } as const satisfies Record<
  TurnCloseReason,
  number
>;

type Closing = Pick<TurnContext, 'closeReason' | 'stopReason' | 'failureKind'>;

const failedBy = (stopReason: TurnStopReason, failureKind: string): Closing => ({
  closeReason: 'failed',
  stopReason,
  failureKind,
});

/** What an event that closes a turn says of its end. */
function closingOf(context: TurnContext, event: TurnEvent): Closing {
  switch (event.type) {
    case 'CANCEL':
      return { closeReason: 'cancelled', stopReason: 'user-stop', failureKind: null };
    case 'INTERRUPT':
      return { closeReason: 'interrupted', stopReason: 'other', failureKind: null };
    case 'BUDGET_EXHAUSTED':
      return failedBy('budget', event.budget);
    case 'STEP_OVERFLOW':
      return failedBy('context-budget-exhausted', 'context-overflow');
    case 'COMPACTION_FAILED':
    case 'RECOVERY_FAILED':
      return failedBy('context-budget-exhausted', event.kind);
    case 'OPENED':
      return failedBy('step-limit', 'step-limit');
    case 'CONTINUE':
      return context.stopAfterStep
        ? { closeReason: 'interrupted', stopReason: 'after-step-stop', failureKind: null }
        : failedBy('step-limit', 'step-limit');
    default:
      return failedBy('error', 'kind' in event ? event.kind : 'unknown');
  }
}

/** The end a closing turn will have: the first reason, unless a stronger one comes while it closes. */
export function raiseClosing(context: TurnContext, event: TurnEvent): Partial<TurnContext> {
  const next = closingOf(context, event);
  const { closeReason } = context;
  if (closeReason === null || next.closeReason === null) return next;
  return CLOSE_RANK[next.closeReason] > CLOSE_RANK[closeReason] ? next : {};
}
