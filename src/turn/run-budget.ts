import { SwarmError } from '../errors.ts';
import type { Usage } from '../ledger/content.ts';
import type { NewRecord } from '../ledger/records.ts';
import { createUsageHolds, type ExpectedUse } from './usage-holds.ts';

/** Hard bounds over everything one run causes. An absent one is no bound; 0 allows none. */
export interface BudgetOptions {
  readonly steps?: number;
  readonly toolCalls?: number;
  readonly tokens?: number;
  readonly costUsd?: number;
  /** Milliseconds from the start of the run, anew with each resume: while a turn lies in the ledger nobody works. */
  readonly wallMs?: number;
  readonly depth?: number;
  /** Agents of the run, the root included. */
  readonly agents?: number;
}

/** A bound that is used up. */
export interface BudgetRefusal {
  readonly budget: keyof BudgetOptions;
  readonly limit: number;
  readonly used: number;
}

/** A bound of the tree of sessions that is used up. */
export interface TreeRefusal {
  readonly budget: 'agents' | 'depth' | 'handoffs' | 'fanOut';
  readonly limit: number;
  readonly used: number;
}

/** The fact that a bound is used up. */
export function exceededRecord(
  turn: string,
  { budget, limit, used }: BudgetRefusal | TreeRefusal,
): NewRecord {
  return { type: 'budget.exceeded', turn, data: { budget, limit, used } };
}

/** Failure kinds by which a used-up budget ends a run; that of steps is the kind of `limits.steps` too. */
export const BUDGET_FAILURE: Readonly<Record<keyof BudgetOptions, string>> = {
  steps: 'step-limit',
  toolCalls: 'tool-call-budget',
  tokens: 'token-budget',
  costUsd: 'cost-budget',
  wallMs: 'wall-clock-budget',
  depth: 'depth-budget',
  agents: 'agent-budget',
};

/** One budget of a whole run, shared by everything in it: taken before work starts, so nothing overspends. */
export interface RunBudget {
  readonly options: BudgetOptions;
  /** Takes a step, or says which bound forbids it. */
  reserveStep(): BudgetRefusal | undefined;
  /** Gives a step back that was taken and whose request was never sent. */
  releaseStep(): void;
  /**
   * Holds tokens and money for a request until it is `release`d: requests at the same time wait for each other where
   * together they could take more than is left. One alone is never held up by what it may come to. Says so where
   * nothing is left; an aborted signal ends the wait.
   */
  hold(expected: ExpectedUse, signal: AbortSignal): Promise<UsageHold>;
  /** `isFirst` for the first refusal of the run: the others say nothing new. */
  reserveCall(): (BudgetRefusal & { readonly isFirst: boolean }) | undefined;
  /** Takes an agent, within the bound that holds where it is asked for. */
  reserveAgent(limit: number): TreeRefusal | undefined;
  /** Gives an agent back that was taken and never wanted in earnest. */
  releaseAgent(): void;
  /** Takes a handoff, within the bound that holds where it is made. */
  reserveHandoff(limit: number): TreeRefusal | undefined;
  releaseHandoff(): void;
  /** Whether tokens or money are used up, with reports that are not counted yet. */
  isSpent(uncounted: readonly Usage[]): boolean;
  /** Counts what a step reported. */
  noteUsage(usage: Usage): void;
  /**
   * Takes out one of `of` equal parts of what is left, of what the tree may have as well: whoever gets it needs to ask
   * nobody, and nothing is spent twice.
   */
  share(of: number, tree: { readonly agents: number; readonly handoffs: number }): BudgetShare;
  /** Keeps out of reach what was given away in an earlier process and is not used up. */
  setAside(share: BudgetShare): void;
  /**
   * Goes on with a budget of an earlier process: what was used of it, and its bounds where this one has none of
   * its own.
   */
  restore(used: UsedBefore, bounds: BudgetOptions): void;
}

/** Room for one request, or why there is none. */
export type UsageHold =
  | { readonly type: 'held'; release(): void }
  | { readonly type: 'spent'; readonly refusal: BudgetRefusal };

/** What a run had used when it was taken up. */
export interface UsedBefore {
  readonly steps: number;
  readonly toolCalls: number;
  readonly agents: number;
  readonly handoffs: number;
}

/** What of a budget is another worker's to spend. Bounds that the budget has not are not in it. */
export interface BudgetShare {
  readonly budget: BudgetOptions;
  /** Agents below the one it is for, and handoffs. */
  readonly agents: number;
  readonly handoffs: number;
}

/** @throws SwarmError 'invalid-limit' for a bound that is negative or not a number */
export function createRunBudget(options: BudgetOptions): RunBudget {
  checkBudget(options);
  const holds = createUsageHolds();
  const used = { steps: 0, toolCalls: 0, tokens: 0, costUsd: 0, agents: 0, handoffs: 0 };
  let bounds = options;
  const over = (budget: Exclude<keyof typeof used, 'handoffs'>): BudgetRefusal | undefined => {
    const limit = bounds[budget];
    return limit !== undefined && used[budget] >= limit ? { budget, limit, used: used[budget] } : undefined;
  };
  const reserve = (budget: 'steps' | 'toolCalls'): BudgetRefusal | undefined => {
    const refusal = over(budget);
    if (refusal === undefined) used[budget] += 1;
    return refusal;
  };
  /** Whether a tree bound leaves one more. */
  const reserveIn = (budget: 'agents' | 'handoffs', limit: number): TreeRefusal | undefined => {
    if (used[budget] >= limit) return { budget, limit, used: used[budget] };
    used[budget] += 1;
    return undefined;
  };
  const fits = ({ tokens, costUsd }: ExpectedUse): boolean =>
    used.tokens + holds.tokens + tokens <= (bounds.tokens ?? Infinity) &&
    used.costUsd + holds.costUsd + costUsd <= (bounds.costUsd ?? Infinity);
  let callsRefused = 0;
  const setAside = ({ budget, agents, handoffs }: BudgetShare) => {
    for (const name of ['steps', 'toolCalls', 'tokens', 'costUsd'] as const) used[name] += budget[name] ?? 0;
    used.agents += agents;
    used.handoffs += handoffs;
  };
  const noteUsage = (usage: Usage) => {
    used.tokens += tokensOf(usage);
    used.costUsd += usage.costUsd ?? 0;
  };
  return {
    get options() {
      return bounds;
    },
    reserveStep: () => over('tokens') ?? over('costUsd') ?? reserve('steps'),
    releaseStep() {
      used.steps -= 1;
    },
    async hold(expected, signal) {
      for (;;) {
        const refusal = over('tokens') ?? over('costUsd');
        if (refusal !== undefined) return { type: 'spent', refusal };
        if (holds.count === 0 || fits(expected) || signal.aborted) break;
        await holds.changed(signal);
      }
      return { type: 'held', release: holds.take(expected) };
    },
    reserveCall() {
      const refusal = reserve('toolCalls');
      if (refusal === undefined) return undefined;
      callsRefused += 1;
      return { ...refusal, isFirst: callsRefused === 1 };
    },
    reserveAgent: (limit) => reserveIn('agents', limit),
    reserveHandoff: (limit) => reserveIn('handoffs', limit),
    releaseAgent() {
      used.agents -= 1;
    },
    releaseHandoff() {
      used.handoffs -= 1;
    },
    isSpent(uncounted) {
      const { tokens: maxTokens = Infinity, costUsd: maxCostUsd = Infinity } = bounds;
      const tokens = uncounted.reduce((sum, usage) => sum + tokensOf(usage), used.tokens);
      const costUsd = uncounted.reduce((sum, usage) => sum + (usage.costUsd ?? 0), used.costUsd);
      return tokens >= maxTokens || costUsd >= maxCostUsd;
    },
    noteUsage,
    share(of, tree) {
      const part = (limit: number, taken: number) => Math.max(0, Math.floor((limit - taken) / of));
      const budget: { -readonly [K in keyof BudgetOptions]: BudgetOptions[K] } = {};
      for (const name of ['steps', 'toolCalls', 'tokens'] as const) {
        const limit = bounds[name];
        if (limit !== undefined && Number.isFinite(limit)) budget[name] = part(limit, used[name]);
      }
      const { costUsd, wallMs } = bounds;
      if (costUsd !== undefined && Number.isFinite(costUsd)) {
        budget.costUsd = Math.max(0, costUsd - used.costUsd) / of;
      }
      // Time passes for all of them at once.
      if (wallMs !== undefined && Number.isFinite(wallMs)) budget.wallMs = wallMs;
      const share = {
        budget,
        agents: part(tree.agents, used.agents),
        handoffs: part(tree.handoffs, used.handoffs),
      };
      setAside(share);
      return share;
    },
    setAside,
    restore(before, earlier) {
      used.steps += before.steps;
      used.toolCalls += before.toolCalls;
      used.agents += before.agents;
      used.handoffs += before.handoffs;
      bounds = { ...earlier, ...options };
    },
  };
}

/** @throws SwarmError 'invalid-limit' */
function checkBudget(options: BudgetOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(BUDGET_FAILURE, name))
      throw new SwarmError('invalid-limit', `budget.${name} is not a budget`);
    if (value === undefined || (typeof value === 'number' && value >= 0)) continue;
    throw new SwarmError(
      'invalid-limit',
      `budget.${name} must be a number of at least 0, not ${String(value)}`,
    );
  }
}

function tokensOf(usage: Usage): number {
  return usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
}
