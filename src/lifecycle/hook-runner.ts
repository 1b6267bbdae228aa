import type { Clock } from '../clock.ts';
import type { LedgerRecord } from '../ledger/records.ts';
import { isThenable } from './deadline.ts';
import { declaredFor } from './declared-hooks.ts';
import { type EffectsResult, runEffects } from './effect-runner.ts';
import { createGateRunner } from './gate-runner.ts';
import { createHookCounter, type HookFailure, type HookName, type HookStats } from './hook-stats.ts';
import type { GateRunner, Hooks } from './hooks.ts';
import type { TransitionRecord } from './transition-record.ts';

export interface HookRunnerOptions {
  readonly clock: Clock;
  /** `gateMs` for gates and effects, `observerMs` for observers. */
  readonly timeouts: { readonly gateMs: number; readonly observerMs: number };
  /** Told of each failed or hung hook. */
  readonly onFailure?: (failure: HookFailure) => void;
}

/** Calls the hooks of one runtime, whatever list of them holds where, and counts what became of them. */
export interface HookRunner {
  /** Tells the observers of a record's hook, in order and at once. Never throws, never waits. */
  observe(list: readonly Hooks[], record: TransitionRecord): void;
  /** The gates of a list, in its order. */
  gates(list: readonly Hooks[]): GateRunner;
  /** Runs the effects of a durable fact; see {@link runEffects}. */
  effects(
    list: readonly Hooks[],
    fact: LedgerRecord,
    scope: { readonly done: ReadonlySet<string>; readonly signal: AbortSignal },
  ): Promise<EffectsResult>;
  stats(): HookStats;
  /** Gives up on observers that are still at it; leaves no timer. */
  close(): void;
}

/** A runner that has called nothing yet. */
export function createHookRunner(options: HookRunnerOptions): HookRunner {
  const { clock, timeouts } = options;
  const counter = createHookCounter(options.onFailure);
  const bounds = { clock, timeoutMs: timeouts.gateMs, counter };
  const timers = new Set<unknown>();

  /** One timer for each observer that has not settled, for as long as it may take. */
  const watch = (hook: HookName, by: string, pending: PromiseLike<unknown>): void => {
    const timer = clock.setTimeout(() => {
      timers.delete(timer);
      counter.hung(hook, by);
    }, timeouts.observerMs);
    timers.add(timer);
    // Each call counts once: what comes after it was given up is of no interest.
    const over = (): boolean => {
      const inTime = timers.delete(timer);
      if (inTime) clock.clearTimeout(timer);
      return inTime;
    };
    Promise.resolve(pending).then(over, (error: unknown) => {
      if (over()) counter.failed(hook, by, error);
    });
  };

  return {
    observe(list, record) {
      const { hook } = record;
      if (hook === undefined) return;
      for (const { by, call } of declaredFor(list, hook)) {
        counter.fired(hook);
        try {
          const answer: unknown = call(record);
          if (isThenable(answer)) watch(hook, by, answer);
        } catch (error) {
          counter.failed(hook, by, error);
        }
      }
    },
    gates: (list) => createGateRunner(list, bounds),
    effects: (list, fact, scope) => runEffects(list, fact, scope, bounds),
    stats: () => counter.stats(),
    close() {
      for (const timer of timers) clock.clearTimeout(timer);
      timers.clear();
    },
  };
}
