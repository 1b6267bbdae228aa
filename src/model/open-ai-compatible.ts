import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { RESPONSE_LIMITS } from '../limits.ts';
import type { Model, ModelCapabilities, ModelPrice } from './adapter.ts';
import { lowerChatSettings } from './chat-settings.ts';
import type { LanguageModel } from './language-model.ts';
import { learnEcho } from './learn-echo.ts';
import type { EchoReasoning, ToolResultImages } from './lower-prompt.ts';
import { checkCompatibleOptions } from './model-options.ts';
import { type ProviderQuirks, providerOfHost, quirksOf } from './provider-quirks.ts';
import { createQuirkFetch, type QuirkFetch } from './quirk-fetch.ts';
import { CHAT_KEY, createDetailsExtractor, detailsField, detailsOf } from './reasoning-details.ts';
import { createStepAdapter } from './step-adapter.ts';
import { readChatUsage } from './usage.ts';
import type { WireIdPolicy } from './wire-ids.ts';

/** A model behind an endpoint that speaks chat completions, and what is special about it. */
export interface OpenAiCompatibleOptions {
  /**
   * Where `/chat/completions` lies, `http` or `https`. Query parameters are kept for every request;
   * credentials in the address are refused.
   */
  readonly baseURL: string;
  /** Sent as `Authorization: Bearer`. Without it nothing is sent, and no environment variable is read. */
  readonly apiKey?: string;
  /** Name of the model as the endpoint knows it. */
  readonly model: string;
  /** Sent with every request, after `apiKey`. Their values never appear in messages. */
  readonly headers?: { readonly [name: string]: string };
  /** Tokens of prompt and answer together. */
  readonly contextWindow?: number;
  /** Most tokens of one answer. A request that allows more is held to it. */
  readonly maxOutputTokens?: number;
  /** US dollars for a million tokens; usage then carries its cost. */
  readonly price?: ModelPrice;
  readonly capabilities?: ModelCapabilities;
  /**
   * Counts the tokens of a text, for example with a tokenizer package. Must be pure. Default: a quarter of the
   * characters; either way the estimate follows what the provider reports.
   */
  readonly countTokens?: (text: string) => number;
  /**
   * Name of the provider, as sessions record it: thinking goes back only to the provider that wrote it, and
   * the quirks below default by it. Default: by the host of `baseURL`, else the host itself.
   */
  readonly provider?: string;
  /**
   * Of which of its answers the model gets its thinking back. Default by provider (`tool-turns` where it is not
   * known); an endpoint that refuses the default is believed once, and the failed attempt may be repeated.
   */
  readonly echoReasoning?: EchoReasoning;
  /** How call ids go back. Default `native`, `hash9` for Mistral. */
  readonly wireIds?: WireIdPolicy;
  /** What becomes of images in tool results. Default `message`. */
  readonly toolResultImages?: ToolResultImages;
  /** Ask for usage in the stream. Default true, false for Mistral, which refuses the field and reports anyway. */
  readonly includeUsage?: boolean;
  /** Field of the output limit. Default `max_completion_tokens` for OpenAI, else `max_tokens`. */
  readonly maxTokensField?: ProviderQuirks['maxTokensField'];
  /**
   * Keeps a line of the stream if it returns true for what stands behind `data:`. For proxies that mix lines
   * of their own into the stream; without it such a line is a malformed response.
   */
  readonly lineFilter?: (data: string) => boolean;
  /**
   * Count every piece of the response as activity, comments too. Default false: a server that keeps the
   * connection open with comments and never answers is then found by the idle limit.
   */
  readonly byteActivity?: boolean;
  /** Bytes of one response. Default 32 MiB. */
  readonly maxResponseBytes?: number;
  /** Bytes of one line of the stream. Default 1 MiB. */
  readonly maxLineBytes?: number;
  /**
   * Sends the requests instead of the global `fetch`. Node's own gives up after 300 s without a byte, so idle
   * limits above that need a `fetch` without one. Redirects are never followed.
   */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * A model behind any endpoint that speaks OpenAI's chat completions. One `step` is one request.
 *
 * Settings take provider options under `openaiCompatible` or the provider's name; keys that are not known go
 * into the request body as they are.
 * @throws SwarmError 'invalid-model' naming the field
 * @example
 * const model = openaiCompatible({ baseURL: 'http://localhost:8080/v1', model: 'qwen3', contextWindow: 32_768 });
 */
export function openaiCompatible(options: OpenAiCompatibleOptions): Model {
  const { url, headers } = checkCompatibleOptions(options);
  const provider = options.provider ?? providerOfHost(url.hostname);
  const quirks: ProviderQuirks = { ...quirksOf(provider), ...givenQuirks(options) };
  const quirkFetch = createQuirkFetch({
    fetch: options.fetch,
    maxBytes: options.maxResponseBytes ?? RESPONSE_LIMITS.maxBytes,
    maxLineBytes: options.maxLineBytes ?? RESPONSE_LIMITS.maxLineBytes,
    ...(options.lineFilter !== undefined && { lineFilter: options.lineFilter }),
  });
  const echo = learnEcho(quirks, options.echoReasoning === undefined);
  const { apiKey, maxOutputTokens, capabilities = {} } = options;
  return createStepAdapter({
    model: createChatModel(options, url, quirks, quirkFetch),
    facts: options,
    fold: { maxChars: options.maxResponseBytes ?? RESPONSE_LIMITS.maxBytes, finishMetadata: detailsOf },
    secrets: [
      ...(apiKey === undefined ? [] : [apiKey]),
      ...Object.values(headers).map((value) => value.trim()),
    ],
    onFailure: echo.onFailure,
    ...(options.byteActivity === true && {
      watch: (signal, onActivity) => onActivity && quirkFetch.watch(signal, onActivity),
    }),
    policy: () => ({
      provider,
      modelId: options.model,
      ...echo.policy(),
      wireIds: quirks.wireIds,
      toolResultImages: options.toolResultImages ?? 'message',
      images: capabilities.images !== false,
      structuredOutput: capabilities.structuredOutput === true,
      messageFields: detailsField,
      lowerSettings: (settings, hasTools) => lowerChatSettings(settings, hasTools, provider),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    }),
  });
}

function givenQuirks(options: OpenAiCompatibleOptions): Partial<ProviderQuirks> {
  const { echoReasoning, wireIds, includeUsage, maxTokensField } = options;
  return {
    ...(echoReasoning !== undefined && { echoReasoning }),
    ...(wireIds !== undefined && { wireIds }),
    ...(includeUsage !== undefined && { includeUsage }),
    ...(maxTokensField !== undefined && { maxTokensField }),
  };
}

function createChatModel(
  options: OpenAiCompatibleOptions,
  url: URL,
  quirks: ProviderQuirks,
  quirkFetch: QuirkFetch,
): LanguageModel {
  return createOpenAICompatible({
    name: CHAT_KEY,
    baseURL: `${url.origin}${url.pathname}`,
    queryParams: Object.fromEntries(url.searchParams),
    ...(options.apiKey !== undefined && { apiKey: options.apiKey }),
    headers: { ...options.headers },
    fetch: quirkFetch.fetch,
    includeUsage: quirks.includeUsage,
    supportsStructuredOutputs: options.capabilities?.structuredOutput === true,
    supportsMultiPartToolContent: options.toolResultImages === 'native',
    metadataExtractor: createDetailsExtractor(),
    convertUsage: readChatUsage,
    ...(quirks.maxTokensField === 'max_completion_tokens' && { transformRequestBody: renameMaxTokens }),
  }).chatModel(options.model);
}

function renameMaxTokens(body: { [key: string]: unknown }): { [key: string]: unknown } {
  const { max_tokens, ...rest } = body;
  return max_tokens === undefined ? rest : { ...rest, max_completion_tokens: max_tokens };
}
