import { stepIdOf } from '../ids.ts';
import type { Failure, NewRecord } from '../ledger/records.ts';
import type { PromptMessage } from '../model/adapter.ts';
import { buildRequest } from './build-request.ts';
import { spentStep } from './left-step.ts';
import type { ProjectedRequest } from './request-projection.ts';
import { BUDGET_FAILURE, type BudgetRefusal, exceededRecord, type UsageHold } from './run-budget.ts';
import type { SteeringLease } from './steering-queue.ts';
import type { StepEnd } from './step-end.ts';
import { runStep, type StepPlan } from './step-runner.ts';
import type { ToolView } from './tool-projection.ts';
import type { TurnScope } from './turn-scope.ts';

/** A step with the view it was taken under, or why there was none. */
export type TakenStep =
  | { readonly type: 'taken'; readonly end: StepEnd; readonly view: ToolView }
  | { readonly type: 'refused'; readonly failure: Failure; readonly event: 'projection' | 'budget' };

/**
 * Projects one request and runs the step: steering, history from the ledger, tools, stages, capture, attempts.
 * Steering that was taken is part of the first batch of the step or goes back to the queue.
 * @throws SwarmError when a fact could not be made durable
 */
export async function takeStep(
  scope: TurnScope,
  index: number,
  reopened?: NonNullable<StepPlan['reopened']>,
): Promise<TakenStep> {
  const spent = spentStep(scope);
  if (spent !== undefined) return { type: 'refused', failure: spent, event: 'projection' };
  const refusal = reopened === undefined ? scope.run.budget.reserveStep() : undefined;
  if (refusal !== undefined) return refuseByBudget(scope, refusal);
  const keepsTools = reopened?.keepsTools === true;
  if (!keepsTools) await refreshTools(scope);
  const lease = await leaseSteering(scope);
  const projection = await buildRequest(scope, { index, steering: lease?.messages ?? [], keepsTools });
  if (projection.type === 'failed') {
    lease?.lease.undo();
    return { type: 'refused', failure: projection.failure, event: 'projection' };
  }
  const { projected, view } = projection;
  const hold = await holdUsage(scope, projected, reopened);
  if (hold.type === 'spent') {
    lease?.lease.undo();
    scope.run.budget.releaseStep();
    return refuseByBudget(scope, hold.refusal);
  }
  try {
    scope.tools.takeSnapshot(view);
    scope.machine.send({ type: 'PROJECTED' });
    const end = await runLeased(scope, lease, { index, projected, reopened });
    return { type: 'taken', end, view };
  } finally {
    hold.release();
  }
}

async function refuseByBudget(scope: TurnScope, refusal: BudgetRefusal): Promise<TakenStep> {
  await scope.session.log.commit([exceededRecord(scope.turnId, refusal)]);
  const kind = BUDGET_FAILURE[refusal.budget];
  const message = `the ${refusal.budget} budget of ${refusal.limit} is used up`;
  return { type: 'refused', failure: { kind, message }, event: 'budget' };
}

/** What a step that is made again may cost was let through when it was made first. */
async function holdUsage(
  scope: TurnScope,
  { size }: ProjectedRequest,
  reopened: StepPlan['reopened'] | undefined,
): Promise<UsageHold> {
  if (reopened !== undefined) return { type: 'held', release: () => undefined };
  const { plan, context, run, stop } = scope;
  const { model, settings } = plan;
  const input = context.estimate.of(size.tokens);
  const output = settings.maxOutputTokens ?? model.maxOutputTokens ?? 0;
  const { price } = model;
  const costUsd = price === undefined ? 0 : (input * price.input + output * price.output) / 1_000_000;
  return run.budget.hold({ tokens: input + output, costUsd }, stop.signal);
}

/** Live tools change here and nowhere else: between two steps, and by facts. */
async function refreshTools(scope: TurnScope): Promise<void> {
  const { limits, live } = scope.plan;
  await live?.settle({
    clock: scope.session.clock,
    waitMs: limits.timeouts.sourceMs,
    signal: scope.stop.signal,
  });
  for (const fact of scope.tools.refresh()) await scope.session.log.commit([fact]);
}

interface LeasedSteering {
  readonly lease: SteeringLease;
  readonly messages: readonly PromptMessage[];
  readonly records: readonly NewRecord[];
}

async function leaseSteering(scope: TurnScope): Promise<LeasedSteering | undefined> {
  await scope.steering.ready();
  const lease = scope.steering.take();
  if (lease === undefined) return undefined;
  return {
    lease,
    messages: [{ role: 'user', content: lease.texts.map((text) => ({ type: 'text' as const, text })) }],
    records: [{ type: 'steering.injected', turn: scope.turnId, data: { ids: [...lease.ids] } }],
  };
}

async function runLeased(
  scope: TurnScope,
  leased: LeasedSteering | undefined,
  plan: { index: number; projected: ProjectedRequest; reopened: StepPlan['reopened'] | undefined },
): Promise<StepEnd> {
  const { index, projected, reopened } = plan;
  let isOpen = false;
  try {
    return await runStep(scope, {
      index,
      projected,
      before: leased?.records ?? [],
      ...(reopened === undefined ? {} : { reopened }),
      onOpened() {
        isOpen = true;
        scope.progress.leftStep = undefined;
        scope.context.mustBeBelow = undefined;
        leased?.lease.injected(stepIdOf(scope.turnId, index));
      },
    });
  } finally {
    // The batch that carries the texts was not written.
    if (!isOpen) leased?.lease.undo();
  }
}
