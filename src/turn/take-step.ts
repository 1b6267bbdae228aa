import { SwarmError } from '../errors.ts';
import { stepIdOf } from '../ids.ts';
import type { Failure, NewRecord } from '../ledger/records.ts';
import type { PromptMessage } from '../model/adapter.ts';
import type { RequestDraft } from './context-stage.ts';
import { spentStep } from './left-step.ts';
import { type ProjectedRequest, projectRequest } from './request-projection.ts';
import { BUDGET_FAILURE, exceededRecord } from './run-budget.ts';
import type { SteeringLease } from './steering-queue.ts';
import { runStep, type StepEnd, type StepPlan } from './step-runner.ts';
import { projectTools, type ToolView } from './tool-projection.ts';
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
  if (refusal !== undefined) {
    await scope.session.log.commit([exceededRecord(scope.turnId, refusal)]);
    const kind = BUDGET_FAILURE[refusal.budget];
    const message = `the ${refusal.budget} budget of ${refusal.limit} is used up`;
    return { type: 'refused', failure: { kind, message }, event: 'budget' };
  }
  await refreshTools(scope);
  const lease = await leaseSteering(scope);
  const projection = await project(scope, index, lease);
  if (projection.type === 'failed') {
    lease?.lease.undo();
    return { type: 'refused', failure: projection.failure, event: 'projection' };
  }
  scope.tools.takeSnapshot(projection.view);
  scope.machine.send({ type: 'PROJECTED' });
  const end = await runLeased(scope, lease, { index, projected: projection.projected, reopened });
  return { type: 'taken', end, view: projection.view };
}

/** Live tools change here and nowhere else: between two steps, and by facts. */
async function refreshTools(scope: TurnScope): Promise<void> {
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
        leased?.lease.injected(stepIdOf(scope.turnId, index));
      },
    });
  } finally {
    // The batch that carries the texts was not written.
    if (!isOpen) leased?.lease.undo();
  }
}

type Projection =
  | { readonly type: 'projected'; readonly projected: ProjectedRequest; readonly view: ToolView }
  | { readonly type: 'failed'; readonly failure: Failure };

async function project(
  scope: TurnScope,
  index: number,
  leased: LeasedSteering | undefined,
): Promise<Projection> {
  const { plan } = scope;
  const history = await readHistory(scope);
  if (history.type === 'failed') return history;
  const view = projectTools(scope, index >= plan.limits.steps);
  if (view.visible.length > plan.limits.visibleTools) {
    const message = `${view.visible.length} tools are visible, ${plan.limits.visibleTools} may be`;
    return failed('too-many-tools', message);
  }
  const draft: RequestDraft = {
    system: withInventory(plan.instructions, scope.tools.catalogue.inventory),
    messages: leased === undefined ? history.messages : [...history.messages, ...leased.messages],
    visible: view.visible,
    wire: view.wire,
  };
  const gated = await passRequestGate(scope, index, draft);
  if (gated.type === 'failed') return gated;
  const staged = await runStages(scope, gated.draft);
  if (staged.type === 'failed') return staged;
  const projected = projectRequest(scope, { ...staged.draft, toolChoice: view.toolChoice });
  return passStepGate(scope, index, { projected, view });
}

/** The inventory stands at one fixed place, the end of the system text. */
function withInventory(instructions: string, inventory: string): string {
  if (inventory === '') return instructions;
  return instructions === '' ? inventory : `${instructions}\n\n${inventory}`;
}

type History =
  | { readonly type: 'read'; readonly messages: readonly PromptMessage[] }
  | { readonly type: 'failed'; readonly failure: Failure };

/** What the ledger says now; without it nothing is sent and nothing runs. */
export async function readHistory(scope: TurnScope): Promise<History> {
  try {
    return { type: 'read', messages: await scope.session.conversation.reload() };
  } catch (error) {
    const kind = error instanceof SwarmError ? error.code : 'ledger-unavailable';
    return failed(kind, 'the history of the session cannot be read');
  }
}

type Drafted =
  | { readonly type: 'draft'; readonly draft: RequestDraft }
  | { readonly type: 'failed'; readonly failure: Failure };

async function passRequestGate(scope: TurnScope, index: number, draft: RequestDraft): Promise<Drafted> {
  const { plan, session } = scope;
  if (!plan.gates.has('beforeRequest')) return { type: 'draft', draft };
  const result = await plan.gates.run(
    'beforeRequest',
    {
      sessionId: session.sessionId,
      agentPath: session.agentPath,
      turnId: scope.turnId,
      stepIndex: index,
      model: plan.model.modelId,
      system: draft.system,
      messages: draft.messages,
      tools: draft.visible.map((bound) => bound.name),
    },
    scope.stop.signal,
  );
  if (result.type === 'refuse') return failed('gate-refused', result.reason);
  const { system, messages } = result.subject;
  return { type: 'draft', draft: { ...draft, system, messages } };
}

async function runStages(scope: TurnScope, first: RequestDraft): Promise<Drafted> {
  let draft = first;
  for (const stage of scope.plan.stages) {
    const result = await stage.apply(draft, scope.stop.signal);
    if (result.type === 'exhausted') return failed('context-budget-exhausted', result.detail, result.detail);
    if (result.type === 'changed') draft = result.draft;
  }
  return { type: 'draft', draft };
}

async function passStepGate(
  scope: TurnScope,
  index: number,
  made: { projected: ProjectedRequest; view: ToolView },
): Promise<Projection> {
  const { plan, session } = scope;
  if (!plan.gates.has('beforeStep')) return { type: 'projected', ...made };
  const result = await plan.gates.run(
    'beforeStep',
    {
      sessionId: session.sessionId,
      agentPath: session.agentPath,
      turnId: scope.turnId,
      stepId: stepIdOf(scope.turnId, index),
      stepIndex: index,
      model: plan.model.modelId,
      tools: made.view.visible.map((bound) => bound.name),
    },
    scope.stop.signal,
  );
  return result.type === 'refuse' ? failed('gate-refused', result.reason) : { type: 'projected', ...made };
}

function failed(
  kind: string,
  message: string,
  detail?: string,
): { readonly type: 'failed'; readonly failure: Failure } {
  return { type: 'failed', failure: { kind, message, ...(detail === undefined ? {} : { detail }) } };
}
