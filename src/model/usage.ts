import type { Usage } from '../ledger/content.ts';
import type { ModelPrice } from './adapter.ts';
import type { ProviderUsage } from './language-model.ts';
import { isRecord, toJsonObject } from './provider-json.ts';

/**
 * The tokens a provider reported, with their cost if a price is known. `undefined` when it reported none or
 * only one side of it: a count that is not known is absent, never 0.
 */
export function normalizeUsage(
  reported: ProviderUsage | undefined,
  price: ModelPrice | undefined,
): Usage | undefined {
  if (reported === undefined) return undefined;
  const { inputTokens, outputTokens } = reported;
  const raw = isRecord(reported.raw) ? reported.raw : {};
  const total = known(raw['total_tokens'] ?? raw['totalTokens'] ?? raw['totalTokenCount']);
  const input = told(inputTokens?.total, reported.raw, 'prompt_tokens', [
    inputTokens?.noCache,
    inputTokens?.cacheRead,
  ]);
  const output = told(outputTokens?.total, reported.raw, 'completion_tokens', [
    outputTokens?.text,
    outputTokens?.reasoning,
  ]);
  const sides = bothSides(input, output, total);
  if (sides === undefined) return undefined;
  const cacheReadTokens = known(inputTokens?.cacheRead);
  const cacheWriteTokens = known(inputTokens?.cacheWrite);
  const reasoningTokens = known(outputTokens?.reasoning);
  const counts = {
    ...sides,
    // A total below its parts is one the provider did not fill in.
    totalTokens: Math.max(total ?? 0, sides.inputTokens + sides.outputTokens),
    ...(cacheReadTokens !== undefined && { cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
  return price === undefined ? counts : { ...counts, costUsd: costOf(counts, price) };
}

interface Counts {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
}

/** US dollars; cached tokens without a price of their own cost what fresh ones do. */
function costOf(counts: Counts, price: ModelPrice): number {
  const read = counts.cacheReadTokens ?? 0;
  const write = counts.cacheWriteTokens ?? 0;
  // Some providers count cached tokens apart from the input; the rest is never less than nothing.
  const fresh = Math.max(0, counts.inputTokens - read - write);
  return (
    (fresh * price.input +
      read * (price.cacheRead ?? price.input) +
      write * (price.cacheWrite ?? price.input) +
      counts.outputTokens * price.output) /
    1_000_000
  );
}

function bothSides(
  input: number | undefined,
  output: number | undefined,
  total: number | undefined,
): { inputTokens: number; outputTokens: number } | undefined {
  if (input !== undefined && output !== undefined) return { inputTokens: input, outputTokens: output };
  if (total === undefined) return undefined;
  if (input !== undefined && total >= input) return { inputTokens: input, outputTokens: total - input };
  if (output !== undefined && total >= output) return { inputTokens: total - output, outputTokens: output };
  return undefined;
}

/** The total, or the sum of its details where it is missing. */
function told(
  total: number | undefined,
  raw: unknown,
  rawKey: string,
  [one, other]: readonly [number | undefined, number | undefined],
): number | undefined {
  if (total === 0 && isUnsaid(raw, rawKey)) return undefined;
  return known(total) ?? sum(one, other);
}

/** True for a 0 that a chat-completions package wrote for a count its provider left out, or sent as null. */
function isUnsaid(raw: unknown, rawKey: string): boolean {
  if (!isRecord(raw) || (raw[rawKey] ?? null) !== null) return false;
  return Object.keys(raw).length === 0 || CHAT_KEYS.some((key) => key in raw);
}

const CHAT_KEYS = ['prompt_tokens', 'completion_tokens', 'total_tokens'];

function sum(one: unknown, other: unknown): number | undefined {
  const [left, right] = [known(one), known(other)];
  return left === undefined || right === undefined ? undefined : left + right;
}

function known(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/**
 * Usage of a chat-completions response, without the zeros the package writes for what was not reported, and
 * with the cache counts some providers keep elsewhere.
 */
export function readChatUsage(usage: unknown): ProviderUsage {
  const raw = toJsonObject(usage) ?? {};
  const input = known(raw['prompt_tokens']);
  const output = known(raw['completion_tokens']);
  const inputDetails = isRecord(raw['prompt_tokens_details']) ? raw['prompt_tokens_details'] : {};
  const outputDetails = isRecord(raw['completion_tokens_details']) ? raw['completion_tokens_details'] : {};
  const cacheRead = known(
    inputDetails['cached_tokens'] ?? raw['prompt_cache_hit_tokens'] ?? raw['cached_tokens'],
  );
  const cacheWrite = known(inputDetails['cache_write_tokens'] ?? inputDetails['cache_creation_input_tokens']);
  const reasoning = known(outputDetails['reasoning_tokens']);
  const noCache = input === undefined ? undefined : Math.max(0, input - (cacheRead ?? 0) - (cacheWrite ?? 0));
  const text = output === undefined ? undefined : Math.max(0, output - (reasoning ?? 0));
  return {
    inputTokens: { total: input, noCache, cacheRead, cacheWrite },
    outputTokens: { total: output, text, reasoning },
    raw,
  };
}
