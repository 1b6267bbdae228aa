import type { BoundTool } from './binding.ts';
import type { DiscoveryScope } from './discovery-scope.ts';
import { searchInvocable } from './invoke-search.ts';
import { inspectTool, invokeTool } from './invoke-tools.ts';
import { loadTools } from './load-groups.ts';
import { toolSearch } from './tool-search.ts';

/** The runtime's own tools of one turn: those through which its deferred tools are reached. None without any. */
export function discoveryTools(scope: DiscoveryScope): readonly BoundTool[] {
  const { policy, deferred } = scope.catalogue;
  if (deferred.length === 0) return [];
  if (policy.exposition === 'invoke') return [searchInvocable(scope), inspectTool(scope), invokeTool(scope)];
  return [policy.activation === 'group' ? loadTools(scope) : toolSearch(scope)];
}
