import type { ToolChoice } from '../model/adapter.ts';
import type { BoundTool } from '../tools/binding.ts';
import type { TurnScope } from './turn-scope.ts';

/** Tools of one request, frozen when the step starts. */
export interface ToolView {
  readonly visible: readonly BoundTool[];
  readonly toolChoice: ToolChoice;
  readonly toolsForbidden: boolean;
}

/** Standing tools by name, then found ones in the order they were found. An empty view is an authoritative request without tools. */
export function projectTools(scope: TurnScope, isLastStep: boolean): ToolView {
  const { plan, tools } = scope;
  // Activated tools stand behind the rest and are never sorted in: the prefix before them stays what it was.
  const found = [...tools.activated].flatMap((name) => tools.binding.byName(name) ?? []);
  const visible = [...tools.standing, ...found];
  // Keeping the tools keeps the provider's cached prefix; a call that comes anyway is refused.
  const toolsForbidden = visible.length > 0 && isLastStep && plan.answersAtLastStep;
  if (visible.length === 0 || toolsForbidden)
    return { visible, toolChoice: { type: 'none' }, toolsForbidden };
  return { visible, toolChoice: plan.settings.toolChoice ?? { type: 'auto' }, toolsForbidden };
}
