import type { ModelFailure } from './adapter.ts';
import type { EchoReasoning } from './lower-prompt.ts';
import type { ProviderQuirks } from './provider-quirks.ts';

const REFUSED =
  /(?:unsupported|not supported|not permitted|not allowed|unexpected|unknown|unrecognized|unrecognised|extra|additional|forbidden)/i;
const DEMANDED = /must be (?:passed|sent|provided|included)|is missing|missing|is required/i;
const FIELD = /\breasoning_(?:content|details)\b|\bmessages?[.[][^ ]*\breasoning\b/i;

export interface EchoPolicy {
  policy(): { readonly echoReasoning: EchoReasoning; readonly emptyReasoning: boolean };
  onFailure(failure: ModelFailure): ModelFailure;
}

/**
 * What one endpoint makes of thinking in the history. A default is a guess, so an endpoint that refuses the
 * field, or demands it, is believed once: later requests follow it, and the failure says that another attempt
 * may help. With `mayLearn` false the policy stays as it was given.
 */
export function learnEcho(quirks: ProviderQuirks, mayLearn: boolean): EchoPolicy {
  let { echoReasoning, emptyReasoning } = quirks;
  let learnable = mayLearn;
  return {
    policy: () => ({ echoReasoning, emptyReasoning }),
    onFailure(failure) {
      if (!learnable || failure.kind !== 'invalid-request' || !FIELD.test(failure.message)) return failure;
      const demanded = DEMANDED.test(failure.message);
      if (!demanded && !REFUSED.test(failure.message)) return failure;
      const learned = demanded ? 'always' : 'never';
      if (learned === echoReasoning && emptyReasoning === demanded) return failure;
      learnable = false;
      echoReasoning = learned;
      emptyReasoning = demanded;
      return { ...failure, detail: 'reasoning-echo', retryable: true, maxRetries: 1 };
    },
  };
}
