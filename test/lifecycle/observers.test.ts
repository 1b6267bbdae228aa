import { describe, expect, it } from 'vitest';
import { createHookRunner, type HookRunner } from '../../src/lifecycle/hook-runner.ts';
import type { HookFailure } from '../../src/lifecycle/hook-stats.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import type { TransitionRecord } from '../../src/lifecycle/transition-record.ts';
import { type FakeClock, fakeClock } from '../../src/testing/fake-clock.ts';
import { recordingHost, startStep, startTurn } from './instances.ts';

interface Watched {
  readonly clock: FakeClock;
  readonly runner: HookRunner;
  readonly failures: HookFailure[];
  readonly records: TransitionRecord[];
  /** Opens a turn under the hooks and gives its state. */
  open(): string;
}

function watch(...hooks: readonly Hooks[]): Watched {
  const clock = fakeClock();
  const failures: HookFailure[] = [];
  const records: TransitionRecord[] = [];
  const runner = createHookRunner({
    clock,
    timeouts: { gateMs: 30_000, observerMs: 5_000 },
    onFailure: (failure) => failures.push(failure),
  });
  const { host } = recordingHost({
    observe(record) {
      records.push(record);
      runner.observe(hooks, record);
    },
  });
  const open = () => {
    const turn = startTurn(host);
    turn.send({ type: 'OPENED' });
    return turn.state;
  };
  return { clock, runner, failures, records, open };
}

describe('observers', () => {
  it('HK-01 are told once, in declared order, with the record of the transition', () => {
    const told: string[] = [];
    const { open, records } = watch(
      { onTurnOpened: (record) => void told.push(`first ${record.event}`) },
      { onTurnOpened: (record) => void told.push(`second ${record.seq}`) },
    );
    open();
    expect(told).toEqual(['first OPENED', `second ${records.at(-1)?.seq}`]);
  });

  it('HK-01 are told of nothing for an event that was not accepted', () => {
    const told: string[] = [];
    const { host } = recordingHost();
    const runner = createHookRunner({ clock: fakeClock(), timeouts: { gateMs: 1, observerMs: 1 } });
    const { host: watched } = recordingHost({
      observe: (record) => runner.observe([{ onStepAborted: () => void told.push('aborted') }], record),
    });
    startStep(watched).send({ type: 'OUTCOME_ABORTED' });
    startStep(host).send({ type: 'ABORT' });
    expect(told).toEqual([]);
    expect(runner.stats()).toEqual({});
  });

  it('keep the object they were declared on', () => {
    class Counter implements Hooks {
      opened = 0;
      onTurnOpened() {
        this.opened += 1;
      }
    }
    const counter = new Counter();
    watch(counter).open();
    expect(counter.opened).toBe(1);
  });

  it('HK-04 that throw change nothing, hide nothing from the next, and are counted', () => {
    const told: string[] = [];
    const { open, runner, failures } = watch(
      {
        name: 'first',
        onTurnOpened: () => {
          throw new RangeError('no');
        },
      },
      { onTurnOpened: () => void told.push('second') },
    );
    expect(open()).toBe('projecting');
    expect(told).toEqual(['second']);
    expect(runner.stats().onTurnOpened).toEqual({ fired: 2, failed: 1, hung: 0 });
    expect(failures).toMatchObject([{ hook: 'onTurnOpened', by: 'first.onTurnOpened', type: 'failed' }]);
  });

  it('HK-04 that reject are counted, and no rejection is left unhandled', async () => {
    const { open, runner, clock } = watch({ onTurnOpened: () => Promise.reject(new RangeError('no')) });
    expect(open()).toBe('projecting');
    await clock.advance(0);
    expect(runner.stats().onTurnOpened).toEqual({ fired: 1, failed: 1, hung: 0 });
    expect(clock.pending).toBe(0);
  });

  it('HK-04 that hang delay nothing and are counted once their time is over', async () => {
    const { open, runner, clock } = watch({ onTurnOpened: () => new Promise(() => undefined) });
    expect(open()).toBe('projecting');
    await clock.advance(4_999);
    expect(runner.stats().onTurnOpened).toEqual({ fired: 1, failed: 0, hung: 0 });
    await clock.advance(1);
    expect(runner.stats().onTurnOpened).toEqual({ fired: 1, failed: 0, hung: 1 });
    expect(clock.pending).toBe(0);
  });

  it('HK-04 that fail after they counted as hung count once', async () => {
    const { promise, reject } = Promise.withResolvers<void>();
    const { open, runner, clock } = watch({ onTurnOpened: () => promise });
    open();
    await clock.advance(5_000);
    reject(new RangeError('late'));
    await clock.advance(0);
    expect(runner.stats().onTurnOpened).toEqual({ fired: 1, failed: 0, hung: 1 });
  });

  it('HK-04 that settle in time leave no timer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { open, runner, clock } = watch({ onTurnOpened: () => promise });
    open();
    expect(clock.pending).toBe(1);
    resolve();
    await clock.advance(0);
    expect(clock.pending).toBe(0);
    expect(runner.stats().onTurnOpened).toEqual({ fired: 1, failed: 0, hung: 0 });
  });

  it('HK-04 that change what they got change nothing', () => {
    const seen: TransitionRecord[] = [];
    const vandal: Hooks = {
      onTurnOpened(record) {
        Object.assign(record.meta, { stepIndex: 99 });
      },
    };
    const tamperer: Hooks = {
      onTurnOpened(record) {
        Object.assign(record, { to: 'failed' });
      },
    };
    const { open, records, runner } = watch(vandal, tamperer, {
      onTurnOpened: (record) => void seen.push(record),
    });
    expect(open()).toBe('projecting');
    expect(seen).toMatchObject([{ to: 'projecting', meta: { stepIndex: 1 } }]);
    expect(records.at(-1)).toMatchObject({ to: 'projecting', meta: { stepIndex: 1 } });
    expect(runner.stats().onTurnOpened).toEqual({ fired: 3, failed: 2, hung: 0 });
  });

  it('HK-04 survive a listener of failures that throws', () => {
    const runner = createHookRunner({
      clock: fakeClock(),
      timeouts: { gateMs: 1, observerMs: 1 },
      onFailure: () => {
        throw new RangeError('again');
      },
    });
    const hooks: Hooks = {
      onTurnOpening: () => {
        throw new RangeError('no');
      },
    };
    const { host, faults } = recordingHost({ observe: (record) => runner.observe([hooks], record) });
    startTurn(host);
    expect(faults).toEqual([]);
    expect(runner.stats().onTurnOpening?.failed).toBe(1);
  });

  it('are given up on close, which leaves no timer', () => {
    const { open, runner, clock } = watch({ onTurnOpened: () => new Promise(() => undefined) });
    open();
    runner.close();
    expect(clock.pending).toBe(0);
  });
});
