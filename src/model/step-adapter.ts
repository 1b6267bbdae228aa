import type {
  Model,
  ModelCapabilities,
  ModelFailure,
  ModelPrice,
  StepOptions,
  StepRequest,
} from './adapter.ts';
import type { FoldOptions } from './fold-parts.ts';
import type { LanguageModel } from './language-model.ts';
import { type CallPolicy, lowerCall, outputLimit } from './lower-call.ts';
import { promptTexts } from './prompt-texts.ts';
import { createStepStream } from './read-stream.ts';

/** What a caller states of a model, the same for every kind of model. */
export interface ModelFacts {
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
  readonly price?: ModelPrice;
  readonly capabilities?: ModelCapabilities;
  readonly countTokens?: (text: string) => number;
}

/** One model of a provider package, and how it is spoken to. */
export interface StepAdapterParts {
  readonly model: LanguageModel;
  readonly facts: ModelFacts;
  /** Asked for each request: a policy may have learned from a failure. */
  readonly policy: () => CallPolicy;
  readonly fold: FoldOptions;
  readonly secrets: readonly string[];
  readonly onFailure?: (failure: ModelFailure) => ModelFailure;
  /** Called before a request with the signal it is sent under, for a `fetch` that reports bytes. */
  readonly watch?: (signal: AbortSignal, onActivity: (() => void) | undefined) => void;
}

/** A `Model` over `parts.model`: one `doStream` a step, everything else is reading and writing. */
export function createStepAdapter(parts: StepAdapterParts): Model {
  const { model, facts } = parts;
  const { provider, modelId } = parts.policy();
  return Object.freeze({
    provider,
    modelId,
    ...(facts.contextWindow !== undefined && { contextWindow: facts.contextWindow }),
    ...(facts.maxOutputTokens !== undefined && { maxOutputTokens: facts.maxOutputTokens }),
    ...(facts.price !== undefined && { price: Object.freeze({ ...facts.price }) }),
    ...(facts.countTokens !== undefined && { countTokens: facts.countTokens }),
    capabilities: Object.freeze({ ...facts.capabilities }),
    step(request: StepRequest, options: StepOptions) {
      const policy = parts.policy();
      const call = lowerCall(request, policy);
      return createStepStream(
        {
          start: (signal) => {
            parts.watch?.(signal, options.onActivity);
            return model.doStream({ ...call.options, abortSignal: signal });
          },
          fold: parts.fold,
          confidential: { secrets: parts.secrets, promptTexts: () => promptTexts(request) },
          price: facts.price,
          maxOutputTokens: outputLimit(request.settings, policy),
          warnings: call.warnings,
          onFailure: parts.onFailure,
        },
        options,
      );
    },
  });
}
