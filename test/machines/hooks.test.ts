import { describe, expect, it } from 'vitest';
import {
  EFFECT_HOOKS,
  GATE_HOOKS,
  HOOK_ROWS,
  type HookRow,
  hookFor,
  OBSERVER_HOOKS,
  START_EVENT,
  START_STATE,
} from '../../machines/hooks.ts';
import type { MachineKind } from '../../machines/machine-kind.ts';
import { configOf, declaredEdges } from './declared.ts';
import { samples } from './samples.ts';

interface Transition {
  readonly machine: MachineKind;
  readonly from: string;
  readonly event: string;
  readonly to: string;
}

/** Every transition that can happen, the creation of an instance included. */
const transitions: readonly Transition[] = samples.flatMap(({ kind }) => [
  { machine: kind, from: START_STATE, event: START_EVENT, to: configOf(kind).initial },
  ...declaredEdges(kind).map(({ from, event, to }) => ({ machine: kind, from, event, to })),
]);

/** The meaning of a row, written a second time. */
function matches(row: HookRow, { machine, from, event, to }: Transition): boolean {
  const fromFits = row.from === '*' ? from !== to && from !== START_STATE : row.from === from;
  return row.machine === machine && fromFits && row.event === event && row.to === to;
}

const name = (row: HookRow) => `${row.machine}: ${row.from} ${row.event} ${row.to} ${row.hook}`;

describe('the hook table', () => {
  it.each(HOOK_ROWS.map((row) => [name(row), row] as const))('%s is a real transition', (_, row) => {
    const real = transitions.filter((transition) => matches(row, transition));
    expect(real.length).toBeGreaterThan(0);
    for (const { machine, from, event, to } of real) {
      expect(hookFor(machine, from, event, to)).toBe(row.hook);
    }
  });

  it('HK-01 gives no transition two hooks', () => {
    const twice = transitions.filter((one) => {
      const hooks = new Set(HOOK_ROWS.filter((row) => matches(row, one)).map((row) => row.from + row.hook));
      return hooks.size > 1;
    });
    expect(twice).toEqual([]);
  });

  it('HK-01 gives a transition the hook of its row, and no other transition any', () => {
    for (const one of transitions) {
      const row = HOOK_ROWS.find((candidate) => matches(candidate, one));
      expect(hookFor(one.machine, one.from, one.event, one.to), JSON.stringify(one)).toBe(row?.hook);
    }
  });

  it('HK-01 tells of every end and every failure', () => {
    const untold = transitions.filter(({ machine, from, event, to }) => {
      const ends = configOf(machine).states[to]?.type === 'final';
      return ends && hookFor(machine, from, event, to) === undefined;
    });
    expect(untold).toEqual([]);
  });

  it('fires every observer hook in at least one row', () => {
    expect([...new Set(HOOK_ROWS.map((row) => row.hook))].sort()).toEqual([...OBSERVER_HOOKS].sort());
  });

  it('is silent where an event left a turn in closing', () => {
    expect(hookFor('turn', 'closing', 'CANCEL', 'closing')).toBeUndefined();
    expect(hookFor('turn', 'stepping', 'CANCEL', 'closing')).toBe('onTurnClosing');
  });

  it('knows three kinds of hooks by their names alone', () => {
    const all = [...OBSERVER_HOOKS, ...GATE_HOOKS, ...Object.keys(EFFECT_HOOKS)];
    expect(new Set(all).size).toBe(all.length);
    expect(OBSERVER_HOOKS.filter((hook) => !/^on[A-Z]/.test(hook))).toEqual([]);
    expect(GATE_HOOKS.filter((hook) => !/^before[A-Z]/.test(hook))).toEqual([]);
    expect(Object.keys(EFFECT_HOOKS).filter((hook) => !/^after[A-Z]/.test(hook))).toEqual([]);
  });
});
