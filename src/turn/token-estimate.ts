import type { StepFacts } from '../ledger/turn-facts.ts';
import type { PromptMessage } from '../model/adapter.ts';

/** Counts the tokens of a text as one model would. Must be pure; called for whole messages. */
export type CountTokens = (text: string) => number;

/** What a payload weighs: characters as a provider gets them, media left out, and tokens before any calibration. */
export interface PayloadSize {
  readonly chars: number;
  readonly tokens: number;
}

/** What an image or file is taken to cost: providers count them by size and detail, which nobody here knows. */
const MEDIA_TOKENS = 1_600;
/** Characters that count as one token where no tokenizer is known. */
export const CHARS_PER_TOKEN = 4;

/** A report under half of the estimate, and by more than this, is no error of estimation. */
const SILENT_CUT_TOKENS = 4_096;

/** Tokens of a text for which no tokenizer is known. */
export const countByChars: CountTokens = (text) => text.length / CHARS_PER_TOKEN;

/** Messages never change, so each is measured once for each tokenizer. */
const MEASURED = new WeakMap<CountTokens, WeakMap<PromptMessage, PayloadSize>>();

/** What one message weighs. */
export function sizeOfMessage(message: PromptMessage, count: CountTokens): PayloadSize {
  const known = MEASURED.get(count) ?? new WeakMap<PromptMessage, PayloadSize>();
  MEASURED.set(count, known);
  const measured = known.get(message) ?? measure(message, count);
  known.set(message, measured);
  return measured;
}

function measure(message: PromptMessage, count: CountTokens): PayloadSize {
  let media = 0;
  const text = JSON.stringify(message, (key, value: unknown) => {
    if (key !== 'source' || !isMedia(value)) return value;
    media += 1;
    return undefined;
  });
  return {
    chars: text.length + media * MEDIA_TOKENS * CHARS_PER_TOKEN,
    tokens: count(text) + media * MEDIA_TOKENS,
  };
}

function isMedia(source: unknown): boolean {
  if (typeof source !== 'object' || source === null || !('type' in source)) return false;
  return source.type === 'base64' || source.type === 'url' || source.type === 'artifact';
}

/** What messages and other texts weigh together. */
export function sizeOfPayload(
  messages: readonly PromptMessage[],
  texts: readonly string[],
  count: CountTokens,
): PayloadSize {
  let chars = 0;
  let tokens = 0;
  for (const message of messages) {
    const size = sizeOfMessage(message, count);
    chars += size.chars;
    tokens += size.tokens;
  }
  for (const text of texts) {
    chars += text.length;
    tokens += count(text);
  }
  return { chars, tokens };
}

/** A request whose true cost was reported. */
interface Calibration {
  readonly counted: number;
  readonly reported: number;
}

/** What a model's own reports say of the next request: the last report and the signed difference since. */
export interface TokenEstimate {
  /** Tokens of a payload that counts `tokens` before calibration. */
  of(tokens: number): number;
  /**
   * Takes in what the provider reported of a payload. False where it counted far less than was sent: such a provider
   * cuts the beginning and says nothing, and its report teaches nothing.
   */
  note(tokens: number, reported: number): boolean;
}

export function createTokenEstimate(): TokenEstimate {
  let last: Calibration | undefined;
  const of = (tokens: number) =>
    last === undefined ? Math.ceil(tokens) : Math.max(0, Math.ceil(last.reported + tokens - last.counted));
  return {
    of,
    note(tokens, reported) {
      if (reported <= 0) return true;
      const expected = of(tokens);
      if (reported < expected / 2 && expected - reported > SILENT_CUT_TOKENS) return false;
      last = { counted: tokens, reported };
      return true;
    },
  };
}

/** Goes through what earlier steps of the same model reported. */
export function calibrate(estimate: TokenEstimate, steps: readonly StepFacts[]): void {
  for (const { prepared, closed } of steps) {
    const tokens = prepared?.data.tokens;
    const reported = closed?.data.usage?.inputTokens;
    if (tokens !== undefined && reported !== undefined) estimate.note(tokens, reported);
  }
}
