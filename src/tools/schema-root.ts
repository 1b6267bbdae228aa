import { canonicalJson } from '../ledger/canonical-json.ts';
import type { JsonObject, JsonValue } from '../ledger/content.ts';
import { cutChars, safeName } from './safe-text.ts';
import { type Draft, isList, isObject, ordered } from './schema-normal-form.ts';

/** Characters of the description that names the forms of a union. */
const MAX_FORMS_CHARS = 1_024;
const MAX_FORMS = 16;

/** What an object schema says of its properties. */
interface ObjectForm {
  readonly properties: ReadonlyMap<string, JsonObject>;
  readonly required: readonly string[];
  readonly patterns: ReadonlyMap<string, JsonValue>;
  /** `undefined`: any further property. */
  readonly additional: JsonValue | undefined;
}

/**
 * A schema in normal form as one object without `anyOf` and `allOf` at its root, which providers refuse there; or
 * undefined where it allows no object. The forms of a union unite: each property may be what any form lets it be, and
 * only what all forms require is required. The description names the forms, so that a model still sees them.
 */
export function objectRoot(schema: JsonObject): JsonObject | undefined {
  const form = objectForm(schema);
  if (form === undefined) return undefined;
  const { title, description, minProperties, maxProperties, examples } = schema;
  const draft: Draft = { type: 'object', properties: Object.fromEntries(form.properties) };
  if (form.required.length > 0) draft.required = [...form.required];
  if (form.patterns.size > 0) draft.patternProperties = Object.fromEntries(form.patterns);
  if (form.additional !== undefined) draft.additionalProperties = form.additional;
  if (title !== undefined) draft.title = title;
  const described = [description, formsText(schema)].filter((text) => typeof text === 'string');
  if (described.length > 0) draft.description = described.join('\n');
  if (minProperties !== undefined) draft.minProperties = minProperties;
  if (maxProperties !== undefined) draft.maxProperties = maxProperties;
  if (examples !== undefined) draft.examples = examples;
  return ordered(draft);
}

function objectForm(schema: JsonObject): ObjectForm | undefined {
  const { type } = schema;
  if (type !== undefined && type !== 'object' && !(isList(type) && type.includes('object'))) return undefined;
  if (isList(schema['enum']) && !schema['enum'].some(isObject)) return undefined;
  if (schema['const'] !== undefined && !isObject(schema['const'])) return undefined;
  const parts: ObjectForm[] = [ownForm(schema)];
  if (isList(schema['anyOf'])) {
    const forms = schema['anyOf'].map(formOf).filter((form) => form !== undefined);
    if (forms.length === 0) return undefined;
    parts.push(anyOfForms(forms));
  }
  for (const member of isList(schema['allOf']) ? schema['allOf'] : []) {
    const form = formOf(member);
    if (form === undefined) return undefined;
    parts.push(form);
  }
  return allOfForms(parts);
}

function formOf(schema: JsonValue): ObjectForm | undefined {
  return isObject(schema) ? objectForm(schema) : undefined;
}

function ownForm(schema: JsonObject): ObjectForm {
  const { properties, required, patternProperties } = schema;
  return {
    // Property maps in normal form hold schema objects, `required` holds strings.
    properties: new Map(isObject(properties) ? (Object.entries(properties) as [string, JsonObject][]) : []),
    required: isList(required) ? (required as readonly string[]) : [],
    patterns: new Map(isObject(patternProperties) ? Object.entries(patternProperties) : []),
    additional: schema['additionalProperties'],
  };
}

/** All of `parts` hold at once. */
function allOfForms(parts: readonly ObjectForm[]): ObjectForm {
  const [first, second] = parts;
  if (first !== undefined && second === undefined) return first;
  const closed = parts.some((part) => part.additional === false);
  return {
    properties: unite(parts, (schemas) => ({ allOf: schemas })),
    required: [...new Set(parts.flatMap((part) => part.required))],
    patterns: new Map(parts.flatMap((part) => [...part.patterns])),
    additional: closed ? false : undefined,
  };
}

/** One of `parts` holds. */
function anyOfForms(parts: readonly ObjectForm[]): ObjectForm {
  const [first, ...others] = parts;
  if (first !== undefined && others.length === 0) return first;
  const closed = parts.every((part) => part.additional === false && part.patterns.size === 0);
  return {
    properties: unite(parts, unionOf),
    required: (first?.required ?? []).filter((key) => others.every((part) => part.required.includes(key))),
    patterns: new Map(),
    additional: closed ? false : undefined,
  };
}

function unite(
  parts: readonly ObjectForm[],
  combine: (schemas: readonly JsonObject[]) => JsonObject,
): ReadonlyMap<string, JsonObject> {
  const united = new Map<string, JsonObject>();
  for (const key of new Set(parts.flatMap((part) => [...part.properties.keys()]))) {
    const distinct = new Map<string, JsonObject>();
    for (const part of parts) {
      const schema = part.properties.get(key);
      if (schema !== undefined) distinct.set(canonicalJson(schema), schema);
    }
    const [only, ...more] = distinct.values();
    if (only !== undefined) united.set(key, more.length === 0 ? only : combine([only, ...more]));
  }
  return united;
}

/** `{ anyOf }`, or one `enum` where every schema is a fixed set of values of one type: a discriminator. */
function unionOf(schemas: readonly JsonObject[]): JsonObject {
  const values: JsonValue[] = [];
  for (const schema of schemas) {
    const fixed = fixedValues(schema);
    if (fixed === undefined || schema['type'] !== schemas[0]?.['type']) return { anyOf: [...schemas] };
    values.push(...fixed);
  }
  const type = schemas[0]?.['type'];
  return ordered({ ...(type === undefined ? {} : { type }), enum: [...new Set(values)] });
}

function fixedValues(schema: JsonObject): readonly JsonValue[] | undefined {
  if (schema['const'] !== undefined) return [schema['const']];
  return isList(schema['enum']) ? schema['enum'] : undefined;
}

/**
 * The fields a call takes, for a rejection: those of each form of a union, optional ones with a question mark, fixed
 * ones with their value. Undefined where the schema does not say.
 */
export function fieldsText(schema: JsonObject): string | undefined {
  const forms = formsText(schema);
  if (forms !== undefined) return forms;
  const form = objectForm(schema);
  if (form === undefined || form.patterns.size > 0 || isObject(form.additional)) return undefined;
  if (form.properties.size > 0) return cutChars(`Fields: ${formText(form)}`, MAX_FORMS_CHARS);
  return form.additional === false ? 'It takes no fields.' : undefined;
}

function formsText(schema: JsonObject): string | undefined {
  const { anyOf } = schema;
  if (!isList(anyOf)) return undefined;
  const forms = anyOf.map(formOf).filter((form) => form !== undefined);
  // A form without properties adds a condition to the others; it is no way of its own to make a call.
  if (forms.length < 2 || forms.some((form) => form.properties.size === 0)) return undefined;
  const lines = forms.slice(0, MAX_FORMS).map(formText);
  const more = forms.length > MAX_FORMS ? [`and ${forms.length - MAX_FORMS} more`] : [];
  return cutChars(['One of these forms:', ...lines, ...more].join('\n'), MAX_FORMS_CHARS);
}

function formText(form: ObjectForm): string {
  const fields = [...form.properties].map(([name, schema]) => {
    const shown = safeName(name);
    const [value, ...others] = fixedValues(schema) ?? [];
    if (value !== undefined && others.length === 0) return `${shown}: ${JSON.stringify(value)}`;
    return form.required.includes(name) ? shown : `${shown}?`;
  });
  return `{ ${fields.join(', ')} }`;
}
