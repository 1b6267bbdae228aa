import type { ToolChoice } from '../model/adapter.ts';
import type { StepView } from '../tools/step-view.ts';
import type { TurnScope } from './turn-scope.ts';

/** Tools of one request, frozen when the step starts. */
export interface ToolView extends StepView {
  readonly toolChoice: ToolChoice;
  readonly toolsForbidden: boolean;
}

/** The view of the step that starts, and whether it may call anything. */
export function projectTools(scope: TurnScope, isLastStep: boolean): ToolView {
  const { plan, tools } = scope;
  const view = tools.view();
  const choice = outputChoice(scope, view, isLastStep);
  if (choice !== undefined) return { ...view, toolChoice: choice, toolsForbidden: false };
  // Keeping the tools keeps the provider's cached prefix; a call that comes anyway is refused.
  const toolsForbidden = view.visible.length > 0 && isLastStep && plan.answersAtLastStep;
  if (view.visible.length === 0 || toolsForbidden)
    return { ...view, toolChoice: { type: 'none' }, toolsForbidden };
  return { ...view, toolChoice: plan.settings.toolChoice ?? { type: 'auto' }, toolsForbidden };
}

/** Where nothing is left but to hand in the output, the model is held to it. */
function outputChoice(
  { plan, progress }: TurnScope,
  view: StepView,
  isLastStep: boolean,
): ToolChoice | undefined {
  if (plan.output?.mode !== 'submit') return undefined;
  const { definition } = plan.output.contract.submit;
  const isDue = isLastStep || progress.rejectedOutputs.size > 0 || view.visible.length === 1;
  return isDue ? { type: 'tool', toolName: definition.name } : undefined;
}
