import { describe, expect, it, vi } from 'vitest';
import { OBSERVER_HOOKS } from '../../machines/hooks.ts';
import type { Hooks } from '../../src/lifecycle/hooks.ts';
import type { Observer } from '../../src/lifecycle/observer-hooks.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { reply } from '../../src/testing/reply.ts';
import { sequentialIds } from '../../src/testing/sequential-ids.ts';
import { expectSilence } from '../support/hear-noise.ts';
import { LEDGER_KINDS, type LedgerKind, openLedger } from '../support/ledgers.ts';
import { scriptedAgent } from '../support/scripted-agents.ts';
import { createToolSpy } from '../support/tool-spy.ts';
import { watchedRuntime } from '../support/watched-runtime.ts';

/** One turn with everything in it that can be told the same way twice. */
async function playWith(kind: LedgerKind, hooks: Hooks | readonly Hooks[]) {
  const clock = fakeClock();
  const { model, agent } = scriptedAgent(
    [reply().call('work', { id: 'a' }).call('nope', {}), reply().text('Done.').usage(10, 5)],
    { tools: [createToolSpy().tool('work')] },
  );
  const { runtime, ledger, misfits } = watchedRuntime({
    ledger: await openLedger(kind, clock),
    clock,
    ids: sequentialIds(),
    random: () => 0,
    hooks,
  });
  const run = runtime.run(agent, 'Go.');
  const result = await run.result;
  expect(misfits).toEqual([]);
  const records = await ledger.read(run.sessionId);
  return { result, records, requests: model.requests.map(({ messages }) => messages), runtime, clock };
}

function observers(observer: Observer): Hooks {
  return Object.fromEntries(OBSERVER_HOOKS.map((hook) => [hook, observer]));
}

const total = (runtime: Awaited<ReturnType<typeof playWith>>['runtime'], what: 'fired' | 'failed' | 'hung') =>
  Object.values(runtime.hookStats()).reduce((sum, count) => sum + count[what], 0);

describe.each(LEDGER_KINDS)('observers (%s)', (kind) => {
  expectSilence();

  it.each<readonly [string, Observer, 'failed' | 'hung']>([
    [
      'throws',
      () => {
        throw new RangeError('no');
      },
      'failed',
    ],
    ['rejects', () => Promise.reject(new RangeError('no')), 'failed'],
    ['hangs', () => new Promise<void>(() => undefined), 'hung'],
    [
      'changes what it got',
      (record) => {
        // Its type says readonly, which JavaScript does not read.
        (record as { to: string }).to = 'elsewhere';
      },
      'failed',
    ],
  ])('HK-04 one that %s changes nothing and is counted', async (_, observer, counted) => {
    const plain = await playWith(kind, {});
    const observed = await playWith(kind, observers(observer));
    expect(observed.result).toEqual(plain.result);
    expect(observed.requests).toEqual(plain.requests);
    // Facts, hashes and times: nothing tells the two apart.
    expect(observed.records).toEqual(plain.records);
    // The agent ends when its session was given back, which may be after the result.
    await vi.waitFor(async () => {
      await observed.clock.advance(5_000);
      expect(total(observed.runtime, counted)).toBe(total(observed.runtime, 'fired'));
    });
    expect(total(observed.runtime, 'fired')).toBeGreaterThan(20);
  });

  it('HK-04 one that fails keeps no other from being told', async () => {
    const first: string[] = [];
    const second: string[] = [];
    const failing = observers(({ hook }) => {
      first.push(hook ?? '');
      throw new RangeError('no');
    });
    await playWith(kind, [failing, observers(({ hook }) => void second.push(hook ?? ''))]);
    expect(second).toEqual(first);
    expect(second).toContain('onTurnCompleted');
  });
});
