import type { PromptMessage } from '../model/adapter.ts';
import type { BoundTool } from '../tools/binding.ts';
import type { WireForm } from '../tools/placeholder-tools.ts';

/** A request on its way through the stages, before it is frozen. */
export interface RequestDraft {
  readonly system: string;
  readonly messages: readonly PromptMessage[];
  readonly visible: readonly BoundTool[];
  /** What the request carries of each of them, in the same order. */
  readonly wire: readonly WireForm[];
}

/** What a stage makes of a draft. */
export type StageResult =
  | { readonly type: 'unchanged' }
  | { readonly type: 'changed'; readonly draft: RequestDraft }
  /** Nothing that fits can be made: the turn ends with `context-budget-exhausted` and this detail. */
  | { readonly type: 'exhausted'; readonly detail: string };

/**
 * One stage between history and request: capacity, pruning, compaction. Stages run in order before every step
 * and may only keep whole groups of a call and its results.
 */
export interface ContextStage {
  readonly name: string;
  apply(draft: RequestDraft, signal: AbortSignal): Promise<StageResult>;
}
