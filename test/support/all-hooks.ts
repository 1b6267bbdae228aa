import { HOOK_ROWS, type HookRow, OBSERVER_HOOKS, type ObserverHookName } from '../../machines/hooks.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import type { Observer } from '../../src/lifecycle/observer-hooks.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';

/** One call of an observer. */
export interface Told {
  readonly hook: ObserverHookName;
  readonly record: TransitionRecord;
}

/** Every observer there is; each writes down that it was told, and of what. */
export function listenToAll(told: Told[]): Hooks {
  const hooks: Record<string, Observer> = {};
  for (const hook of OBSERVER_HOOKS) hooks[hook] = (record) => void told.push({ hook, record });
  return hooks;
}

/** The row of the table that a transition is told of by; read without the code that fires hooks. */
export function rowOf({ kind, from, event, to }: TransitionRecord): HookRow | undefined {
  return HOOK_ROWS.find(
    (row) =>
      row.machine === kind &&
      row.event === event &&
      row.to === to &&
      (row.from === from || (row.from === '*' && from !== to && from !== '(start)')),
  );
}

/** A row as a line. */
export function lineOf({ machine, from, event, to }: HookRow): string {
  return `${machine}: ${from} ${event} ${to}`;
}
