import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { usageSchema } from '../../src/ledger/content.ts';
import type { ProviderUsage } from '../../src/model/language-model.ts';
import { normalizeUsage } from '../../src/model/usage.ts';
import { finish, text, usage } from '../support/chat-chunks.ts';
import { playReply } from '../support/run-step.ts';
import { type SseServer, sse, startSseServer } from '../support/sse-server.ts';

let server: SseServer;
beforeAll(async () => {
  server = await startSseServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const usageOf = async (chunk: object | undefined) => {
  const chunks = [...text('a'), finish('stop'), ...(chunk === undefined ? [] : [chunk])];
  return (await playReply(server, sse(chunks))).outcome.report.usage;
};

describe('usage on the wire', () => {
  it.each([
    ['none', undefined, undefined],
    ['null', { ...usage(), usage: null }, undefined],
    ['an empty one', { ...usage(), usage: {} }, undefined],
    ['MA-24 null for the input', usage({ prompt_tokens: null, total_tokens: null }), undefined],
    [
      'null for the input and a total',
      usage({ prompt_tokens: null, total_tokens: 15 }),
      { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    ],
    ['both sides', usage({ total_tokens: undefined }), { inputTokens: 10, outputTokens: 5, totalTokens: 15 }],
    [
      'zeros the provider wrote',
      usage({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }),
      { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    ],
    [
      'details',
      usage({
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 3 },
      }),
      { inputTokens: 10, outputTokens: 5, totalTokens: 15, cacheReadTokens: 4, reasoningTokens: 3 },
    ],
    [
      'hits of a cache elsewhere',
      usage({ prompt_cache_hit_tokens: 4 }),
      { inputTokens: 10, outputTokens: 5, totalTokens: 15, cacheReadTokens: 4 },
    ],
  ])('MA-06 %s', async (_, chunk, expected) => {
    expect(await usageOf(chunk)).toEqual(expected);
  });

  it('that grows from chunk to chunk counts once, as the last one', async () => {
    const { outcome } = await playReply(
      server,
      sse([
        usage({ completion_tokens: 1 }),
        ...text('a'),
        usage({ completion_tokens: 4, total_tokens: 14 }),
        finish('stop'),
      ]),
    );
    expect(outcome.report.usage).toEqual({ inputTokens: 10, outputTokens: 4, totalTokens: 14 });
  });

  it('costs what the price says', async () => {
    const chunk = usage({
      prompt_tokens: 1_000_000,
      completion_tokens: 500_000,
      total_tokens: 1_500_000,
      prompt_tokens_details: { cached_tokens: 400_000 },
    });
    const price = { input: 3, output: 10, cacheRead: 0.5 };
    const { outcome } = await playReply(server, sse([...text('a'), finish('stop'), chunk]), { price });
    expect(outcome.report.usage?.costUsd).toBeCloseTo(0.6 * 3 + 0.4 * 0.5 + 0.5 * 10, 10);
  });
});

const side = fc.option(fc.oneof(fc.nat(), fc.constant(Number.NaN), fc.constant(-1)), { nil: undefined });
const reported: fc.Arbitrary<ProviderUsage> = fc.record({
  inputTokens: fc.record({ total: side, noCache: side, cacheRead: side, cacheWrite: side }),
  outputTokens: fc.record({ total: side, text: side, reasoning: side }),
});

describe('usage of any package', () => {
  it('is a record of the ledger, or nothing, with both sides or none', () => {
    fc.assert(
      fc.property(reported, (given) => {
        const known = normalizeUsage(given, { input: 1, output: 2 });
        if (known === undefined) return;
        expect(usageSchema.parse(known)).toEqual(known);
        expect(known.inputTokens).toBeTypeOf('number');
        expect(known.outputTokens).toBeTypeOf('number');
        expect(known.totalTokens).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('MA-24 is never made up: a side that is not known leaves nothing', () => {
    const none = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
    expect(
      normalizeUsage({ inputTokens: none, outputTokens: { total: 5, text: 5, reasoning: 0 } }, undefined),
    ).toBeUndefined();
    expect(normalizeUsage(undefined, { input: 1, output: 1 })).toBeUndefined();
  });

  it('is summed from its details where a total is missing', () => {
    const given = {
      inputTokens: { total: undefined, noCache: 7, cacheRead: 3, cacheWrite: undefined },
      outputTokens: { total: undefined, text: 4, reasoning: 2 },
    };
    expect(normalizeUsage(given, undefined)).toMatchObject({
      inputTokens: 10,
      outputTokens: 6,
      totalTokens: 16,
    });
  });

  it('counts a zero as unknown where the raw report holds null', () => {
    const given = {
      inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: undefined },
      outputTokens: { total: 5, text: 5, reasoning: 0 },
      raw: { prompt_tokens: null, completion_tokens: 5 },
    };
    expect(normalizeUsage(given, undefined)).toBeUndefined();
  });
});
