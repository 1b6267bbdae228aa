import { describe, expect, it } from 'vitest';
import { createActor, setup } from 'xstate';
import { sleep } from '../../src/clock.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';

describe('fakeClock', () => {
  it('stands still until it is told to go on', async () => {
    const clock = fakeClock(1_000);
    const seen: number[] = [];
    clock.setTimeout(() => seen.push(clock.now()), 10);
    await clock.advance(9);
    expect(seen).toEqual([]);
    expect(clock.now()).toBe(1_009);
    await clock.advance(1);
    expect(seen).toEqual([1_010]);
    expect(clock.monotonicMs()).toBe(10);
  });

  it('runs timers by time, then by the order of setting', async () => {
    const clock = fakeClock(0);
    const seen: string[] = [];
    clock.setTimeout(() => seen.push('late'), 20);
    clock.setTimeout(() => seen.push('first'), 10);
    clock.setTimeout(() => seen.push('second'), 10);
    await clock.advance(100);
    expect(seen).toEqual(['first', 'second', 'late']);
    expect(clock.now()).toBe(100);
  });

  it('runs timers that are set while it goes on, each at its own time', async () => {
    const clock = fakeClock(0);
    const seen: number[] = [];
    const again = () => {
      seen.push(clock.now());
      if (seen.length < 4) clock.setTimeout(again, 10);
    };
    clock.setTimeout(again, 10);
    await clock.advance(35);
    expect(seen).toEqual([10, 20, 30]);
    expect(clock.due()).toEqual([40]);
  });

  it('lets promises settle between two timers', async () => {
    const clock = fakeClock(0);
    const seen: string[] = [];
    const work = async () => {
      await sleep(clock, 10, new AbortController().signal);
      await Promise.resolve();
      seen.push('after the first sleep');
      await sleep(clock, 5, new AbortController().signal);
      seen.push(`after the second at ${clock.now()}`);
    };
    const done = work();
    clock.setTimeout(() => seen.push('other timer'), 11);
    await clock.advance(15);
    await done;
    expect(seen).toEqual(['after the first sleep', 'other timer', 'after the second at 15']);
  });

  it('forgets cleared timers', async () => {
    const clock = fakeClock();
    const handle = clock.setTimeout(() => expect.unreachable(), 1);
    clock.clearTimeout(handle);
    expect(clock.pending).toBe(0);
    await clock.advance(10);
  });

  it('tells when the code under test waits', async () => {
    const clock = fakeClock();
    const done = (async () => {
      await Promise.resolve();
      return sleep(clock, 1_000, new AbortController().signal);
    })();
    await clock.whenPending();
    expect(await clock.advanceToNext()).toBe(true);
    expect(await done).toBe(true);
    expect(await clock.advanceToNext()).toBe(false);
  });

  it('stops code that sets timers without end', async () => {
    const clock = fakeClock();
    const again = (): void => void clock.setTimeout(again, 0);
    again();
    await expect(clock.advance(1)).rejects.toMatchObject({ code: 'fault-injected' });
  }, 20_000);

  it('drives the delayed transitions of a machine', async () => {
    const clock = fakeClock();
    const machine = setup({ delays: { patience: 500 } }).createMachine({
      initial: 'waiting',
      states: { waiting: { after: { patience: 'done' } }, done: { type: 'final' } },
    });
    const actor = createActor(machine, { clock });
    actor.start();
    await clock.advance(499);
    expect(actor.getSnapshot().value).toBe('waiting');
    await clock.advance(1);
    expect(actor.getSnapshot().value).toBe('done');
  });
});
