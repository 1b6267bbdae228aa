import { SwarmError } from '../errors.ts';

/** Levels of nesting a record may have; arguments alone are held to a lower bound where they enter. */
export const MAX_JSON_DEPTH = 256;

/** A plain tree of JSON; like `JsonValue`, which the content schemas define, with a place to write. */
type Tree = string | number | boolean | null | Tree[] | { [key: string]: Tree };

/**
 * The one text of a JSON value (RFC 8785): keys in code unit order, no spaces, shortest numbers. Equal values
 * have equal texts, so hashes are taken over it. Keys with the value `undefined` are dropped; lone surrogates
 * are escaped, so the text is always well-formed.
 *
 * @throws SwarmError 'invalid-record' for what JSON cannot hold (a function, a symbol, a bigint, a number that
 * is not finite, `undefined` in an array, an object that is not plain) and for more than `maxDepth` levels,
 * cycles among them
 */
export function canonicalJson(value: unknown, maxDepth: number = MAX_JSON_DEPTH): string {
  return canonicalText(canonicalCopy(value, maxDepth));
}

/**
 * A copy that shares nothing with the value and equals what its canonical text is parsed to, the order of keys
 * included. Throws like {@link canonicalJson}.
 */
export function canonicalCopy(value: unknown, maxDepth: number = MAX_JSON_DEPTH): unknown {
  return copy(value, maxDepth);
}

/** The text of what {@link canonicalCopy} gave. */
export function canonicalText(value: unknown): string {
  // The engine writes keys in the order they were added, which is the canonical one, and is several times
  // faster than any loop. Its one exception are keys that look like a place in an array: they always come first.
  // Only copies, which are trees, get here.
  return hasIndexKeys(value) ? writeSorted(value as Tree) : JSON.stringify(value);
}

function copy(value: unknown, depthLeft: number): Tree {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (!Number.isFinite(value)) throw unfit(`the number ${value}`);
      // There is no negative zero in the text.
      return value + 0;
    case 'object':
      if (value === null) return null;
      if (depthLeft <= 0) throw unfit('more levels of nesting than allowed, or a cycle');
      return Array.isArray(value) ? copyArray(value, depthLeft) : copyObject(value, depthLeft);
    default:
      throw unfit(`a value of type ${typeof value}`);
  }
}

/** By place, as the methods of an array pass over its holes. */
function copyArray(items: readonly unknown[], depthLeft: number): Tree[] {
  const copied: Tree[] = [];
  for (let index = 0; index < items.length; index += 1) copied.push(copy(items[index], depthLeft - 1));
  return copied;
}

function copyObject(object: object, depthLeft: number): { [key: string]: Tree } {
  if (!isPlainObject(object)) throw unfit(`an object of class ${object.constructor?.name ?? 'unknown'}`);
  // Any plain object can be looked at as a record of unknown values.
  const record = object as Record<string, unknown>;
  const copied: { [key: string]: Tree } = {};
  for (const key of sortedKeys(record)) {
    const value = record[key];
    if (value === undefined) continue;
    const inner = copy(value, depthLeft - 1);
    if (key === '__proto__') defineOwn(copied, key, inner);
    else copied[key] = inner;
  }
  return copied;
}

/** Assigning to this one name would set the prototype instead. */
function defineOwn(object: object, key: string, value: Tree): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Many objects come sorted already (they were read back, or written so on purpose); checking is cheaper. */
function sortedKeys(record: object): readonly string[] {
  const keys = Object.keys(record);
  for (let index = 1; index < keys.length; index += 1) {
    const before = keys[index - 1];
    const key = keys[index];
    if (before !== undefined && key !== undefined && before > key) return keys.sort(byCodeUnit);
  }
  return keys;
}

function byCodeUnit(left: string, right: string): number {
  return left < right ? -1 : 1;
}

function hasIndexKeys(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasIndexKeys);
  for (const key in value) {
    const first = key.charCodeAt(0);
    // A digit is enough to doubt; the slow way is right for any key. Trees have no keys but their own.
    if (first >= 0x30 && first <= 0x39) return true;
    if (hasIndexKeys((value as { readonly [key: string]: unknown })[key])) return true;
  }
  return false;
}

function writeSorted(value: Tree): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(writeSorted).join(',')}]`;
  const members: string[] = [];
  for (const key of sortedKeys(value)) {
    const inner = value[key];
    if (inner !== undefined) members.push(`${JSON.stringify(key)}:${writeSorted(inner)}`);
  }
  return `{${members.join(',')}}`;
}

/** Objects of another realm are plain too: their prototype is the end of its chain. */
export function isPlainObject(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function unfit(what: string): SwarmError {
  return new SwarmError('invalid-record', `JSON cannot hold ${what}`);
}
