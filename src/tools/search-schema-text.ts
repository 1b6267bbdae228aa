const MAX_CHARS = 8_192;
const MAX_NODES = 1_000;

/** Keywords of JSON Schema that hold further schemas, by name or in a list. */
const NAMED_SCHEMAS = ['properties', '$defs', 'definitions', 'patternProperties'];
const LISTED_SCHEMAS = ['items', 'prefixItems', 'anyOf', 'oneOf', 'allOf', 'additionalProperties'];

/**
 * What a JSON Schema says in words: parameter names, their descriptions and the values they may take, the
 * outer levels first. At most 8,192 characters of at most 1,000 subschemas, so a cyclic or huge schema is
 * cut, not followed.
 */
export function schemaText(schema: unknown): string {
  const found: string[] = [];
  const queue: object[] = isRecord(schema) ? [schema] : [];
  let chars = 0;
  for (let at = 0; at < queue.length && chars < MAX_CHARS; at += 1) {
    const node = queue[at];
    if (node === undefined) break;
    // The description of the whole schema repeats that of the tool, or says nothing.
    const texts = at === 0 ? namesOf(node) : [...ownTexts(node), ...namesOf(node)];
    for (const text of texts) {
      if (chars >= MAX_CHARS) break;
      const kept = text.slice(0, MAX_CHARS - chars);
      found.push(kept);
      chars += kept.length + 1;
    }
    for (const child of childrenOf(node)) if (queue.length < MAX_NODES) queue.push(child);
  }
  return found.join('\n');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function fieldOf(node: object, key: string): unknown {
  return Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined;
}

function namesOf(node: object): readonly string[] {
  const properties = fieldOf(node, 'properties');
  return isRecord(properties) ? Object.keys(properties).slice(0, MAX_NODES) : [];
}

function ownTexts(node: object): readonly string[] {
  const values = fieldOf(node, 'enum');
  const allowed = Array.isArray(values) ? values.slice(0, MAX_NODES) : [];
  return [fieldOf(node, 'description'), fieldOf(node, 'const'), ...allowed].filter(
    (text) => typeof text === 'string',
  );
}

function childrenOf(node: object): readonly object[] {
  const named = NAMED_SCHEMAS.flatMap((key) => {
    const schemas = fieldOf(node, key);
    return isRecord(schemas) ? Object.values(schemas).slice(0, MAX_NODES) : [];
  });
  const listed = LISTED_SCHEMAS.flatMap((key) => {
    const schemas = fieldOf(node, key);
    return Array.isArray(schemas) ? schemas.slice(0, MAX_NODES) : [schemas];
  });
  return [...named, ...listed].filter(isRecord);
}
