import type { JsonValue } from '../ledger/content.ts';
import type { ModelSettings } from './adapter.ts';
import type { LoweredSettings } from './lower-call.ts';
import { isRecord } from './provider-json.ts';
import { CHAT_KEY } from './reasoning-details.ts';

/**
 * Settings of a chat-completions request that have no word in the provider package: they become fields of the
 * body. Options for other providers are left alone.
 */
export function lowerChatSettings(
  settings: ModelSettings,
  hasTools: boolean,
  provider: string,
): LoweredSettings {
  const fields: { [key: string]: JsonValue } = {};
  const warnings: string[] = [];
  for (const [group, values] of Object.entries(settings.providerOptions ?? {})) {
    if (!isRecord(values)) warnings.push(`provider option ${group} is no group of options and was not sent`);
    else if (group === provider || group === 'openaiCompatible') Object.assign(fields, values);
  }
  if (settings.reasoning !== undefined) fields['reasoningEffort'] ??= settings.reasoning;
  // Without tools servers refuse the field.
  if (hasTools && settings.parallelToolCalls !== undefined) {
    fields['parallel_tool_calls'] ??= settings.parallelToolCalls;
  }
  return {
    warnings,
    ...(Object.keys(fields).length > 0 && { providerOptions: { [CHAT_KEY]: fields } }),
  };
}
