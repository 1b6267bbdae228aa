import type { JsonObject } from '../ledger/content.ts';
import { DEFAULT_LIMITS } from '../limits.ts';
import {
  cloneArguments,
  cloneJson,
  copyPlain,
  type MutableJson,
  type MutableJsonObject,
} from './argument-snapshot.ts';
import { isList, isObject } from './schema-normal-form.ts';

/** Arguments after coercion. */
export interface Coercion {
  readonly args: JsonObject;
  /** Paths of the values that were changed. */
  readonly changed: readonly (readonly (string | number)[])[];
}

type Path = readonly (string | number)[];

/**
 * Reads strings as what the schema unambiguously asks for: a number, a boolean, or an array or object written as JSON.
 * Looks only at and below `paths`, where validation found something wrong. `schema` is a wire schema: no references.
 * Never turns anything into a string, and never guesses among several types.
 */
export function coerceArguments(args: JsonObject, schema: JsonObject, paths: readonly Path[]): Coercion {
  const copy = cloneArguments(args);
  const changed: Path[] = [];
  const walk = { changed, paths };
  for (const [key, value] of Object.entries(copy)) {
    const member = memberSchema(schema, key);
    if (member !== undefined) copy[key] = coerced(value, member, { ...walk, path: [key] });
  }
  return { args: copy, changed };
}

interface Walk {
  readonly path: Path;
  readonly paths: readonly Path[];
  readonly changed: Path[];
}

function coerced(value: MutableJson, schema: JsonObject, walk: Walk): MutableJson {
  if (!isConcerned(walk)) return value;
  const type = onlyType(onlySchema(schema, undefined));
  if (typeof value === 'string') {
    const read = readAs(value, type);
    if (read === undefined) return value;
    walk.changed.push(walk.path);
    // What was a string is new as a whole, so all of it is looked at.
    return typeof read === 'object' ? coerced(read, schema, { ...walk, paths: [walk.path] }) : read;
  }
  if (typeof value === 'object' && value !== null) coerceMembers(value, schema, walk);
  return value;
}

function coerceMembers(value: MutableJson[] | MutableJsonObject, schema: JsonObject, walk: Walk): void {
  const shape = onlySchema(schema, value);
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      const member = itemSchema(shape, index);
      if (member !== undefined)
        value[index] = coerced(item, member, { ...walk, path: [...walk.path, index] });
    });
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const member = memberSchema(shape, key);
    if (member !== undefined) value[key] = coerced(item, member, { ...walk, path: [...walk.path, key] });
  }
}

/** A path is concerned if something at it, above it or below it is wrong. */
function isConcerned({ path, paths }: Walk): boolean {
  return paths.some((wrong) => {
    const length = Math.min(wrong.length, path.length);
    for (let at = 0; at < length; at += 1) if (wrong[at] !== path[at]) return false;
    return true;
  });
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readAs(text: string, type: JsonType | undefined): Exclude<MutableJson, string | null> | undefined {
  switch (type) {
    case 'number':
    case 'integer':
      return readNumber(text, type);
    case 'boolean':
      if (/^true$/i.test(text)) return true;
      return /^false$/i.test(text) ? false : undefined;
    case 'array':
    case 'object':
      return readContainer(text, type);
    default:
      return undefined;
  }
}

function readNumber(text: string, type: 'number' | 'integer'): number | undefined {
  if (!NUMBER.test(text)) return undefined;
  const number = Number(text);
  if (!Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number)))
    return undefined;
  return type === 'integer' && !Number.isInteger(number) ? undefined : number;
}

function readContainer(
  text: string,
  type: 'array' | 'object',
): MutableJson[] | MutableJsonObject | undefined {
  const first = text.trimStart()[0];
  if (first !== (type === 'array' ? '[' : '{')) return undefined;
  const copied = copyPlain(parseJson(text), DEFAULT_LIMITS.arguments);
  if (copied.type === 'rejected') return undefined;
  const value = cloneJson(copied.copy);
  return typeof value === 'object' && value !== null ? value : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: `undefined` is no JSON value either.
    return undefined;
  }
}

type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';

/** The one type a value may have beside null, or undefined where there are several or none is named. */
function onlyType(schema: JsonObject): JsonType | undefined {
  const { type } = schema;
  if (type === undefined) return typeOfValues(schema);
  const types = (isList(type) ? type : [type]).filter((one) => one !== 'null');
  const [only] = types;
  // Every integer is a number.
  if (types.length === 2 && types.includes('number') && types.includes('integer')) return 'number';
  // A wire schema names types of JSON only.
  return types.length === 1 ? (only as JsonType) : undefined;
}

function typeOfValues(schema: JsonObject): JsonType | undefined {
  const values = schema['const'] === undefined ? schema['enum'] : [schema['const']];
  if (!isList(values)) return undefined;
  if (values.every((value) => typeof value === 'number')) return 'number';
  return values.every((value) => typeof value === 'boolean') ? 'boolean' : undefined;
}

/** The one member of a union that `value` can be meant for: all others are null or fix a property to another value. */
function onlySchema(schema: JsonObject, value: MutableJson | undefined): JsonObject {
  const { anyOf } = schema;
  if (!isList(anyOf)) return schema;
  const members = anyOf.filter(isObject).filter((one) => one['type'] !== 'null' && !fixesOther(one, value));
  const [only] = members;
  return only !== undefined && members.length === 1 ? onlySchema(only, value) : {};
}

function fixesOther(schema: JsonObject, value: MutableJson | undefined): boolean {
  const { properties } = schema;
  if (!isObject(properties) || typeof value !== 'object' || value === null || Array.isArray(value))
    return false;
  return Object.entries(properties).some(([key, one]) => {
    const fixed = isObject(one) ? one['const'] : undefined;
    return (
      fixed !== undefined && typeof fixed !== 'object' && Object.hasOwn(value, key) && value[key] !== fixed
    );
  });
}

function memberSchema(schema: JsonObject, key: string): JsonObject | undefined {
  const { properties, additionalProperties } = schema;
  const own = isObject(properties) && Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
  return isObject(own) ? own : undefined;
}

function itemSchema(schema: JsonObject, index: number): JsonObject | undefined {
  const { items } = schema;
  const own = isList(items) ? items[index] : items;
  return isObject(own) ? own : undefined;
}
