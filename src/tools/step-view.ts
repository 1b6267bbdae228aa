import type { BoundTool } from './binding.ts';
import type { Catalogue } from './catalogue.ts';
import { placeholderOf, type WireForm } from './placeholder-tools.ts';
import { signatureText } from './tool-signature.ts';

/** The tools of one step, frozen when it starts: what its request carries and what its calls are judged by. */
export interface StepView {
  /** Tools a call may name, in wire order. */
  readonly visible: readonly BoundTool[];
  /** What the request carries of each of them, in the same order. */
  readonly wire: readonly WireForm[];
  /** Deferred tools that are active: their parameters have been shown. */
  readonly active: ReadonlySet<string>;
}

/** What a view is made of. */
export interface ViewParts {
  readonly catalogue: Catalogue;
  /** In every request, by name. */
  readonly standing: readonly BoundTool[];
  /** Active deferred tools, in activation order. */
  readonly active: readonly BoundTool[];
  /** Characters of a schema that a result may carry. */
  readonly maxSignatureChars: number;
}

/** The view of a step under the policy of the catalogue. An empty one is an authoritative request without tools. */
export function exposeTools(parts: ViewParts): StepView {
  const { catalogue, standing } = parts;
  const { policy } = catalogue;
  const active = new Set(parts.active.map((bound) => bound.name));
  if (policy.exposition === 'invoke') return { visible: standing, wire: standing, active };
  if (policy.wire === 'absent') {
    // Activated tools stand behind the rest and are never sorted in: the prefix before them stays what it was.
    const visible = [...standing, ...parts.active];
    return { visible, wire: visible, active };
  }
  const slots = catalogue.deferred;
  const forms = slots.map((bound) =>
    active.has(bound.name) && swaps(bound, parts) ? bound : placeholderOf(bound),
  );
  return { visible: [...standing, ...slots], wire: [...standing, ...forms], active };
}

/** Whether the full form takes the place of the placeholder; else its schema comes in results alone. */
function swaps(bound: BoundTool, { catalogue, maxSignatureChars }: ViewParts): boolean {
  return catalogue.policy.carrier === 'request' || signatureText(bound, maxSignatureChars) === undefined;
}

/** How a bound tool stands to a call of one step. */
export type Availability =
  | 'callable'
  /** It may be named, but its parameters have not been shown. */
  | 'untaught'
  | 'hidden'
  /** Its source took it back. */
  | 'withdrawn';

/** What a call is judged by: the name it means, and the tool of the runtime it came through, if it did. */
export interface CallRoute {
  readonly toolName: string;
  readonly via?: string | undefined;
}

/** How the tool that a call means stands in the view of its step. `isLive`: its source still has it. */
export function availabilityOf(
  route: CallRoute,
  view: StepView,
  catalogue: Catalogue,
  isLive: (name: string) => boolean,
): Availability {
  const { toolName, via } = route;
  const { policy } = catalogue;
  const isDeferred = catalogue.isDeferred(toolName);
  if (!isLive(toolName)) return 'withdrawn';
  const isReached = isDeferred && policy.exposition === 'invoke' ? via !== undefined : isIn(view, toolName);
  if (!isReached) return 'hidden';
  return isDeferred && !view.active.has(toolName) ? 'untaught' : 'callable';
}

function isIn({ visible }: StepView, name: string): boolean {
  return visible.some((bound) => bound.name === name);
}
