import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { fakeClock, settlePromises } from '../../src/testing/fake-clock.ts';
import type { RankedTool } from '../../src/tools/search-index.ts';
import { type Reranker, rerankWithin } from '../../src/tools/search-rerank.ts';

const CANDIDATES: readonly RankedTool[] = [
  { name: 'exact', score: 3, exact: true },
  { name: 'a', score: 3, exact: false },
  { name: 'b', score: 2, exact: false },
  { name: 'c', score: 1, exact: false },
];

function answering(answer: unknown): Reranker {
  // A reranker of the application's own may answer anything.
  return { rank: () => Promise.resolve(answer as readonly string[]) };
}

const pending: Reranker = { rank: () => new Promise(() => {}) };

async function rerank(reranker: Reranker, signal = new AbortController().signal) {
  const clock = fakeClock();
  const { type, tools } = await rerankWithin(reranker, 'query', CANDIDATES, {
    timeoutMs: 1_000,
    signal,
    clock,
  });
  return { type, names: tools.map(({ name }) => name) };
}

describe('reranking', () => {
  it('takes the order of the reranker, exact names in front', async () => {
    expect(await rerank(answering(['c', 'b', 'a', 'exact']))).toEqual({
      type: 'reranked',
      names: ['exact', 'c', 'b', 'a'],
    });
  });

  it('ignores what is no candidate or named twice, and keeps what is left out', async () => {
    expect(await rerank(answering(['unbound', 'c', 'c', 7, null]))).toEqual({
      type: 'reranked',
      names: ['exact', 'c', 'a', 'b'],
    });
  });

  it.each([
    ['rejects', { rank: () => Promise.reject(new Error('down')) }],
    [
      'throws',
      {
        rank: () => {
          throw new Error('down');
        },
      },
    ],
    ['answers with no list', answering('c, b, a')],
  ])('falls back to the given order if the reranker %s', async (_, reranker) => {
    expect(await rerank(reranker)).toEqual({ type: 'failed', names: ['exact', 'a', 'b', 'c'] });
  });

  it('falls back when the time is up, and aborts the reranker', async () => {
    const clock = fakeClock();
    let seen: AbortSignal | undefined;
    const slow: Reranker = {
      rank: (_query, _candidates, signal) => {
        seen = signal;
        return new Promise(() => {});
      },
    };
    const { signal } = new AbortController();
    const reranking = rerankWithin(slow, 'query', CANDIDATES, { timeoutMs: 1_000, signal, clock });
    await settlePromises();
    await clock.advance(999);
    expect(seen?.aborted).toBe(false);
    await clock.advance(1);
    expect(await reranking).toEqual({ type: 'timed-out', tools: CANDIDATES });
    expect(seen?.aborted).toBe(true);
  });

  it('falls back when the signal aborts, before and while it waits', async () => {
    expect((await rerank(pending, AbortSignal.abort())).type).toBe('cancelled');
    const controller = new AbortController();
    const waiting = rerank(pending, controller.signal);
    await settlePromises();
    controller.abort();
    expect(await waiting).toEqual({ type: 'cancelled', names: ['exact', 'a', 'b', 'c'] });
  });

  it('leaves no timer and no listener', async () => {
    const clock = fakeClock();
    const { signal } = new AbortController();
    await rerankWithin(answering(['c']), 'query', CANDIDATES, { timeoutMs: 1_000, signal, clock });
    expect(clock.pending).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('does not ask about fewer than two candidates', async () => {
    const clock = fakeClock();
    const { signal } = new AbortController();
    const one = CANDIDATES.slice(0, 1);
    const reranking = await rerankWithin(pending, 'query', one, { timeoutMs: 1_000, signal, clock });
    expect(reranking).toEqual({ type: 'reranked', tools: one });
  });
});
