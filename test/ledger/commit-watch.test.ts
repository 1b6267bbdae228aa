import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CommitWatch } from '../../src/ledger/commit-watch.ts';

const NEVER = new AbortController().signal;

describe('a watch for commits', () => {
  test('wakes all who wait', async () => {
    const watch = new CommitWatch();
    const waiting = [watch.changed(watch.version, NEVER), watch.changed(watch.version, NEVER)];
    watch.wake();
    await Promise.all(waiting);
  });

  test('does not make wait who missed a commit', async () => {
    const watch = new CommitWatch();
    const { version } = watch;
    watch.wake();
    await watch.changed(version, NEVER);
  });

  test('wakes those alone who wait for what came', async () => {
    const watch = new CommitWatch();
    const woken: string[] = [];
    const wait = (topic: string) =>
      watch.changed(watch.version, NEVER, topic).then(() => void woken.push(topic));
    const all = [wait('a'), wait('b'), wait('c')];
    watch.wake(['b']);
    await all[1];
    expect(woken).toEqual(['b']);
    watch.wake();
    await Promise.all(all);
  });

  test('leaves no listener behind', async () => {
    const watch = new CommitWatch();
    const stop = new AbortController();
    for (let round = 0; round < 10; round += 1) {
      const waiting = watch.changed(watch.version, stop.signal);
      watch.wake();
      await waiting;
    }
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });

  test('ends a wait for an answer on close, without one', async () => {
    const watch = new CommitWatch();
    const answer = watch.until(() => undefined, NEVER);
    watch.close();
    expect(await answer).toBeUndefined();
  });

  test('looks into each page once it is asked for', async () => {
    const watch = new CommitWatch();
    const pages = [[1, 2], [3]];
    let asked = 0;
    const items = watch.follow(() => {
      asked += 1;
      return pages.shift() ?? [];
    }, NEVER);
    expect((await items.next()).value).toBe(1);
    expect((await items.next()).value).toBe(2);
    expect(asked).toBe(1);
    expect((await items.next()).value).toBe(3);
    expect(asked).toBe(2);
  });
});

describe('a watch for commits of others', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('looks for them only while anybody waits', async () => {
    let looks = 0;
    const watch = new CommitWatch({
      intervalMs: 250,
      look() {
        looks += 1;
        return looks === 3 ? 'all' : 'nothing';
      },
    });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(looks).toBe(0);
    const waiting = watch.changed(watch.version, NEVER);
    await vi.advanceTimersByTimeAsync(10_000);
    await waiting;
    expect(looks).toBe(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('keeps the process alive for who asks, not for who follows', async () => {
    vi.useRealTimers();
    const watch = new CommitWatch({ intervalMs: 250, look: () => 'nothing' });
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const following = watch.follow(() => [], NEVER).next();
    expect(timers()).toBe(before);
    const stop = new AbortController();
    const asking = watch.until(() => undefined, stop.signal);
    expect(timers()).toBe(before + 1);
    stop.abort();
    await asking;
    expect(timers()).toBe(before);
    watch.close();
    await following;
  });

  test('stops looking when the last one gives up', async () => {
    const watch = new CommitWatch({ intervalMs: 250, look: () => 'nothing' });
    const stop = new AbortController();
    const waiting = watch.changed(watch.version, stop.signal);
    expect(vi.getTimerCount()).toBe(1);
    stop.abort();
    await waiting;
    expect(vi.getTimerCount()).toBe(0);
  });
});
