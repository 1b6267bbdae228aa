import { wrapLanguageModel } from 'ai';
import { SwarmError } from '../errors.ts';
import type { JsonObject } from '../ledger/content.ts';
import { RESPONSE_LIMITS } from '../limits.ts';
import type { Model } from './adapter.ts';
import type { LanguageModel } from './language-model.ts';
import type { EchoReasoning, ToolResultImages } from './lower-prompt.ts';
import { checkAiSdkOptions } from './model-options.ts';
import { isRecord } from './provider-json.ts';
import { lowerSdkSettings } from './sdk-settings.ts';
import { createStepAdapter, type ModelFacts } from './step-adapter.ts';
import type { WireIdPolicy } from './wire-ids.ts';

/** A language model of a provider package, seen from outside: what it is called and which interface it has. */
export interface AiSdkLanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
}

/** What a caller states of a model of a provider package. */
export interface AiSdkModelOptions extends ModelFacts {
  /** Of which of its answers the model gets its thinking back. Default `always`: the package knows its wire. */
  readonly echoReasoning?: EchoReasoning;
  /** How call ids go back. Default `hash9` for Mistral, `token` for Anthropic and Bedrock, else `native`. */
  readonly wireIds?: WireIdPolicy;
  /** What becomes of images in tool results. Default `message`; `native` where the provider takes them there. */
  readonly toolResultImages?: ToolResultImages;
  /**
   * Where the provider caches no prompt unless it is told where: provider options that say so. They are put on the last
   * tool that is in every request, on the system text and on the last message. Default: none.
   * @example { anthropic: { cacheControl: { type: 'ephemeral' } } }
   */
  readonly cacheBreakpoints?: { readonly [provider: string]: JsonObject };
  /** Characters of one response. Default 32 Mi. */
  readonly maxResponseBytes?: number;
}

/**
 * A model of any AI SDK provider package of the interface v4 or v3. One `step` is one call of its `doStream`;
 * whether that is one request is up to the package. Settings take provider options as the package has them.
 * @throws SwarmError 'model-unsupported' for a name, or for a model of another interface
 * @throws SwarmError 'invalid-model' naming the option
 * @example
 * const model = fromAiSdk(anthropic('claude-sonnet-4-5'), { contextWindow: 200_000 });
 */
export function fromAiSdk(languageModel: AiSdkLanguageModel, options: AiSdkModelOptions = {}): Model {
  const model = lift(languageModel);
  checkAiSdkOptions(options);
  const { provider, modelId } = model;
  const { maxOutputTokens, capabilities = {}, cacheBreakpoints } = options;
  return createStepAdapter({
    model,
    facts: {
      ...options,
      capabilities: { ...capabilities, ...(cacheBreakpoints && { cacheBreakpoints: true }) },
    },
    fold: { maxChars: options.maxResponseBytes ?? RESPONSE_LIMITS.maxBytes },
    secrets: [],
    policy: () => ({
      provider,
      modelId,
      echoReasoning: options.echoReasoning ?? 'always',
      emptyReasoning: false,
      wireIds: options.wireIds ?? wireIdsOf(provider),
      toolResultImages: options.toolResultImages ?? 'message',
      images: capabilities.images !== false,
      structuredOutput: capabilities.structuredOutput === true,
      lowerSettings: (settings, hasTools) => lowerSdkSettings(settings, hasTools, provider),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(cacheBreakpoints !== undefined && { cacheBreakpoints }),
    }),
  });
}

function wireIdsOf(provider: string): WireIdPolicy {
  if (/^mistral\b/.test(provider)) return 'hash9';
  return /anthropic|bedrock/.test(provider) ? 'token' : 'native';
}

function lift(languageModel: unknown): LanguageModel {
  if (typeof languageModel === 'string') {
    throw unsupported('a model is named; pass the model itself, as names resolve through a hosted gateway');
  }
  if (!isLanguageModel(languageModel)) throw unsupported('this is not a language model of the AI SDK');
  const version = languageModel.specificationVersion;
  if (version === 'v4') return languageModel;
  if (version === 'v3') {
    // The version is what the package states of itself; the wrapper is made for that interface.
    const model = languageModel as unknown as Parameters<typeof wrapLanguageModel>[0]['model'];
    return wrapLanguageModel({ model, middleware: [] });
  }
  throw unsupported(`interface ${version} is not supported; update the provider package`);
}

function isLanguageModel(value: unknown): value is LanguageModel {
  return (
    isRecord(value) &&
    typeof value['specificationVersion'] === 'string' &&
    typeof value['provider'] === 'string' &&
    typeof value['modelId'] === 'string' &&
    typeof value['doStream'] === 'function'
  );
}

function unsupported(message: string): SwarmError {
  return new SwarmError('model-unsupported', message);
}
