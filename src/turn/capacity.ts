import type { Limits } from '../limits.ts';
import type { Model } from '../model/adapter.ts';

/** Room of one model. Without a known window nothing is judged: the provider does it. */
export interface Capacity {
  /** Tokens of prompt and answer together. */
  readonly windowTokens: number;
  /** Tokens a prompt may have before history is folded: the window without the reserve for the answer. */
  readonly thresholdTokens: number;
}

/** How a payload stands to the room there is. `tight` still fits, and is the time to fold. */
export type CapacityVerdict = 'fits' | 'tight' | 'over';

/** A quarter of the window is kept for the answer, and `limits.context.reserveTokens` at most. */
export function capacityOf(model: Pick<Model, 'contextWindow'>, limits: Limits): Capacity | undefined {
  const { contextWindow } = model;
  if (contextWindow === undefined) return undefined;
  const reserve = Math.min(limits.context.reserveTokens, contextWindow / 4);
  return { windowTokens: contextWindow, thresholdTokens: Math.floor(contextWindow - reserve) };
}

export function judgeCapacity(tokens: number, capacity: Capacity | undefined): CapacityVerdict {
  if (capacity === undefined || tokens <= capacity.thresholdTokens) return 'fits';
  return tokens <= capacity.windowTokens ? 'tight' : 'over';
}
