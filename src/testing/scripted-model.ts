import type { Model, ModelCapabilities, ModelFailure, ModelPrice, StepRequest } from '../model/adapter.ts';
import { createStepStream } from '../model/read-stream.ts';
import { assertOptions, type OptionNames } from '../option-names.ts';
import { playParts } from './play-parts.ts';
import { parsePrompt, promptViolations } from './prompt-request.ts';
import { createRequestLog, type ReceivedRequest, type RequestEnd, refusedRequests } from './request-log.ts';
import { createPlayer, type Script } from './script.ts';

/** Options of {@link scriptedModel}. */
export interface ScriptedModelOptions {
  readonly script: Script;
  /** Default `scripted`. */
  readonly provider?: string;
  /** Default `scripted`. */
  readonly modelId?: string;
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
  readonly price?: ModelPrice;
  readonly capabilities?: ModelCapabilities;
  readonly countTokens?: (text: string) => number;
}

const OPTIONS: OptionNames<ScriptedModelOptions> = {
  script: true,
  provider: true,
  modelId: true,
  contextWindow: true,
  maxOutputTokens: true,
  price: true,
  capabilities: true,
  countTokens: true,
};

/** One request to a {@link ScriptedModel}. */
export interface ModelRequest extends ReceivedRequest {
  /** The request itself. */
  readonly request: StepRequest;
}

/** A model without a provider: it says what its script says, in this process. */
export interface ScriptedModel extends Model {
  /** Every request so far, in order. */
  readonly requests: readonly (ModelRequest & RequestEnd)[];
  /** Resolves when the request of this ordinal (from 0) has arrived, also if it has already. */
  arrived(ordinal: number): Promise<ModelRequest & RequestEnd>;
  /**
   * Proves that the script was played to its end and nothing else was asked.
   * @throws SwarmError 'script-unplayed' naming answers left, requests without an answer, and violations
   */
  assertPlayedOut(): void;
}

/**
 * Makes a {@link ScriptedModel}. It answers through the code that reads real providers, so outcomes follow the
 * same rules. A request that a strict provider would refuse fails as `invalid-request`; so does an answer that
 * only exists as bytes (`raw`, `line`, `httpResponse`): those need `scriptedServer`.
 *
 * @throws SwarmError 'invalid-definition' naming the option that is unknown or no script
 * @example
 * const model = scriptedModel({ script: [reply().call('look', {}), reply().text('Nothing there.')] });
 */
export function scriptedModel(options: ScriptedModelOptions): ScriptedModel {
  assertOptions('scriptedModel', options, OPTIONS);
  const { script, provider = 'scripted', modelId = 'scripted', price, capabilities = {} } = options;
  const player = createPlayer('scriptedModel', script);
  const log = createRequestLog<ModelRequest>();
  let calls = 0;
  const newCallId = () => {
    calls += 1;
    return `call_${calls}`;
  };

  const play = (request: StepRequest, signal: AbortSignal, onFailure: OnFailure) => {
    const violations = promptViolations(request);
    const parsed = parsePrompt(request, log.requests.length, modelId);
    const end = log.add({ ...parsed, violations, request });
    // Also where the stream is dropped before anything of it was read.
    signal.addEventListener('abort', () => end({ aborted: true }), { once: true });
    const answer = violations.length > 0 ? Promise.resolve(undefined) : player.next(parsed);
    const refusal =
      violations.length > 0 ? `refused: ${violations.join('; ')}` : 'the script holds no answer';
    return playParts({ answer, refusal, signal, newCallId, end, onFailure, threw: player.threw });
  };

  return {
    provider,
    modelId,
    ...(options.contextWindow !== undefined && { contextWindow: options.contextWindow }),
    ...(options.maxOutputTokens !== undefined && { maxOutputTokens: options.maxOutputTokens }),
    ...(price !== undefined && { price }),
    ...(options.countTokens !== undefined && { countTokens: options.countTokens }),
    capabilities,
    requests: log.requests,
    arrived: (ordinal) => log.arrived(ordinal),
    assertPlayedOut: () => player.assertPlayedOut(refusedRequests(log.requests)),
    step(request, stepOptions) {
      let scripted: ModelFailure | undefined;
      const onFailure: OnFailure = (failure) => {
        scripted = failure;
      };
      return createStepStream(
        {
          start: async (signal) => ({ stream: ReadableStream.from(play(request, signal, onFailure)) }),
          fold: { maxChars: Number.POSITIVE_INFINITY },
          confidential: { secrets: [], promptTexts: () => [] },
          price,
          maxOutputTokens: request.settings.maxOutputTokens ?? options.maxOutputTokens,
          warnings: [],
          // The script knows its failure to the word; what classification made of it is worth less.
          onFailure: (failure) => scripted ?? failure,
        },
        stepOptions,
      );
    },
  };
}

type OnFailure = (failure: ModelFailure) => void;
