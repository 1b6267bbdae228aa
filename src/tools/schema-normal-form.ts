import { SwarmError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import { hasUnseen, safeText } from './safe-text.ts';
import { createReferences, type References } from './schema-references.ts';

/** A schema that allows nothing; JSON Schema writes `false` or `{ not: {} }`, which providers reject. */
export const NEVER = Symbol('never');

/** A schema in normal form: only keywords of {@link KEYWORDS}, in their order. */
export type NormalSchema = JsonObject | typeof NEVER;

/** Schemas that an inlined result may have; references that multiply each other end here. */
const MAX_NODES = 10_000;
const MAX_DEPTH = 64;
const MAX_NAME_CHARS = 256;

/** Keywords that reach a provider, in the order they are written. */
const KEYWORDS = [
  ...['type', 'title', 'description', 'enum', 'const', 'format', 'pattern', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...[
    'properties',
    'required',
    'patternProperties',
    'additionalProperties',
    'minProperties',
    'maxProperties',
  ],
  ...['items', 'additionalItems', 'minItems', 'maxItems', 'uniqueItems'],
  ...['anyOf', 'allOf', 'default', 'examples'],
] as const;

type Keyword = (typeof KEYWORDS)[number];

/** Keywords under construction. */
export type Draft = { [K in Keyword]?: JsonValue };

const ANNOTATIONS: ReadonlySet<string> = new Set(['title', 'description', 'default', 'examples']);
const TYPES: ReadonlySet<unknown> = new Set([
  'object',
  'array',
  'string',
  'number',
  'integer',
  'boolean',
  'null',
]);
const NUMBERS = [
  ...['minLength', 'maxLength', 'minProperties', 'maxProperties', 'minItems', 'maxItems'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
] as const;

/** A schema object as `draft` says it, its keywords in their order. */
export function ordered(draft: Draft): JsonObject {
  const schema: { [key: string]: JsonValue } = {};
  for (const keyword of KEYWORDS) {
    const value = draft[keyword];
    if (value !== undefined) schema[keyword] = value;
  }
  return schema;
}

/**
 * `source` with local references inlined and only what providers accept: a relaxation of it.
 * @throws SwarmError 'unusable-schema' naming the tool
 */
export function normalForm(source: JsonObject, toolName: string): NormalSchema {
  return new Normalizer(source, toolName).schema(source, 0);
}

class Normalizer {
  readonly #toolName: string;
  readonly #references: References;
  /** Schemas on the way from the root to the current one: a reference to one of them is a cycle. */
  readonly #open = new Set<JsonValue>();
  #nodes = 0;

  constructor(root: JsonObject, toolName: string) {
    this.#toolName = toolName;
    this.#references = createReferences(root);
  }

  schema(source: JsonValue | undefined, depth: number): NormalSchema {
    if (source === false) return NEVER;
    if (!isObject(source)) return {};
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES) this.#fail(`its references make more than ${MAX_NODES} schemas`);
    if (depth > MAX_DEPTH) this.#fail(`its references nest over ${MAX_DEPTH} levels`);
    this.#open.add(source);
    try {
      return typeof source['$ref'] === 'string'
        ? this.#inlined(source, source['$ref'], depth)
        : this.#collapsed(source, depth);
    } finally {
      this.#open.delete(source);
    }
  }

  #inlined(source: JsonObject, ref: string, depth: number): NormalSchema {
    const target = this.#references.resolve(ref);
    if (target === undefined) this.#fail(`it refers to ${safeText(ref, 100)}, which is not in it`);
    const { $ref: _, ...siblings } = source;
    const own = this.#collapsed(siblings, depth);
    // Schemas without keywords besides `$ref` form cycles of references only; those allow anything.
    if (this.#open.has(target)) return overlay(permissive(target), own);
    return overlay(this.schema(target, depth + 1), own);
  }

  /** The schema, with a lone member of `allOf` or `anyOf` drawn into it. */
  #collapsed(source: JsonObject, depth: number): NormalSchema {
    const members = this.#combined(source, depth);
    if (members === NEVER) return NEVER;
    const draft = this.#draft(source, depth);
    if (draft === NEVER) return NEVER;
    let schema: NormalSchema = {};
    for (const one of members.drawn) schema = overlay(one, schema);
    const all = [...members.all];
    if (members.any.length > 0) {
      const [first, ...more] = members.any;
      if (first !== undefined) draft.anyOf = first;
      for (const any of more) all.push({ anyOf: any });
    }
    if (all.length > 0) draft.allOf = all;
    return overlay(schema, ordered(draft));
  }

  /** `oneOf`, `anyOf` and `allOf`: lists that stay, and lone members that can be drawn in. */
  #combined(
    source: JsonObject,
    depth: number,
  ): { any: JsonObject[][]; all: JsonObject[]; drawn: JsonObject[] } | typeof NEVER {
    const combined: { any: JsonObject[][]; all: JsonObject[]; drawn: JsonObject[] } = {
      any: [],
      all: [],
      drawn: [],
    };
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const members = source[keyword];
      if (!isList(members) || members.length === 0) continue;
      const possible = members.map((one) => this.schema(one, depth + 1)).filter((one) => one !== NEVER);
      const [only] = possible;
      if (only === undefined) return NEVER;
      if (possible.length === 1) combined.drawn.push(only);
      else combined.any.push(possible);
    }
    const { allOf } = source;
    if (!isList(allOf)) return combined;
    for (const one of allOf) {
      const schema = this.schema(one, depth + 1);
      if (schema === NEVER) return NEVER;
      if (allOf.length === 1) combined.drawn.push(schema);
      else combined.all.push(schema);
    }
    return combined;
  }

  #draft(source: JsonObject, depth: number): Draft | typeof NEVER {
    if ('not' in source && (source['not'] === true || isEmptyObject(source['not']))) return NEVER;
    const draft: Draft = {};
    addType(draft, source);
    addAnnotations(draft, source);
    addNumbers(draft, source);
    for (const keyword of ['format', 'pattern'] as const) {
      const value = source[keyword];
      if (typeof value === 'string' && !hasUnseen(value)) draft[keyword] = value;
    }
    if (typeof source['uniqueItems'] === 'boolean') draft.uniqueItems = source['uniqueItems'];
    this.#addProperties(draft, source, depth);
    this.#addItems(draft, source, depth);
    return draft;
  }

  #addProperties(draft: Draft, source: JsonObject, depth: number): void {
    const properties = this.#named(source['properties'], depth);
    const patterns = this.#named(source['patternProperties'], depth);
    if (patterns !== undefined) draft.patternProperties = patterns.schemas;
    const additional = source['additionalProperties'];
    if (typeof additional === 'boolean') draft.additionalProperties = additional;
    else if (isObject(additional)) {
      const schema = this.schema(additional, depth + 1);
      draft.additionalProperties = schema === NEVER ? false : schema;
    }
    const required = isList(source['required'])
      ? source['required'].filter((key) => typeof key === 'string')
      : [];
    const possible = [...new Set(required)].filter((key) => !properties?.never.has(key));
    if (possible.length > 0) draft.required = possible;
    if (properties === undefined && draft.type !== 'object') return;
    // Some providers refuse a required property that no schema describes.
    const undescribed = possible.filter((key) => !Object.hasOwn(properties?.schemas ?? {}, key));
    if (properties === undefined && undescribed.length === 0) return;
    for (const key of undescribed) this.#checkName(key);
    draft.properties = { ...properties?.schemas, ...Object.fromEntries(undescribed.map((key) => [key, {}])) };
  }

  /** A map from property names or patterns to schemas; those that allow nothing are only named. */
  #named(
    source: JsonValue | undefined,
    depth: number,
  ): { schemas: JsonObject; never: Set<string> } | undefined {
    if (!isObject(source)) return undefined;
    const schemas: { [key: string]: JsonValue } = {};
    const never = new Set<string>();
    for (const [name, one] of Object.entries(source)) {
      this.#checkName(name);
      const schema = this.schema(one, depth + 1);
      if (schema === NEVER) never.add(name);
      else schemas[name] = schema;
    }
    return { schemas, never };
  }

  #checkName(name: string): void {
    if (name.length > MAX_NAME_CHARS) this.#fail(`a property name has over ${MAX_NAME_CHARS} characters`);
    if (hasUnseen(name) || /[\n\t]/.test(name))
      this.#fail('a property name has characters that cannot be seen');
  }

  #addItems(draft: Draft, source: JsonObject, depth: number): void {
    // A tuple is `prefixItems` with `items` for the rest, or in older drafts `items` with `additionalItems`.
    const isNew = isList(source['prefixItems']);
    const tuple = isNew ? source['prefixItems'] : source['items'];
    const rest = isNew ? source['items'] : source['additionalItems'];
    if (isList(tuple)) {
      draft.items = tuple.map((one) => orAny(this.schema(one, depth + 1)));
      if (rest !== undefined) {
        const schema = this.schema(rest, depth + 1);
        draft.additionalItems = schema === NEVER ? false : schema;
      }
      return;
    }
    if (tuple !== undefined) {
      const schema = this.schema(tuple, depth + 1);
      if (schema === NEVER) draft.maxItems = 0;
      draft.items = orAny(schema);
    } else if (draft.type === 'array') draft.items = {};
  }

  #fail(why: string): never {
    throw new SwarmError('unusable-schema', `the input schema of tool ${this.#toolName} is unusable: ${why}`);
  }
}

function addType(draft: Draft, source: JsonObject): void {
  if (isList(source['enum']) && source['enum'].length > 0 && !hidesText(source['enum']))
    draft.enum = source['enum'];
  if (source['const'] !== undefined && !hidesText(source['const'])) draft.const = source['const'];
  const types = typesOf(source) ?? typesOfValues(draft);
  const [first] = types;
  if (first !== undefined) draft.type = types.length === 1 ? first : types;
}

/** Names of the types, or undefined where a name is none of JSON Schema: then anything goes. */
function typesOf(source: JsonObject): readonly JsonValue[] | undefined {
  const { type } = source;
  const types = new Set(isList(type) ? type : type === undefined ? [] : [type]);
  if (types.size === 0 || [...types].some((one) => !TYPES.has(one))) return undefined;
  // OpenAPI's way to say the same.
  if (source['nullable'] === true) types.add('null');
  return [...types];
}

/** Some providers want a type beside every set of values. */
function typesOfValues({ enum: values, const: value }: Draft): readonly JsonValue[] {
  const all = value !== undefined ? [value] : isList(values) ? values : [];
  for (const type of ['string', 'number', 'boolean']) {
    if (all.length > 0 && all.every((one) => typeof one === type)) return [type];
  }
  return [];
}

function addAnnotations(draft: Draft, source: JsonObject): void {
  for (const keyword of ['title', 'description'] as const) {
    const value = source[keyword];
    if (typeof value !== 'string') continue;
    const text = safeText(value);
    if (text.trim() !== '') draft[keyword] = text;
  }
  if (source['default'] !== undefined && !hidesText(source['default'])) draft.default = source['default'];
  if (isList(source['examples']) && !hidesText(source['examples'])) draft.examples = source['examples'];
}

function addNumbers(draft: Draft, source: JsonObject): void {
  for (const keyword of NUMBERS) {
    const value = source[keyword];
    if (typeof value === 'number') draft[keyword] = value;
  }
  // Converters write the bounds of exact integers, which some servers reject; arguments are held to them anyway.
  if (draft.minimum === Number.MIN_SAFE_INTEGER) delete draft.minimum;
  if (draft.maximum === Number.MAX_SAFE_INTEGER) delete draft.maximum;
  // Draft 4: a boolean that turns the bound beside it into an exclusive one.
  if (source['exclusiveMinimum'] === true && draft.minimum !== undefined) {
    draft.exclusiveMinimum = draft.minimum;
    delete draft.minimum;
  }
  if (source['exclusiveMaximum'] === true && draft.maximum !== undefined) {
    draft.exclusiveMaximum = draft.maximum;
    delete draft.maximum;
  }
}

/** Values cannot be cleaned without changing what they mean, so those with hidden text do not reach a prompt. */
function hidesText(value: JsonValue): boolean {
  return /[\p{Bidi_Control}\u{E0000}-\u{E0FFF}]/u.test(JSON.stringify(value));
}

/** What stands for a reference into a schema that holds it. */
function permissive(target: JsonObject): JsonObject {
  const isObjectType = target['type'] === 'object' || 'properties' in target;
  return isObjectType ? { type: 'object' } : {};
}

/**
 * `inner` with `outer` around it: both hold. Annotations of `outer` win, property maps unite, and of a constraint that
 * both have, that of `inner` stays.
 */
function overlay(inner: NormalSchema, outer: NormalSchema): NormalSchema {
  if (inner === NEVER || outer === NEVER) return NEVER;
  const draft: Draft = { ...inner };
  // The keys of a schema in normal form are keywords.
  for (const keyword of Object.keys(outer) as Keyword[]) {
    const mine = outer[keyword];
    const theirs = inner[keyword];
    if (mine === undefined) continue;
    if (theirs === undefined || ANNOTATIONS.has(keyword)) draft[keyword] = mine;
    else if (keyword === 'properties' && isObject(mine) && isObject(theirs))
      draft.properties = { ...mine, ...theirs };
    else if (keyword === 'required' && isList(mine) && isList(theirs)) {
      draft.required = [...new Set([...theirs, ...mine])];
    } else if (keyword === 'allOf' && isList(mine) && isList(theirs)) draft.allOf = [...theirs, ...mine];
  }
  return ordered(draft);
}

function orAny(schema: NormalSchema): JsonObject {
  return schema === NEVER ? {} : schema;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isEmptyObject(value: JsonValue | undefined): boolean {
  return isObject(value) && Object.keys(value).length === 0;
}
