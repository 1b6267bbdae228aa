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
   * nobody, and nothing is spent twice. One part is that of whoever gives them. Where there are fewer steps, tool calls
   * or handoffs than parts, who comes first gets one of them: a share of none is of no use to anybody.
   */
  share(of: number, tree: { readonly agents: number; readonly handoffs: number }): BudgetShare;
  /** Keeps out of reach what was given away in an earlier process and is not used up. */
  setAside(share: BudgetShare): void;
  /**
   * Goes on with a budget of an earlier process: what was used of it, in place of what was counted and set aside here,
   * and its bounds where this one has none of its own.
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
  /** Of each request, what it reported. */
  readonly reports: readonly { readonly usage: Usage | undefined }[];
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
  return new CountedBudget(options);
}

const NOTHING = { steps: 0, toolCalls: 0, tokens: 0, costUsd: 0, agents: 0, handoffs: 0 };

class CountedBudget implements RunBudget {
  readonly #own: BudgetOptions;
  readonly #holds = createUsageHolds();
  readonly #used = { ...NOTHING };
  #bounds: BudgetOptions;
  #callsRefused = 0;

  constructor(options: BudgetOptions) {
    this.#own = options;
    this.#bounds = options;
  }

  get options(): BudgetOptions {
    return this.#bounds;
  }

  reserveStep(): BudgetRefusal | undefined {
    return this.#spent() ?? this.#reserve('steps');
  }

  releaseStep(): void {
    this.#used.steps -= 1;
  }

  async hold(expected: ExpectedUse, signal: AbortSignal): Promise<UsageHold> {
    const holds = this.#holds;
    for (;;) {
      const refusal = this.#spent();
      if (refusal !== undefined) return { type: 'spent', refusal };
      if (holds.count === 0 || this.#fits(expected) || signal.aborted) break;
      await holds.changed(signal);
    }
    return { type: 'held', release: holds.take(expected) };
  }

  reserveCall(): (BudgetRefusal & { readonly isFirst: boolean }) | undefined {
    const refusal = this.#reserve('toolCalls');
    if (refusal === undefined) return undefined;
    this.#callsRefused += 1;
    return { ...refusal, isFirst: this.#callsRefused === 1 };
  }

  reserveAgent(limit: number): TreeRefusal | undefined {
    return this.#reserveIn('agents', limit);
  }

  releaseAgent(): void {
    this.#used.agents -= 1;
  }

  reserveHandoff(limit: number): TreeRefusal | undefined {
    return this.#reserveIn('handoffs', limit);
  }

  releaseHandoff(): void {
    this.#used.handoffs -= 1;
  }

  isSpent(uncounted: readonly Usage[]): boolean {
    const { tokens: maxTokens = Infinity, costUsd: maxCostUsd = Infinity } = this.#bounds;
    const tokens = uncounted.reduce((sum, usage) => sum + tokensOf(usage), this.#used.tokens);
    const costUsd = uncounted.reduce((sum, usage) => sum + (usage.costUsd ?? 0), this.#used.costUsd);
    return tokens >= maxTokens || costUsd >= maxCostUsd;
  }

  noteUsage(usage: Usage): void {
    this.#used.tokens += tokensOf(usage);
    this.#used.costUsd += usage.costUsd ?? 0;
  }

  share(of: number, tree: { readonly agents: number; readonly handoffs: number }): BudgetShare {
    const { agents, handoffs } = this.#used;
    const share = {
      budget: this.#partOfBounds(of),
      agents: partOf(tree.agents - agents, of),
      // Who gives hands over only when all others have ended, and has by then what they left.
      handoffs: atLeastOne(tree.handoffs - handoffs, Math.max(1, of - 1), 0),
    };
    this.setAside(share);
    return share;
  }

  setAside({ budget, agents, handoffs }: BudgetShare): void {
    for (const name of DIVIDED) this.#used[name] += budget[name] ?? 0;
    this.#used.agents += agents;
    this.#used.handoffs += handoffs;
  }

  restore(before: UsedBefore, earlier: BudgetOptions): void {
    const { steps, toolCalls, agents, handoffs, reports } = before;
    Object.assign(this.#used, { ...NOTHING, steps, toolCalls, agents, handoffs });
    for (const { usage } of reports) if (usage !== undefined) this.noteUsage(usage);
    this.#bounds = { ...earlier, ...this.#own };
  }

  #spent(): BudgetRefusal | undefined {
    return this.#over('tokens') ?? this.#over('costUsd');
  }

  #over(budget: (typeof DIVIDED)[number]): BudgetRefusal | undefined {
    const limit = this.#bounds[budget];
    const used = this.#used[budget];
    return limit !== undefined && used >= limit ? { budget, limit, used } : undefined;
  }

  #reserve(budget: 'steps' | 'toolCalls'): BudgetRefusal | undefined {
    const refusal = this.#over(budget);
    if (refusal === undefined) this.#used[budget] += 1;
    return refusal;
  }

  /** Takes one more within a bound of the tree. */
  #reserveIn(budget: 'agents' | 'handoffs', limit: number): TreeRefusal | undefined {
    const used = this.#used[budget];
    if (used >= limit) return { budget, limit, used };
    this.#used[budget] += 1;
    return undefined;
  }

  #fits({ tokens, costUsd }: ExpectedUse): boolean {
    const { tokens: maxTokens = Infinity, costUsd: maxCostUsd = Infinity } = this.#bounds;
    return (
      this.#used.tokens + this.#holds.tokens + tokens <= maxTokens &&
      this.#used.costUsd + this.#holds.costUsd + costUsd <= maxCostUsd
    );
  }

  /** One of `of` equal parts of what the bounds leave. */
  #partOfBounds(of: number): BudgetOptions {
    const parts: { -readonly [K in keyof BudgetOptions]: BudgetOptions[K] } = {};
    for (const name of DIVIDED) {
      const limit = this.#bounds[name];
      if (limit === undefined || !Number.isFinite(limit)) continue;
      parts[name] = partOfBound[name](limit - this.#used[name], of);
    }
    const { wallMs } = this.#bounds;
    // Time passes for all of them at once.
    if (wallMs !== undefined && Number.isFinite(wallMs)) parts.wallMs = wallMs;
    return parts;
  }
}

/** Bounds of which whoever spends takes a part away from the others. */
const DIVIDED = ['steps', 'toolCalls', 'tokens', 'costUsd'] as const;

function partOf(left: number, of: number): number {
  return Math.max(0, Math.floor(left / of));
}

/** One of the parts, or one thing where that is less and `kept` of them stay behind. */
function atLeastOne(left: number, of: number, kept: number): number {
  return Math.max(partOf(left, of), left > kept ? 1 : 0);
}

/** Who gives steps away keeps one of them, to end with. */
const partOfBound: Readonly<Record<(typeof DIVIDED)[number], (left: number, of: number) => number>> = {
  steps: (left, of) => atLeastOne(left, of, 1),
  toolCalls: (left, of) => atLeastOne(left, of, 0),
  tokens: partOf,
  costUsd: (left, of) => Math.max(0, left) / of,
};

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
