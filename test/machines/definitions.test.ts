import { describe, expect, it } from 'vitest';
import { allMachines } from '../../machines/index.ts';
import type { MachineKind } from '../../machines/machine-kind.ts';
import { DEFAULT_LIMITS } from '../../src/limits.ts';
import { configOf, declaredEdges, isFinal } from './declared.ts';

// The keys of the set are the kinds.
const kinds = Object.keys(allMachines) as MachineKind[];

/** `schemas` is what `setup` adds: types only. */
const MACHINE_KEYS = ['context', 'description', 'id', 'initial', 'on', 'options', 'schemas', 'states'];
const STATE_KEYS = ['description', 'meta', 'on', 'tags', 'type'];
const EDGE_KEYS = ['actions', 'guard', 'target'];

/** Every object under an `on`. */
function candidates(kind: MachineKind): readonly object[] {
  const config = configOf(kind);
  return [config, ...Object.values(config.states)].flatMap(({ on = {} }) => Object.values(on).flat());
}

describe.each(kinds)('the definition of %s', (kind) => {
  const config = configOf(kind);
  const states = Object.entries(config.states);

  it('is flat and holds no effect: no invoke, no delay, no entry, no exit, no eventless way', () => {
    expect(Object.keys(config).filter((key) => !MACHINE_KEYS.includes(key))).toEqual([]);
    for (const [name, state] of states) {
      expect(
        Object.keys(state).filter((key) => !STATE_KEYS.includes(key)),
        name,
      ).toEqual([]);
    }
  });

  it('names its guards and actions, so that nothing vanishes in JSON', () => {
    for (const candidate of candidates(kind)) {
      for (const [key, value] of Object.entries(candidate)) {
        expect(EDGE_KEYS).toContain(key);
        expect(typeof value).toBe('string');
      }
    }
  });

  it('leaves no guard and no action unused', () => {
    const edges = declaredEdges(kind);
    const { guards, actions } = allMachines[kind].implementations;
    expect(Object.keys(guards ?? {}).sort()).toEqual(
      [...new Set(edges.flatMap(({ guard }) => guard ?? []))].sort(),
    );
    expect(Object.keys(actions ?? {}).sort()).toEqual(
      [...new Set(edges.flatMap((edge) => edge.actions ?? []))].sort(),
    );
  });

  it('ends each choice with a way that is always open, unless the event may be refused', () => {
    const refusing = states.flatMap(([state]) => {
      const answers = Map.groupBy(
        declaredEdges(kind).filter((edge) => edge.from === state),
        (edge) => edge.event,
      );
      return [...answers].filter(([, ways]) => ways.at(-1)?.guard !== undefined).map(([event]) => event);
    });
    const expected: Record<MachineKind, readonly string[]> = {
      agent: ['WAKE'],
      turn: [],
      step: [
        'ATTEMPT_FAILED',
        'EMPTY_FINISH',
        'FIRST_PART',
        'IDLE_EXPIRED',
        'OUTPUT_EMITTED',
        'STREAM_ENDED',
      ],
      'tool-call': [],
      'graph-supervisor': [],
    };
    expect([...new Set(refusing)].sort()).toEqual(expected[kind]);
  });

  it.each(states)('describes %s in a sentence', (_, state) => {
    expect(state.description).toMatch(/^[A-Z].{10,110}\.$/);
  });

  it.each(states)('says of %s whether it works, waits or is over', (name, state) => {
    const activity = (state.tags ?? []).filter((tag) => tag !== 'sideEffectPossible');
    expect(activity).toHaveLength(1);
    expect(activity[0] === 'terminal').toBe(isFinal(config, name));
  });

  it('names timers that exist and events their states accept', () => {
    const limits = new Set(
      Object.entries(DEFAULT_LIMITS).flatMap(([group, keys]) =>
        typeof keys === 'number' ? [group] : Object.keys(keys).map((key) => `${group}.${key}`),
      ),
    );
    for (const [name, state] of states) {
      for (const timer of state.meta?.timers ?? []) {
        const accepts = declaredEdges(kind)
          .filter((edge) => edge.from === name)
          .map((edge) => edge.event);
        expect(accepts).toContain(timer.sends);
        if (/^[a-z]+\.\w+$/.test(timer.from)) expect([...limits]).toContain(timer.from);
      }
    }
  });

  it('survives JSON whole', () => {
    const { context, ...rest } = config as typeof config & { context: unknown };
    expect(typeof context).toBe('function');
    expect(JSON.parse(JSON.stringify(rest))).toEqual(rest);
  });

  it('answers events as in the table', async () => {
    const edges = declaredEdges(kind);
    const width = (values: readonly string[]) => Math.max(...values.map((value) => value.length));
    const states = width(edges.map((edge) => edge.from));
    const events = width(edges.map((edge) => edge.event));
    const lines = edges.map(({ from, event, to, guard, actions }, at) => {
      const last = edges[at - 1];
      const sameState = last?.from === from;
      const sameEvent = sameState && last?.event === event;
      const way = [
        to === from ? '=' : to,
        guard === undefined ? '' : `[${guard}]`,
        actions === undefined ? '' : `/ ${actions}`,
      ];
      return [
        (sameState ? '' : from).padEnd(states),
        (sameEvent ? '' : event).padEnd(events),
        way.filter((word) => word !== '').join(' '),
      ].join(' | ');
    });
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`__snapshots__/${kind}.txt`);
  });
});

describe('all machines', () => {
  it('stand under their own ids', () => {
    expect(kinds.map((kind) => [kind, allMachines[kind].id])).toEqual(kinds.map((kind) => [kind, kind]));
  });
});
