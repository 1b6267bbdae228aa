import type { ModelSettings } from './adapter.ts';
import type { ProviderMetadata, ReasoningEffort } from './language-model.ts';
import type { LoweredSettings } from './lower-call.ts';
import { isRecord } from './provider-json.ts';

const EFFORTS: ReadonlySet<string> = new Set<ReasoningEffort>([
  'provider-default',
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
]);

/** Settings for a provider package: its options pass as they are, the rest is put into its words. */
export function lowerSdkSettings(
  settings: ModelSettings,
  hasTools: boolean,
  provider: string,
): LoweredSettings {
  const warnings: string[] = [];
  const options: ProviderMetadata = {};
  for (const [group, values] of Object.entries(settings.providerOptions ?? {})) {
    if (isRecord(values)) Object.assign(options, { [group]: values });
    else warnings.push(`provider option ${group} is no group of options and was not sent`);
  }
  if (hasTools && settings.parallelToolCalls !== undefined) {
    const known = parallelOption(provider, settings.parallelToolCalls);
    if (known === undefined)
      warnings.push(`parallelToolCalls has no meaning for ${provider} and was not sent`);
    else options[known.group] = { ...known.values, ...options[known.group] };
  }
  const { reasoning } = settings;
  const isEffort = reasoning !== undefined && EFFORTS.has(reasoning);
  if (reasoning !== undefined && !isEffort) {
    warnings.push(`reasoning ${reasoning} is not an effort the package knows and was not sent`);
  }
  return {
    warnings,
    // The set holds exactly the members of the union.
    ...(isEffort && { reasoning: reasoning as ReasoningEffort }),
    ...(Object.keys(options).length > 0 && { providerOptions: options }),
  };
}

function parallelOption(
  provider: string,
  isParallel: boolean,
): { group: string; values: { [key: string]: boolean } } | undefined {
  const [group = ''] = provider.split('.');
  if (group === 'anthropic') return { group, values: { disableParallelToolUse: !isParallel } };
  return ['openai', 'azure', 'groq', 'mistral', 'xai'].includes(group)
    ? { group, values: { parallelToolCalls: isParallel } }
    : undefined;
}
