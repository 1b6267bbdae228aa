import { describe, expect, it } from 'vitest';
import type { LedgerRecord } from '../../src/ledger/records.ts';
import { effectHookOf, effectsOf } from '../../src/lifecycle/effect-runner.ts';
import { createHookRunner } from '../../src/lifecycle/hook-runner.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

const fact: LedgerRecord = {
  v: 1,
  id: 's-1:7',
  seq: 7,
  session: 's-1',
  root: 's-1',
  agent: 'root',
  turn: 's-1.1',
  epoch: 1,
  tv: 1,
  at: 0,
  prev: '0'.repeat(64),
  hash: '1'.repeat(64),
  type: 'turn.closed',
  data: { status: 'completed', stopReason: 'end-turn', steps: 1, toolCalls: 0 },
};

function effective(...hooks: readonly Hooks[]) {
  const clock = fakeClock();
  const runner = createHookRunner({ clock, timeouts: { gateMs: 30_000, observerMs: 5_000 } });
  const stop = new AbortController();
  const run = (record = fact, done: readonly string[] = []) =>
    runner.effects(hooks, record, { done: new Set(done), signal: stop.signal });
  return { clock, runner, stop, run, hooks };
}

describe('effects', () => {
  it('HK-05 get their fact and its id, in declared order', async () => {
    const seen: string[] = [];
    const { run } = effective(
      { afterTurn: async ({ data }, { id }) => void seen.push(`first ${id} ${data.status}`) },
      { name: 'billing', afterTurn: (_, { id }) => void seen.push(`second ${id}`) },
    );
    expect(await run()).toEqual({
      finished: ['hooks0.afterTurn', 'billing.afterTurn'],
      unfinished: [],
    });
    expect(seen).toEqual(['first s-1:7 completed', 'second s-1:7']);
  });

  it('HK-05 run again with the same id until they are done', async () => {
    const ids: string[] = [];
    const hooks: Hooks = {
      afterTurn: (_, { id }) => {
        ids.push(id);
        if (ids.length === 1) throw new RangeError('no');
      },
    };
    const { run } = effective(hooks);
    expect(await run()).toEqual({ finished: [], unfinished: ['hooks0.afterTurn'] });
    expect(await run()).toEqual({ finished: ['hooks0.afterTurn'], unfinished: [] });
    expect(await run(fact, ['hooks0.afterTurn s-1:7'])).toEqual({ finished: [], unfinished: [] });
    expect(ids).toEqual(['s-1:7', 's-1:7']);
  });

  it('HK-05 are done for one fact, not for all of its type', async () => {
    const ids: string[] = [];
    const { run } = effective({ afterTurn: (_, { id }) => void ids.push(id) });
    await run({ ...fact, id: 's-1:9' }, ['hooks0.afterTurn s-1:7']);
    expect(ids).toEqual(['s-1:9']);
  });

  it('that fail stop no other effect, and are counted', async () => {
    const seen: string[] = [];
    const { run, runner } = effective(
      { afterTurn: () => Promise.reject(new RangeError('no')) },
      { afterTurn: () => void seen.push('second') },
    );
    expect(await run()).toEqual({ finished: ['hooks1.afterTurn'], unfinished: ['hooks0.afterTurn'] });
    expect(seen).toEqual(['second']);
    expect(runner.stats().afterTurn).toEqual({ fired: 2, failed: 1, hung: 0 });
  });

  it('that hang are left undone at their deadline', async () => {
    const { run, clock, runner } = effective({ afterTurn: () => new Promise(() => undefined) });
    const running = run();
    await clock.advance(30_000);
    expect(await running).toEqual({ finished: [], unfinished: ['hooks0.afterTurn'] });
    expect(runner.stats().afterTurn).toEqual({ fired: 1, failed: 0, hung: 1 });
    expect(clock.pending).toBe(0);
  });

  it('are left undone when the runtime closes', async () => {
    const { run, stop, clock } = effective({ afterTurn: () => new Promise(() => undefined) });
    const running = run();
    await clock.whenPending();
    stop.abort();
    expect(await running).toEqual({ finished: [], unfinished: ['hooks0.afterTurn'] });
    expect(clock.pending).toBe(0);
  });

  it('run for their own type of record only', async () => {
    const seen: string[] = [];
    const { run } = effective({
      afterTurn: () => void seen.push('turn'),
      afterSteering: () => void seen.push('steering'),
    });
    await run({ ...fact, type: 'steering.injected', data: { ids: ['a'] } } as LedgerRecord);
    await run({ ...fact, type: 'turn.resumed', data: { run: 'r-1' } } as LedgerRecord);
    expect(seen).toEqual(['steering']);
  });

  it('are known by the type of their fact', () => {
    const { hooks } = effective({ afterTurn: () => undefined }, {}, { afterTurn: () => undefined });
    expect(effectHookOf('turn.closed')).toBe('afterTurn');
    expect(effectHookOf('turn.opened')).toBeUndefined();
    expect(effectsOf(hooks, 'turn.closed')).toEqual(['hooks0.afterTurn', 'hooks2.afterTurn']);
    expect(effectsOf(hooks, 'turn.opened')).toEqual([]);
  });
});
