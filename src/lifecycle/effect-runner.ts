import { EFFECT_HOOKS, type EffectHookName } from '../../machines/hooks.ts';
import type { Clock } from '../clock.ts';
import { ALL_EFFECTS, type LedgerRecord } from '../ledger/records.ts';
import { callWithin } from './deadline.ts';
import { declaredFor } from './declared-hooks.ts';
import type { HookCounter } from './hook-stats.ts';
import type { Effect, EffectFact, Hooks } from './hooks.ts';

/** What effects are run with. */
export interface EffectRunnerOptions {
  readonly clock: Clock;
  /** `limits.timeouts.gateMs`: effects have the time of a gate. */
  readonly timeoutMs: number;
  readonly counter: HookCounter;
}

/** Which effects of a fact ran, by the names `effect.done` facts have in `hook`. */
export interface EffectsResult {
  /** Finished now: append `effect.done` for each. */
  readonly finished: readonly string[];
  /** Threw, hung or were stopped: run again when the session is next opened. */
  readonly unfinished: readonly string[];
}

const HOOK_OF_TYPE: ReadonlyMap<string, EffectHookName> = new Map(
  // The keys of the table are its names.
  Object.entries(EFFECT_HOOKS).map(([hook, type]) => [type, hook as EffectHookName]),
);

/** The effect bound to a type of record, if there is one. */
export function effectHookOf(recordType: string): EffectHookName | undefined {
  return HOOK_OF_TYPE.get(recordType);
}

/** The names under which the effects of a fact are done, in declared order: what a recovery compares. */
export function effectsOf(list: readonly Hooks[], recordType: string): readonly string[] {
  const hook = effectHookOf(recordType);
  return hook === undefined ? [] : declaredFor(list, hook).map(({ by }) => by);
}

/**
 * Runs the effects of one durable fact in declared order; one that fails does not stop the next. Never rejects.
 * `done` holds `<effect> <fact id>` of those that finished before (`SessionFacts.effectsDone`).
 */
export async function runEffects(
  list: readonly Hooks[],
  fact: LedgerRecord,
  scope: { readonly done: ReadonlySet<string>; readonly signal: AbortSignal },
  options: EffectRunnerOptions,
): Promise<EffectsResult> {
  const finished: string[] = [];
  const unfinished: string[] = [];
  const hook = effectHookOf(fact.type);
  if (hook === undefined || scope.done.has(`${ALL_EFFECTS} ${fact.id}`)) return { finished, unfinished };
  const { clock, timeoutMs, counter } = options;
  for (const { by, call } of declaredFor(list, hook)) {
    if (scope.done.has(`${by} ${fact.id}`)) continue;
    counter.fired(hook);
    // The type of the fact chose the hook, so the effect takes facts of that type.
    const effect = call as Effect<EffectHookName>;
    const bound = fact as EffectFact<EffectHookName>;
    const end = await callWithin({ clock, timeoutMs, signal: scope.signal }, (signal) =>
      effect(bound, { id: fact.id, signal }),
    );
    if (end.type === 'threw') counter.failed(hook, by, end.error);
    if (end.type === 'late') counter.hung(hook, by);
    (end.type === 'returned' ? finished : unfinished).push(by);
  }
  return { finished, unfinished };
}
