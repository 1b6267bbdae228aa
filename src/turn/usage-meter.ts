import type { Usage } from '../ledger/content.ts';

type Counts = { -readonly [K in keyof Usage]?: number | undefined };

/** Sum of two reports; a count that one of them lacks is taken from the other. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Counts = { ...a };
  for (const [key, value] of Object.entries(b)) {
    if (typeof value !== 'number') continue;
    // Keys of a Usage are keys of Counts.
    const name = key as keyof Counts;
    sum[name] = (sum[name] ?? 0) + value;
  }
  return sum;
}

/** Usage of one agent or of a whole run. */
export interface UsageSum {
  /** Sum of all reports. */
  readonly reported: Usage;
  /** False once one attempt has no report: then the true sum is unknown. */
  readonly complete: boolean;
}

/** Usage of a run so far, by agent. */
export interface UsageMeter {
  /** A step's report; `complete` is false when some attempt of it has none. */
  note(agent: string, usage: Usage | undefined, complete?: boolean): void;
  /** What was used before, and is counted everywhere else: for this meter alone. */
  noteBefore(agent: string, usage: Usage | undefined, complete: boolean): void;
  readonly total: UsageSum;
  readonly byAgent: ReadonlyMap<string, UsageSum>;
}

const NOTHING: UsageSum = { reported: {}, complete: true };

/** A meter of its own. What a meter with an `outer` one counts, that one counts too. */
export function createUsageMeter(outer?: UsageMeter): UsageMeter {
  let total = NOTHING;
  const byAgent = new Map<string, UsageSum>();
  const add = (sum: UsageSum, usage: Usage | undefined, complete: boolean): UsageSum => ({
    reported: usage === undefined ? sum.reported : addUsage(sum.reported, usage),
    complete: sum.complete && complete,
  });
  const noteBefore = (agent: string, usage: Usage | undefined, complete: boolean) => {
    total = add(total, usage, complete);
    byAgent.set(agent, add(byAgent.get(agent) ?? NOTHING, usage, complete));
  };
  return {
    noteBefore,
    note(agent, usage, complete = usage !== undefined) {
      noteBefore(agent, usage, complete);
      outer?.note(agent, usage, complete);
    },
    get total() {
      return total;
    },
    byAgent,
  };
}
