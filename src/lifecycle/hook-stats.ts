import type { EffectHookName, GateHookName, ObserverHookName } from '../../machines/hooks.ts';

/** Any hook point. */
export type HookName = ObserverHookName | GateHookName | EffectHookName;

/** What became of the calls of one hook point, over all declared hooks. */
export interface HookCount {
  readonly fired: number;
  /** Threw, rejected, or answered with something that is no answer. */
  readonly failed: number;
  /** Not settled by its deadline. */
  readonly hung: number;
}

/** Counts by hook point; a point that never fired is absent. */
export type HookStats = { readonly [N in HookName]?: HookCount };

/** One failure of a hook, for whoever wants to hear of it. */
export interface HookFailure {
  readonly hook: HookName;
  /** `<name of the hooks>.<hook>` */
  readonly by: string;
  readonly type: 'failed' | 'hung';
  readonly error?: unknown;
}

/** Counts calls of hooks and passes failures on. */
export interface HookCounter {
  fired(hook: HookName): void;
  failed(hook: HookName, by: string, error: unknown): void;
  hung(hook: HookName, by: string): void;
  stats(): HookStats;
}

/** A counter at zero. What `onFailure` throws is ignored: it is the last to be told. */
export function createHookCounter(onFailure?: (failure: HookFailure) => void): HookCounter {
  const counts = new Map<HookName, { fired: number; failed: number; hung: number }>();

  const of = (hook: HookName) => {
    let count = counts.get(hook);
    if (count === undefined) {
      count = { fired: 0, failed: 0, hung: 0 };
      counts.set(hook, count);
    }
    return count;
  };

  const tell = (failure: HookFailure): void => {
    try {
      onFailure?.(failure);
    } catch {
      // Nobody is left to tell.
    }
  };

  return {
    fired(hook) {
      of(hook).fired += 1;
    },
    failed(hook, by, error) {
      of(hook).failed += 1;
      tell({ hook, by, type: 'failed', error });
    },
    hung(hook, by) {
      of(hook).hung += 1;
      tell({ hook, by, type: 'hung' });
    },
    stats: () => Object.freeze(Object.fromEntries([...counts].map(([hook, count]) => [hook, { ...count }]))),
  };
}
