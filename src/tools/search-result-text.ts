import type { JsonObject } from '../ledger/content.ts';
import type { PreparedActivation } from './activations.ts';
import type { DiscoveryScope } from './discovery-scope.ts';
import type { FoundTools } from './find-tools.ts';
import { wholeName } from './inventory.ts';
import { signatureText } from './tool-signature.ts';

/**
 * What a model is told of a search. Names only, unless the policy carries schemas in results: then one line for each
 * tool that is active or becomes so, within the bound of one search. What is larger comes with the next request.
 */
export function searchResultText(
  scope: DiscoveryScope,
  query: string,
  found: FoundTools,
  activation: PreparedActivation,
): string {
  const { names } = activation;
  const lists: JsonObject = {
    activated: safeNames(names),
    ...listed('alreadyActive', found.alreadyActive),
    ...listed('missing', found.missing),
    ...listed('omitted', found.omitted),
  };
  const note = names.length === 0 ? undefined : activation.takeNote();
  const lines = [
    JSON.stringify(lists),
    ...signatures(scope, [...names, ...found.alreadyActive]),
    ...hint(query, found, names),
    ...(note === undefined ? [] : [note]),
  ];
  return lines.join('\n');
}

function safeNames(names: readonly string[]): readonly string[] {
  return names.map(wholeName);
}

function listed(key: string, names: readonly string[]): JsonObject {
  return names.length === 0 ? {} : { [key]: safeNames(names) };
}

function signatures(scope: DiscoveryScope, names: readonly string[]): readonly string[] {
  const { policy } = scope.catalogue;
  if (policy.carrier === 'request') return [];
  let chars = 0;
  return names.flatMap((name) => {
    const bound = scope.live(name);
    const text = bound === undefined ? undefined : signatureText(bound, scope.maxSignatureChars);
    if (text === undefined) return [];
    chars += text.length;
    return chars > policy.maxSchemaChars && chars > text.length ? [] : [text];
  });
}

function hint(query: string, found: FoundTools, activated: readonly string[]): readonly string[] {
  const { missing, omitted } = found;
  if (missing.length > 0) return ['No tool has the names under "missing".'];
  if (omitted.length > 0) return ['The names under "omitted" did not fit: ask for them again.'];
  if (activated.length > 0 || found.alreadyActive.length > 0) return [];
  if (found.found.length === 0 && found.omittedByLimit > 0) {
    return ['There are matches, but no further tool can be loaded in this turn.'];
  }
  return query.trim() === ''
    ? ['The query was empty: say what the tool should do.']
    : ['Nothing matched. Try other words for what the tool should do.'];
}
