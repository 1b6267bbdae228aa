import type { JsonObject } from '../ledger/content.ts';
import { RESPONSE_LIMITS } from '../limits.ts';
import type { JsonData, ProviderMetadata } from './language-model.ts';
import { isRecord, toJsonObject } from './provider-json.ts';

/** The key under which the chat-completions package files metadata; never on the wire. */
export const CHAT_KEY = 'chatCompletions';

interface Detail {
  [key: string]: JsonData | undefined;
}

/**
 * Collects `reasoning_details` of a stream: signed or sealed thinking that must go back as it came. Fragments
 * of one text are joined; the package itself drops the field.
 */
export function createDetailsExtractor() {
  return {
    extractMetadata: () => Promise.resolve(undefined),
    createStreamExtractor() {
      const details: { detail: Detail; texts: Map<string, string[]> }[] = [];
      let chars = 0;
      return {
        processChunk(chunk: unknown): void {
          for (const fragment of fragmentsOf(chunk)) {
            chars += JSON.stringify(fragment).length;
            if (chars <= RESPONSE_LIMITS.maxBytes) addFragment(details, fragment);
          }
        },
        buildMetadata(): { [CHAT_KEY]: { reasoning_details: Detail[] } } | undefined {
          if (details.length === 0) return undefined;
          return { [CHAT_KEY]: { reasoning_details: details.map(joined) } };
        },
      };
    },
  };
}

/** What a finished response owes to later requests, of what the extractor found. */
export function detailsOf(metadata: ProviderMetadata): ProviderMetadata | undefined {
  const details = metadata[CHAT_KEY]?.['reasoning_details'];
  return details === undefined ? undefined : { [CHAT_KEY]: { reasoning_details: details } };
}

/** The field of an assistant message that carries stored details back. */
export function detailsField(metadata: JsonObject | undefined): JsonObject | undefined {
  const stored = metadata?.[CHAT_KEY];
  const details = isRecord(stored) ? stored['reasoning_details'] : undefined;
  return Array.isArray(details) ? { reasoning_details: details } : undefined;
}

function fragmentsOf(chunk: unknown): readonly JsonObject[] {
  const choice = isRecord(chunk) && Array.isArray(chunk['choices']) ? chunk['choices'][0] : undefined;
  const delta = isRecord(choice) ? choice['delta'] : undefined;
  const details = isRecord(delta) ? delta['reasoning_details'] : undefined;
  if (!Array.isArray(details)) return [];
  return details.map(toJsonObject).filter((fragment) => fragment !== undefined);
}

/** Fields that come in pieces. A sealed payload comes whole. */
const STREAMED = ['text', 'summary'];

function addFragment(
  details: { detail: Detail; texts: Map<string, string[]> }[],
  fragment: JsonObject,
): void {
  const last = details.at(-1);
  const goesOn =
    last !== undefined &&
    last.detail['type'] === fragment['type'] &&
    (last.detail['index'] ?? 0) === (fragment['index'] ?? 0) &&
    fragment['data'] === undefined;
  const into = goesOn ? last : { detail: {}, texts: new Map<string, string[]>() };
  if (!goesOn) details.push(into);
  for (const [key, value] of Object.entries(fragment)) {
    if (STREAMED.includes(key) && typeof value === 'string') {
      const pieces = into.texts.get(key);
      if (pieces === undefined) into.texts.set(key, [value]);
      else pieces.push(value);
    } else if ((value !== null && value !== '') || !(key in into.detail)) {
      // A later piece repeats the fields of the first with nothing in them.
      into.detail[key] = value;
    }
  }
}

function joined({ detail, texts }: { detail: Detail; texts: Map<string, string[]> }): Detail {
  const whole: Detail = { ...detail };
  for (const [key, pieces] of texts) whole[key] = pieces.join('');
  return whole;
}
