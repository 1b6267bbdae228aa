import type { ToolChoice } from '../model/adapter.ts';
import type { BoundTool } from '../tools/binding.ts';
import type { TurnScope } from './turn-scope.ts';

/** Tools of one request, frozen when the step starts. */
export interface ToolView {
  readonly visible: readonly BoundTool[];
  readonly toolChoice: ToolChoice;
  readonly toolsForbidden: boolean;
}

/** Direct tools by name. An empty view is an authoritative request without tools. */
export function projectTools(scope: TurnScope, isLastStep: boolean): ToolView {
  const { plan } = scope;
  const visible = [...plan.binding.tools].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  // Keeping the tools keeps the provider's cached prefix; a call that comes anyway is refused.
  const toolsForbidden = visible.length > 0 && isLastStep && plan.answersAtLastStep;
  if (visible.length === 0 || toolsForbidden)
    return { visible, toolChoice: { type: 'none' }, toolsForbidden };
  return { visible, toolChoice: plan.settings.toolChoice ?? { type: 'auto' }, toolsForbidden };
}
