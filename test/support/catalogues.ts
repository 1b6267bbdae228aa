import { bindTools } from '../../src/tools/bind-tools.ts';
import { type Catalogue, createCatalogue } from '../../src/tools/catalogue.ts';
import { type DiscoveryOptions, resolveDiscovery } from '../../src/tools/discovery-policy.ts';
import type { Tool, ToolScope } from '../../src/tools/tool.ts';

export interface CatalogueCase {
  readonly discovery?: DiscoveryOptions;
  readonly scope?: Partial<ToolScope>;
  readonly contextWindow?: number;
  readonly countTokens?: (chars: number) => number;
}

/** The catalogue of a turn of an agent with these tools. */
export function catalogueOf(tools: readonly Tool[], made: CatalogueCase = {}): Catalogue {
  const { countTokens } = made;
  return createCatalogue({
    binding: bindTools(tools),
    policy: resolveDiscovery([made.discovery]),
    scope: { agent: 'worker', agentPath: ['worker'], sessionId: 's-1', context: undefined, ...made.scope },
    contextWindow: made.contextWindow,
    ...(countTokens === undefined ? {} : { countTokens }),
  });
}
