import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { createTestModel } from 'xstate/graph';
import { HOOK_ROWS, type HookRow, START_STATE } from '../../machines/hooks.ts';
import type { EventOf, InputOf, MachineKind } from '../../machines/machine-kind.ts';
import { createHookRunner } from '../../src/lifecycle/hook-runner.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import type { Lifecycle, LifecycleHost } from '../../src/lifecycle/lifecycle.ts';
import type { Observer } from '../../src/lifecycle/observer-hooks.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { explore, situationKey, wayTo } from '../machines/explore.ts';
import { type Sample, samples } from '../machines/samples.ts';
import { recordingHost } from './instances.ts';

// Every sample is walked alike; a sample's inputs and events are those of its kind.
const walked: readonly Sample<MachineKind>[] = samples;
const explorations = new Map(walked.map((sample) => [sample.kind, explore(sample)]));

function start(host: LifecycleHost, kind: MachineKind, input: object): Lifecycle<MachineKind> {
  const options = { id: 'i-1', rootId: 's-1', session: 's-1', input: input as InputOf<MachineKind> };
  return host.start(kind, options);
}

/** Hooks that write down which of them was called. */
function listening(called: string[]): Hooks {
  const hooks: Record<string, Observer> = {};
  for (const { hook } of HOOK_ROWS) hooks[hook] = () => void called.push(hook);
  return hooks;
}

/** Hooks of a way as the rows say, read without `hookFor`. */
function expectedHooks(kind: MachineKind, way: readonly { from: string; event: string; to: string }[]) {
  return way.flatMap(({ from, event, to }) => {
    const fits = (row: HookRow) =>
      row.machine === kind &&
      row.event === event &&
      row.to === to &&
      (row.from === from || (row.from === '*' && from !== to && from !== START_STATE));
    return HOOK_ROWS.filter(fits).map((row) => row.hook);
  });
}

describe('the hook table through running machines', () => {
  const title = (row: HookRow): string => `${row.machine}: ${row.from} ${row.event} ${row.to}`;

  it.each(HOOK_ROWS.map((row): [string, HookRow] => [title(row), row]))(
    'HK-01 fires the row %s once at its place',
    (_, row) => {
      const exploration = explorations.get(row.machine);
      const way =
        row.from === START_STATE
          ? { input: exploration?.starts[0]?.input ?? {}, edges: [] }
          : exploration &&
            wayTo(exploration, ({ from, event, to }) => {
              const fromFits = row.from === from || (row.from === '*' && from !== to);
              return fromFits && event.type === row.event && to === row.to;
            });
      if (way === undefined) throw new Error('no way leads over this row');
      const called: string[] = [];
      const runner = createHookRunner({ clock: fakeClock(), timeouts: { gateMs: 1, observerMs: 1 } });
      const hooks = [listening(called)];
      const { host } = recordingHost({ observe: (record) => runner.observe(hooks, record) });

      const instance = start(host, row.machine, way.input);
      const initial = exploration?.starts[0]?.node.state ?? '';
      for (const { event } of way.edges.slice(0, -1)) instance.send(event as EventOf<MachineKind>);
      const before = called.length;
      for (const { event } of way.edges.slice(-1)) instance.send(event as EventOf<MachineKind>);

      const steps = way.edges.map(({ from, event, to }) => ({ from, event: event.type, to }));
      const all = [{ from: START_STATE, event: 'START', to: initial }, ...steps];
      expect(called).toEqual(expectedHooks(row.machine, all));
      expect(called.slice(way.edges.length === 0 ? 0 : before)).toEqual([row.hook]);
    },
  );
});

describe.each(walked.map((sample) => ({ ...sample })))(
  'shortest ways through the $kind machine',
  (sample) => {
    const machine: AnyStateMachine = sample.machine;
    const model = createTestModel(machine, {
      input: sample.inputs[0],
      events: [...sample.events],
      serializeState: (snapshot) => situationKey(snapshot, sample.situation),
      // XState's pure functions go on where an actor has ended.
      stopWhen: (snapshot) => snapshot.status !== 'active',
    });
    const types = [...new Set(sample.events.map((event) => event.type))];

    it('lead a lifecycle where they lead the machine', async () => {
      const paths = model.getShortestPaths();
      const visited = new Set<string>();
      for (const path of paths) {
        const { host } = recordingHost();
        const instance = start(host, sample.kind, sample.inputs[0] ?? {});
        await path.test({
          states: {
            '*': (snapshot) => {
              visited.add(instance.state);
              expect(instance.state).toBe(snapshot.value);
              expect(instance.finished).toBe(snapshot.status === 'done');
            },
          },
          events: Object.fromEntries(
            types.map((type) => [type, ({ event }) => void instance.send(event as EventOf<MachineKind>)]),
          ),
        });
      }
      const reachable = explorations.get(sample.kind)?.nodes.map((node) => node.state);
      expect([...visited].sort()).toEqual([...new Set(reachable)].sort());
    });
  },
);

describe.each(walked.map((sample) => ({ ...sample })))('any events sent to a $kind', (sample) => {
  const events = fc.array(fc.constantFrom(...sample.events), { maxLength: 40 });
  const input = fc.constantFrom(...sample.inputs);
  const run = (given: object, sent: readonly EventOf<MachineKind>[]) => {
    const recording = recordingHost();
    const instance = start(recording.host, sample.kind, given);
    const accepted = sent.map((event) => instance.send(event));
    return { ...recording, instance, accepted };
  };
  const plain = ({ seq, at, hook, replayed, ...rest }: TransitionRecord) => rest;

  it('leave records that are gapless, chained, and end with at most one final one', () => {
    fc.assert(
      fc.property(input, events, (given, sent) => {
        const { records, instance, host } = run(given, sent);
        expect(records.map((record) => record.seq)).toEqual(records.map((_, at) => at + 1));
        for (const [at, record] of records.entries()) {
          if (at > 0) expect(record.from).toBe(records[at - 1]?.to);
          if (record.illegal) expect(record.to).toBe(record.from);
        }
        expect(records.at(-1)?.to).toBe(instance.state);
        const finals = records.flatMap((record, at) => (record.final ? [at] : []));
        expect(finals).toEqual(instance.finished ? [records.length - 1] : []);
        expect(host.registry.size).toBe(instance.finished ? 0 : 1);
        expect(records.length - 1 + host.lateEvents).toBe(sent.length);
      }),
    );
  });

  it('are answered true exactly where a record without the mark illegal follows', () => {
    fc.assert(
      fc.property(input, events, (given, sent) => {
        const { records, accepted } = run(given, sent);
        const legal = records.slice(1).map((record) => record.illegal !== true);
        expect(accepted.slice(0, legal.length)).toEqual(legal);
        expect(accepted.slice(legal.length).every((answer) => !answer)).toBe(true);
      }),
    );
  });

  it('lead to the same end when they are replayed, without a hook', () => {
    fc.assert(
      fc.property(input, events, (given, sent) => {
        const live = run(given, sent);
        const again = recordingHost();
        const instance = again.host.start(sample.kind, {
          id: 'i-1',
          rootId: 's-1',
          session: 's-1',
          input: given as InputOf<MachineKind>,
          replay: sent,
        });
        expect(instance.state).toBe(live.instance.state);
        expect(instance.context).toEqual(live.instance.context);
        expect(again.records.map(plain)).toEqual(live.records.map(plain));
        expect(again.records.every((record) => record.replayed === true && record.hook === undefined)).toBe(
          true,
        );
      }),
    );
  });
});
