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
  const queue: object[] = [];
  const enqueue = (value: unknown): void => {
    if (typeof value === 'object' && value !== null && queue.length < MAX_NODES) queue.push(value);
  };
  enqueue(schema);
  let left = MAX_CHARS;
  const say = (text: unknown): void => {
    if (typeof text !== 'string' || left <= 0) return;
    found.push(text.length > left ? text.slice(0, left) : text);
    left -= text.length + 1;
  };
  // The description of the whole schema repeats that of the tool, or says nothing.
  for (let at = 0; at < queue.length && left > 0; at += 1) {
    const node = queue[at];
    if (node === undefined) break;
    if (at > 0) sayOwn(node, say);
    sayNames(node, say);
    enqueueChildren(node, enqueue);
  }
  return found.join('\n');
}

/** A property of the node's own; of what a schema inherits nothing counts. */
function fieldOf(node: object, key: string): unknown {
  return Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined;
}

type Visit = (value: unknown) => void;

function sayOwn(node: object, say: Visit): void {
  say(fieldOf(node, 'description'));
  say(fieldOf(node, 'const'));
  const values = fieldOf(node, 'enum');
  if (Array.isArray(values)) forFirst(values, say);
}

function sayNames(node: object, say: Visit): void {
  const properties = fieldOf(node, 'properties');
  if (typeof properties === 'object' && properties !== null) forFirst(Object.keys(properties), say);
}

function enqueueChildren(node: object, enqueue: Visit): void {
  for (const key of NAMED_SCHEMAS) {
    const schemas = fieldOf(node, key);
    if (typeof schemas === 'object' && schemas !== null) forFirst(Object.values(schemas), enqueue);
  }
  for (const key of LISTED_SCHEMAS) {
    const schemas = fieldOf(node, key);
    if (Array.isArray(schemas)) forFirst(schemas, enqueue);
    else enqueue(schemas);
  }
}

function forFirst(values: readonly unknown[], visit: Visit): void {
  const end = Math.min(values.length, MAX_NODES);
  for (let at = 0; at < end; at += 1) visit(values[at]);
}
