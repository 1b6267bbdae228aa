import type { Usage } from '../ledger/content.ts';
import type { NewRecord } from '../ledger/records.ts';
import { type RunningStep, stepFact } from './step-facts.ts';

/** A request as a provider's prompt cache may hold it. */
export interface CachedPrefix {
  readonly toolsHash: string;
  readonly systemHash: string;
  readonly inputTokens: number;
  /** The provider has read from its cache before: 0 is then a miss, and not a provider without one. */
  readonly caches: boolean;
}

/** Providers cache nothing shorter. */
const MIN_CACHED_TOKENS = 1_024;

/** Notes what a request was read from, and the fact that its prefix was not found where it should have been. */
export function noteCache(step: RunningStep, usage: Usage | undefined): readonly NewRecord[] {
  const { scope, plan } = step;
  const { inputTokens, cacheReadTokens } = usage ?? {};
  const before = scope.context.cached;
  if (inputTokens === undefined || cacheReadTokens === undefined) return [];
  const { toolsHash, systemHash } = plan.projected.fingerprint;
  const caches =
    cacheReadTokens > 0 || (before?.caches ?? scope.plan.model.capabilities.promptCache === true);
  scope.context.cached = { toolsHash, systemHash, inputTokens, caches };
  if (before === undefined || !before.caches || before.toolsHash !== toolsHash) return [];
  if (before.inputTokens < MIN_CACHED_TOKENS || cacheReadTokens >= before.inputTokens / 2) return [];
  const data = {
    previousInputTokens: before.inputTokens,
    cacheReadTokens,
    systemChanged: before.systemHash !== systemHash,
  };
  return [stepFact(step, 'step.cache-broken', data)];
}
