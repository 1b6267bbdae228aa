import { sleep } from '../clock.ts';
import type { Failure, NewRecord } from '../ledger/records.ts';
import type { StepFacts } from '../ledger/turn-facts.ts';
import { INTERRUPTED } from './step-facts.ts';
import type { TurnScope } from './turn-scope.ts';

/** A step that is open in the ledger while nobody works at it. */
export type LeftStep = Pick<StepFacts, 'stepId' | 'attempts' | 'openAttempt' | 'retryAt'>;

/**
 * Facts that end a step which an earlier process left open and with which nobody goes on: as failed where a
 * failure is why, else as aborted.
 */
export function endLeftStep(
  turnId: string,
  { stepId, attempts, openAttempt }: LeftStep,
  failure?: Failure,
): readonly NewRecord[] {
  const at = { turn: turnId, step: stepId };
  const counted = { attempts, calls: 0 };
  const lost = { attempt: attempts, failure: INTERRUPTED, retryable: false };
  return [
    ...(openAttempt === undefined ? [] : [{ ...at, type: 'attempt.failed' as const, data: lost }]),
    {
      ...at,
      type: 'step.closed',
      data:
        failure === undefined ? { status: 'aborted', ...counted } : { status: 'failed', ...counted, failure },
    },
  ];
}

/** Why a step left open is not asked again, if it is not: every process that died over it cost an attempt. */
export function spentStep({ plan, progress }: TurnScope): Failure | undefined {
  const { leftStep } = progress;
  return leftStep !== undefined && leftStep.attempts >= plan.limits.attempts.max ? INTERRUPTED : undefined;
}

/** What is left of the time the provider of a step left open was to be spared. Ends at once with a stop. */
export async function sitOutBackoff({ session, stop, progress, plan }: TurnScope): Promise<void> {
  const { retryAt } = progress.leftStep ?? {};
  const leftMs = retryAt === undefined ? 0 : retryAt - session.clock.now();
  // Wall clocks of two processes may differ: never longer than any wait may be.
  if (leftMs > 0)
    await sleep(session.clock, Math.min(leftMs, plan.limits.attempts.maxRetryAfterMs), stop.signal);
}
