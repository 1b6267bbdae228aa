import { type CallFacts, callStatus, type TurnFacts } from '../ledger/turn-facts.ts';
import type { Catalogue } from './catalogue.ts';
import { rankNow } from './find-tools.ts';
import { readSelection } from './select-query.ts';
import { toolCalled } from './tool-names.ts';
import { MAX_SEARCH_LIMIT } from './tool-search.ts';

/**
 * Deferred tools that earlier turns of a session leave active, in the order of their activation: what successful calls
 * activated, tools whose call succeeded, and what a search would find whose result was never recorded. What failed
 * gives no credit. Total: whatever was recorded, the result is a part of the deferred tools of this catalogue.
 */
export function replayActivations(turns: readonly TurnFacts[], catalogue: Catalogue): readonly string[] {
  const names = new Set<string>();
  for (const turn of turns) {
    for (const step of turn.steps) {
      for (const id of step.callIds) {
        const call = turn.calls.get(id);
        for (const name of call === undefined ? [] : creditOf(call, catalogue)) {
          if (catalogue.isDeferred(name)) names.add(name);
        }
      }
    }
  }
  return [...names];
}

function creditOf(call: CallFacts, catalogue: Catalogue): readonly string[] {
  const { toolName } = call.called.data;
  const { settled } = call;
  if (settled !== undefined) {
    if (settled.data.status !== 'success') return [];
    // Only the name counts: what a tool of another time is called by now is found by its aliases.
    const named = toolCalled(toolName, catalogue.deferred);
    return [...(call.activated ?? []), ...(named === undefined ? [] : [named.name])];
  }
  const isSearch = catalogue.policy.activation === 'search' && toolName === catalogue.policy.searchToolName;
  return callStatus(call) !== 'refused' && isSearch ? resolvedAgain(call, catalogue) : [];
}

/** What the search of a call finds now. One that asked with a list, as was once possible, asked for nothing. */
function resolvedAgain(call: CallFacts, catalogue: Catalogue): readonly string[] {
  const { query, limit, max_results: maxResults } = call.args;
  if (typeof query !== 'string' || query.trim() === '' || Array.isArray(call.args['select'])) return [];
  const text = query.trim();
  const named = readSelection(catalogue, text);
  if (named !== undefined) return named.names;
  try {
    return rankNow(catalogue, text, most(limit ?? maxResults, catalogue)).map(({ name }) => name);
  } catch {
    // A ranker that fails finds nothing, here as in a search.
    return [];
  }
}

function most(asked: unknown, { policy }: Catalogue): number {
  const isUsable = typeof asked === 'number' && asked >= 1;
  return isUsable ? Math.min(Math.floor(asked), MAX_SEARCH_LIMIT) : policy.maxResults;
}
