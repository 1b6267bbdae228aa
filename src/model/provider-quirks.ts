import type { EchoReasoning } from './lower-prompt.ts';
import type { WireIdPolicy } from './wire-ids.ts';

/** What differs between servers that all call themselves compatible. */
export interface ProviderQuirks {
  readonly echoReasoning: EchoReasoning;
  /** Calls without known thinking are sent with an empty field. */
  readonly emptyReasoning: boolean;
  readonly wireIds: WireIdPolicy;
  /** Ask for usage in the stream; some servers refuse the field and report usage anyway. */
  readonly includeUsage: boolean;
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
}

const STANDARD: ProviderQuirks = {
  echoReasoning: 'tool-turns',
  emptyReasoning: false,
  wireIds: 'native',
  includeUsage: true,
  maxTokensField: 'max_tokens',
};

const QUIRKS: { readonly [provider: string]: Partial<ProviderQuirks> } = {
  openai: { echoReasoning: 'never', maxTokensField: 'max_completion_tokens' },
  azure: { echoReasoning: 'never' },
  deepseek: { echoReasoning: 'always', emptyReasoning: true },
  moonshotai: { emptyReasoning: true },
  groq: { echoReasoning: 'never' },
  cerebras: { echoReasoning: 'never' },
  google: { echoReasoning: 'never' },
  perplexity: { echoReasoning: 'never' },
  mistral: { echoReasoning: 'never', wireIds: 'hash9', includeUsage: false },
};

/** The quirks of a provider by name; what is not known is taken to be standard. */
export function quirksOf(provider: string): ProviderQuirks {
  return { ...STANDARD, ...(Object.hasOwn(QUIRKS, provider) ? QUIRKS[provider] : undefined) };
}

/** Hosts and what is behind them; a name starting with a dot stands for all below it. */
const HOSTS: readonly (readonly [host: string, provider: string])[] = [
  ['api.openai.com', 'openai'],
  ['.openai.azure.com', 'azure'],
  ['.services.ai.azure.com', 'azure'],
  ['api.deepseek.com', 'deepseek'],
  ['api.groq.com', 'groq'],
  ['api.cerebras.ai', 'cerebras'],
  ['api.mistral.ai', 'mistral'],
  ['api.moonshot.ai', 'moonshotai'],
  ['api.moonshot.cn', 'moonshotai'],
  ['api.kimi.com', 'moonshotai'],
  ['openrouter.ai', 'openrouter'],
  ['api.x.ai', 'xai'],
  ['api.together.xyz', 'togetherai'],
  ['api.fireworks.ai', 'fireworks'],
  ['api.perplexity.ai', 'perplexity'],
  ['router.huggingface.co', 'huggingface'],
  ['generativelanguage.googleapis.com', 'google'],
  ['api.z.ai', 'zai'],
  ['open.bigmodel.cn', 'zai'],
  ['.aliyuncs.com', 'alibaba'],
  ['.snowflakecomputing.com', 'snowflake'],
];

/** Who is behind an address: a known name, or the host itself without its port. */
export function providerOfHost(hostname: string): string {
  const known = HOSTS.find(([host]) => (host.startsWith('.') ? hostname.endsWith(host) : hostname === host));
  return known?.[1] ?? hostname;
}
