import type { JsonObject } from '../ledger/content.ts';
import type { AssistantPromptPart, JsonData, ProviderMetadata } from './language-model.ts';
import { isRecord } from './provider-json.ts';

/**
 * An item only its provider understands, as the package takes it back: a call the provider ran itself, the
 * result of one, sealed thinking in a file, or something of its own kind. `undefined` for what it cannot take.
 */
export function lowerProviderItem(item: JsonObject): AssistantPromptPart | undefined {
  const options = isRecord(item['providerMetadata'])
    ? // Stored as it came: a record of records.
      { providerOptions: item['providerMetadata'] as ProviderMetadata }
    : {};
  const { kind, toolCallId, toolName } = item;
  switch (item['type']) {
    case 'custom':
      return isKind(kind) ? { type: 'custom', kind, ...options } : undefined;
    case 'reasoning-file':
      return lowerReasoningFile(item, options);
    case 'tool-call':
      if (typeof toolCallId !== 'string' || typeof toolName !== 'string') return undefined;
      return {
        type: 'tool-call',
        toolCallId,
        toolName,
        input: parsedInput(item['input']),
        providerExecuted: true,
        ...options,
      };
    case 'tool-result':
      if (typeof toolCallId !== 'string' || typeof toolName !== 'string') return undefined;
      return {
        type: 'tool-result',
        toolCallId,
        toolName,
        output: { type: 'json', value: item['result'] ?? null },
        ...options,
      };
    default:
      return undefined;
  }
}

function lowerReasoningFile(
  item: JsonObject,
  options: { providerOptions?: ProviderMetadata },
): AssistantPromptPart | undefined {
  const { mediaType, source } = item;
  if (typeof mediaType !== 'string' || !isRecord(source)) return undefined;
  const { data, url } = source;
  if (typeof data === 'string') {
    return { type: 'reasoning-file', mediaType, data: { type: 'data', data }, ...options };
  }
  return typeof url === 'string' && URL.canParse(url)
    ? { type: 'reasoning-file', mediaType, data: { type: 'url', url: new URL(url) }, ...options }
    : undefined;
}

function isKind(kind: unknown): kind is `${string}.${string}` {
  return typeof kind === 'string' && kind.includes('.');
}

function parsedInput(input: JsonData | undefined): unknown {
  if (typeof input !== 'string') return input ?? {};
  try {
    return JSON.parse(input);
  } catch {
    // The provider ran it and knows what it was.
    return {};
  }
}
