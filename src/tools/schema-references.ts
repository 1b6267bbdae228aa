import type { JsonObject, JsonValue } from '../ledger/content.ts';

/** The references of one schema document. */
export interface References {
  /** The schema that `ref` means, or undefined where it is not an object of this document. */
  resolve(ref: string): JsonObject | undefined;
}

/** Resolves `#`, JSON pointers, anchors, and each of them behind the document's own `$id`. Nothing is fetched. */
export function createReferences(root: JsonObject): References {
  let anchors: ReadonlyMap<string, JsonObject> | undefined;
  return {
    resolve(ref) {
      const fragment = fragmentOf(ref, root['$id'] ?? root['id']);
      if (fragment === undefined) return undefined;
      if (fragment === '') return root;
      if (fragment.startsWith('/')) return follow(root, fragment);
      anchors ??= collectAnchors(root);
      return anchors.get(fragment);
    },
  };
}

function fragmentOf(ref: string, ownId: JsonValue | undefined): string | undefined {
  const hash = ref.indexOf('#');
  const document = hash === -1 ? ref : ref.slice(0, hash);
  const isOwn = document === '' || (typeof ownId === 'string' && document === ownId.replace(/#$/, ''));
  if (!isOwn) return undefined;
  try {
    return hash === -1 ? '' : decodeURIComponent(ref.slice(hash + 1));
  } catch {
    // A fragment that is no URI text names nothing.
    return undefined;
  }
}

function follow(root: JsonObject, pointer: string): JsonObject | undefined {
  let at: JsonValue | undefined = root;
  for (const token of pointer.slice(1).split('/')) {
    if (typeof at !== 'object' || at === null) return undefined;
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    // Arrays are read by index through the same door: their indices are own keys.
    at = Object.hasOwn(at, key) ? (at as JsonObject)[key] : undefined;
  }
  if (at === true) return {};
  // What is neither null nor an array is a JSON object.
  return typeof at === 'object' && at !== null && !Array.isArray(at) ? (at as JsonObject) : undefined;
}

function collectAnchors(root: JsonObject): ReadonlyMap<string, JsonObject> {
  const anchors = new Map<string, JsonObject>();
  const open: JsonValue[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    open.push(...Object.values(next));
    if (Array.isArray(next)) continue;
    const schema = next as JsonObject;
    for (const keyword of ['$anchor', '$dynamicAnchor', '$id', 'id']) {
      const name = schema[keyword];
      if (typeof name === 'string' && name !== '') anchors.set(name.replace(/^#/, ''), schema);
    }
  }
  return anchors;
}
